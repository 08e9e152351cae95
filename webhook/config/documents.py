"""
Build a ``Configuration`` from the documents of configuration files.

``check`` and ``check_scheduler`` are the entry points. This module does no I/O: the caller passes
a function that reads the files a configuration names.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType

from msgspec.structs import replace

from webhook.config import models, spread
from webhook.config.configuration import Configuration, ConfiguredGate
from webhook.config.filetext import Read
from webhook.config.lifetimes import LEAST_CA_OVERLAP
from webhook.config.podtemplates import collect_templates
from webhook.config.profilenotices import find_notices
from webhook.config.profiles import ProfileMaker, complete_profile, read_defaults
from webhook.config.scheduler import SchedulerDefaults
from webhook.config.spread import SpreadConfiguration
from webhook.config.validation import DocumentValidation
from webhook.manifests import Document
from webhook.policy.api.schedulerargs import ARGS, SCHEDULER_KIND
from webhook.policy.catalogue import DEFAULT_ACTIONS
from webhook.policy.defaulting.profiles import DEFAULT_SCHEDULER, STOCK_DEFAULTS, Profile
from webhook.policy.model import Constraint


def check(
    document: Document, read: Read, *, least_overlap: timedelta = LEAST_CA_OVERLAP
) -> Configuration:
    """
    Build a configuration from a ``SpreadConfiguration``.

    Args:
        document: Without nulls; paths in it are relative to the folder of its source.
        read: Reads the scheduler configurations that it names.
        least_overlap: Shortest valid ``caOverlap``.

    Raises:
        CombinedConfigError: The errors in it and in the files it names. What compares fields or
            entries is checked if these are valid; the names and files of profiles always are.
    """
    reading = DocumentValidation(document)
    kind = document.kind
    if kind in (SCHEDULER_KIND, ARGS):
        reading.refuse(f"is {kind}: give the file with --scheduler-config", ("kind",))
        reading.finish()
    context = {spread.LEAST_OVERLAP: least_overlap}
    written = reading.model(SpreadConfiguration, document.value, context=context)
    maker = ProfileMaker(reading, read)
    entries = written.profiles if written else ()
    profiles = [profile for i, entry in enumerate(entries) for profile in maker.make(entry, i)]
    if written is None:
        maker.check_unread()
    reading.finish()
    assert written is not None, "an invalid document has errors"
    gates = {
        name: ConfiguredGate(on, reading.where(("featureGates", name)))
        for name, on in written.feature_gates.items()
    }
    settings = _collect_settings(written, profiles, maker.files.values())
    return replace(settings, files=(document.source, *maker.files), configured_gates=gates)


def _collect_settings(
    written: SpreadConfiguration,
    profiles: Sequence[Profile],
    files: Collection[list[SchedulerDefaults]],
) -> Configuration:
    """
    Collect the settings that do not name their place in the file.

    Args:
        profiles: The profiles that ``written`` contains, complete.
        files: The defaults in the scheduler configurations that it names.
    """
    configured = {rule: setting.action for rule, setting in written.rules.items() if setting.action}
    return Configuration(
        mode=written.mode,
        profiles=tuple(profiles),
        field_defaults=written.field_defaults,
        exempt_namespaces=frozenset(written.exempt.namespaces),
        pod_templates=collect_templates((*written.pod_templates, *written.constraint_lists)),
        owner_selectors=models.collect_owners(written.owner_selectors),
        actions=MappingProxyType({**DEFAULT_ACTIONS, **configured}),
        not_exemptible=frozenset(
            rule for rule, setting in written.rules.items() if not setting.exemptible
        ),
        scheduler_defaults=_collect_defaults(files),
        ca_overlap=written.ca_overlap,
        scale_down_repair=written.scale_down_repair,
        notices=(*_notices(files), *find_notices(written, profiles)),
    )


def check_scheduler(document: Document) -> Configuration:
    """
    Build a configuration from a kube-scheduler file: one profile for each scheduler in it.

    Raises:
        CombinedConfigError: All errors in it.
    """
    found = read_defaults(document)
    profiles = tuple(
        complete_profile(Profile(name=defaults.scheduler or DEFAULT_SCHEDULER), defaults)
        for defaults in found
    )
    return Configuration(
        files=(document.source,),
        profiles=profiles,
        scheduler_defaults=_collect_defaults([found]),
        notices=_notices([found]),
    )


def _collect_defaults(
    files: Iterable[list[SchedulerDefaults]],
) -> Mapping[str, tuple[Constraint, ...]]:
    """Collect the defaults of schedulers; arguments without a name are the default scheduler's."""
    named = {
        defaults.scheduler or DEFAULT_SCHEDULER: defaults.constraints
        for found in files
        for defaults in found
    }
    return MappingProxyType({**STOCK_DEFAULTS, **named})


def _notices(files: Iterable[list[SchedulerDefaults]]) -> tuple[str, ...]:
    return tuple(notice for found in files for defaults in found for notice in defaults.notices)

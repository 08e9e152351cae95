"""
Build an immutable ``Configuration`` from the documents of configuration files.

``check`` and ``check_scheduler`` are the entry points. This module does no I/O: the caller passes
a function that reads the files a configuration names.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from webhook.config import models, spread
from webhook.config.lifetimes import CA_OVERLAP, LEAST_CA_OVERLAP
from webhook.config.models import OwnerSelector
from webhook.config.podtemplates import collect_templates
from webhook.config.profilenotices import find_notices
from webhook.config.profiles import ProfileMaker, Read, complete_profile, read_defaults
from webhook.config.scheduler import SchedulerDefaults
from webhook.config.spread import SpreadConfiguration
from webhook.config.validation import DocumentValidation
from webhook.manifests import Document
from webhook.policy.api.gates import Gate, Gates
from webhook.policy.api.schedulerargs import ARGS, SCHEDULER_KIND
from webhook.policy.catalogue import DEFAULT_ACTIONS, VALIDATED_RULES
from webhook.policy.defaulting.profiles import (
    DEFAULT_SCHEDULER,
    STOCK_DEFAULTS,
    SYSTEM_CONSTRAINTS,
    FieldDefaults,
    Mode,
    Policy,
    Profile,
)
from webhook.policy.model import Constraint, GroupKind
from webhook.policy.places import TemplatePlaces
from webhook.policy.rule_entry import Action


class ConfiguredGate(NamedTuple):
    """A feature gate in a file, and its place in that file."""

    on: bool
    where: str


class Configuration(msgspec.Struct, frozen=True, kw_only=True):
    """
    All settings of the configuration files.

    Attributes:
        files: Paths of the files read, in reading order; the server watches them for changes.
        orders: The ``order`` of each profile that is a SpreadPolicy, by name.
        pod_templates: Built-in, shipped and configured kinds.
        owner_selectors: Shipped and configured controllers.
        scheduler_defaults: Defaults of kube-scheduler itself: schedulerName -> constraints.
        actions: Action of every policy rule, configured or not.
        not_exemptible: Rules from which no annotation exempts.
        configured_gates: By name, including ``AllAlpha`` and ``AllBeta``.
        ca_overlap: How long an old CA stays trusted beside a new one; at least 60 s except in
            tests.
        scale_down_repair: Whether one replica corrects the ranks of pods after they are bound.
        notices: Warnings about valid settings; sentences without a final full stop.
    """

    files: tuple[str, ...] = ()
    mode: Mode = Mode.APPLY
    profiles: tuple[Profile, ...] = ()
    orders: Mapping[str, int] = MappingProxyType({})
    field_defaults: FieldDefaults = FieldDefaults.WHEN_UNSATISFIABLE
    exempt_namespaces: frozenset[str] = frozenset({"kube-system"})
    pod_templates: Mapping[GroupKind, TemplatePlaces] = collect_templates(())
    owner_selectors: tuple[OwnerSelector, ...] = models.SHIPPED_OWNERS
    scheduler_defaults: Mapping[str, tuple[Constraint, ...]] = STOCK_DEFAULTS
    actions: Mapping[str, Action] = DEFAULT_ACTIONS
    not_exemptible: frozenset[str] = frozenset()
    configured_gates: Mapping[str, ConfiguredGate] = MappingProxyType({})
    ca_overlap: timedelta = CA_OVERLAP
    scale_down_repair: bool = False
    notices: tuple[str, ...] = ()


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


def policy(
    configuration: Configuration, gates: Gates, *, validates_pods: bool | None = None
) -> Policy:
    """
    Build the policy that decides on requests.

    A profile of System defaults has no constraints while their gate is off. With None for
    ``validates_pods``, the validating webhook receives new pods if a policy rule has the action
    deny, in the configuration or in a profile, as the chart registers it.
    """
    denies = any(list_denying_rules(configuration))
    system = Gate.DEFAULT_POD_TOPOLOGY_SPREAD in gates
    return Policy(
        gates=gates,
        profiles=tuple(
            replace(profile, constraints=()) if profile.system and not system else profile
            for profile in configuration.profiles
        ),
        mode=configuration.mode,
        field_defaults=configuration.field_defaults,
        exempt_namespaces=configuration.exempt_namespaces,
        scheduler_defaults={
            name: () if constraints == SYSTEM_CONSTRAINTS and not system else constraints
            for name, constraints in configuration.scheduler_defaults.items()
        },
        actions=configuration.actions,
        not_exemptible=configuration.not_exemptible,
        validates_pods=denies if validates_pods is None else validates_pods,
        pod_templates=configuration.pod_templates,
    )


def list_denying_rules(configuration: Configuration) -> Iterator[str]:
    """
    List the policy rules by which the validating webhook denies objects.

    Yields:
        Each as ``TSC101``, or ``TSC101 in profile cluster``.
    """
    yield from select_denying(configuration.actions)
    for profile in configuration.profiles:
        for rule in select_denying(profile.actions):
            yield f"{rule} in profile {profile.name}"


def select_denying(actions: Mapping[str, Action]) -> Iterator[str]:
    """Select the rules by which the validating webhook denies objects."""
    for rule, action in actions.items():
        if action is Action.DENY and rule in VALIDATED_RULES:
            yield rule


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

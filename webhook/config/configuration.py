"""
Build an immutable ``Configuration`` from the documents of configuration files.

``check`` and ``check_scheduler`` are the entry points. This module does no I/O: the caller passes
a function that reads the files a configuration names.
"""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from webhook.config import models, scheduler, spread
from webhook.config.models import OwnerSelector
from webhook.config.profiles import ProfileMaker, Read, complete_profile, read_defaults
from webhook.config.scheduler import SchedulerDefaults
from webhook.config.spread import SpreadConfiguration
from webhook.config.validation import DocumentValidation
from webhook.manifests import Document
from webhook.policy.api.gates import Gate, Gates
from webhook.policy.catalogue import DEFAULT_ACTIONS, Action
from webhook.policy.defaulting.profiles import (
    DEFAULT_SCHEDULER,
    FieldDefaults,
    Mode,
    Policy,
    Profile,
)
from webhook.policy.model import GroupKind
from webhook.policy.paths import TemplatePath


class ConfiguredGate(NamedTuple):
    """A feature gate in a file, and its place in that file."""

    on: bool
    where: str


class Configuration(msgspec.Struct, frozen=True, kw_only=True):
    """
    All settings of the configuration files.

    Attributes:
        files: Paths of the files read, in reading order; the server watches them for changes.
        pod_templates: Built-in, shipped and configured kinds.
        owner_selectors: Shipped and configured controllers.
        actions: Action of every policy rule, configured or not.
        not_exemptible: Rules from which no annotation exempts.
        configured_gates: By name, including ``AllAlpha`` and ``AllBeta``.
        ca_overlap: How long an old CA stays trusted beside a new one; at least 60 s except in
            tests.
        notices: Warnings about valid settings; sentences without a final full stop.
    """

    files: tuple[str, ...] = ()
    mode: Mode = Mode.APPLY
    profiles: tuple[Profile, ...] = ()
    field_defaults: FieldDefaults = FieldDefaults.WHEN_UNSATISFIABLE
    exempt_namespaces: frozenset[str] = frozenset({"kube-system"})
    pod_templates: Mapping[GroupKind, TemplatePath] = models.collect_templates(())
    owner_selectors: tuple[OwnerSelector, ...] = models.SHIPPED_OWNERS
    actions: Mapping[str, Action] = DEFAULT_ACTIONS
    not_exemptible: frozenset[str] = frozenset()
    configured_gates: Mapping[str, ConfiguredGate] = MappingProxyType({})
    ca_overlap: timedelta = spread.CA_OVERLAP
    notices: tuple[str, ...] = ()


def check(
    document: Document, read: Read, *, least_overlap: timedelta = spread.LEAST_CA_OVERLAP
) -> Configuration:
    """
    Build a configuration from a ``SpreadConfiguration``.

    Args:
        document: Without nulls; paths in it are relative to the folder of its source.
        read: Reads the scheduler configurations that it names.
        least_overlap: Shortest valid ``caOverlap``.

    Raises:
        CombinedConfigError: All errors in it and in the files it names.
    """
    reading = DocumentValidation(document)
    kind = document.kind
    if kind in (scheduler.SCHEDULER_KIND, scheduler.ARGS):
        reading.refuse(f"is {kind}: give the file with --scheduler-config", ("kind",))
        reading.finish()
    context = {spread.LEAST_OVERLAP: least_overlap}
    written = reading.model(SpreadConfiguration, document.value, context=context)
    maker = ProfileMaker(reading, read)
    entries = written.profiles if written else ()
    profiles = [profile for i, entry in enumerate(entries) for profile in maker.make(entry, i)]
    reading.finish()
    assert written is not None, "an invalid document has errors"
    configured = {rule: setting.action for rule, setting in written.rules.items() if setting.action}
    return Configuration(
        files=(document.source, *maker.files),
        mode=written.mode,
        profiles=tuple(profiles),
        field_defaults=written.field_defaults,
        exempt_namespaces=frozenset(written.exempt.namespaces),
        pod_templates=models.collect_templates(written.pod_templates),
        owner_selectors=models.collect_owners(written.owner_selectors),
        actions=MappingProxyType({**DEFAULT_ACTIONS, **configured}),
        not_exemptible=frozenset(
            rule for rule, setting in written.rules.items() if not setting.exemptible
        ),
        configured_gates={
            name: ConfiguredGate(on, reading.where(("featureGates", name)))
            for name, on in written.feature_gates.items()
        },
        ca_overlap=written.ca_overlap,
        notices=_notices(maker.files.values()),
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
    return Configuration(files=(document.source,), profiles=profiles, notices=_notices([found]))


def policy(
    configuration: Configuration, gates: Gates, *, validates_pods: bool | None = None
) -> Policy:
    """
    Build the policy that decides on requests.

    A profile of System defaults has no constraints while their gate is off. With None for
    ``validates_pods``, the validating webhook receives new pods if a policy rule has the action
    deny, as the chart registers it.
    """
    denies = Action.DENY in configuration.actions.values()
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
        actions=configuration.actions,
        not_exemptible=configuration.not_exemptible,
        validates_pods=denies if validates_pods is None else validates_pods,
        pod_templates=configuration.pod_templates,
    )


def _notices(files: Iterable[list[SchedulerDefaults]]) -> tuple[str, ...]:
    return tuple(
        f"{place}: ignored, as kube-scheduler ignores it in defaults; "
        "a profile with defaultConstraints of its own keeps matchLabelKeys"
        for found in files
        for defaults in found
        for place in defaults.ignored_keys
    )

"""
The immutable ``Configuration``, and the policy that follows from it.

``policy`` is the entry point; ``documents`` reads a configuration. This module must not import
pydantic, so that commands without a configuration start without loading it.
"""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from webhook.config.lifetimes import CA_OVERLAP
from webhook.config.ownerselectors import SHIPPED_OWNERS, OwnerSelector
from webhook.policy.api.gates import Gate, Gates
from webhook.policy.catalogue import DEFAULT_ACTIONS, VALIDATED_RULES
from webhook.policy.defaulting.profiles import (
    STOCK_DEFAULTS,
    SYSTEM_CONSTRAINTS,
    FieldDefaults,
    Mode,
    Policy,
    Profile,
)
from webhook.policy.kinds import KNOWN_TEMPLATES
from webhook.policy.model import Constraint, GroupKind
from webhook.policy.places import TemplatePlaces
from webhook.policy.rule_entry import Action

CONFIGURATION_KIND = "SpreadConfiguration"


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
    pod_templates: Mapping[GroupKind, TemplatePlaces] = KNOWN_TEMPLATES
    owner_selectors: tuple[OwnerSelector, ...] = SHIPPED_OWNERS
    scheduler_defaults: Mapping[str, tuple[Constraint, ...]] = STOCK_DEFAULTS
    actions: Mapping[str, Action] = DEFAULT_ACTIONS
    not_exemptible: frozenset[str] = frozenset()
    configured_gates: Mapping[str, ConfiguredGate] = MappingProxyType({})
    ca_overlap: timedelta = CA_OVERLAP
    scale_down_repair: bool = False
    notices: tuple[str, ...] = ()


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

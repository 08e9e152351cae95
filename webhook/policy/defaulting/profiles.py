"""
Profiles of default constraints, and the policy of a server.

These are values without behaviour of their own: ``webhook.config`` builds them from an operator's
configuration, and ``inject`` applies them.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType

import msgspec
from msgspec.structs import replace

from webhook.policy.api.gates import Gates
from webhook.policy.catalogue import DEFAULT_ACTIONS
from webhook.policy.kinds import KNOWN_TEMPLATES
from webhook.policy.model import (
    HOSTNAME,
    NAME_LABEL,
    SCHEDULE_ANYWAY,
    ZONE,
    Constraint,
    GroupKind,
    LabelSelector,
    PodTemplate,
)
from webhook.policy.places import TemplatePlaces
from webhook.policy.rule_entry import Action
from webhook.policy.selectors import matches, selected_keys

DEFAULT_SCHEDULER = "default-scheduler"  # what an empty schedulerName means, core/v1 PodSpec

SYSTEM_CONSTRAINTS = (
    Constraint(max_skew=3, topology_key=HOSTNAME, when_unsatisfiable=SCHEDULE_ANYWAY),
    Constraint(max_skew=5, topology_key=ZONE, when_unsatisfiable=SCHEDULE_ANYWAY),
)
"""Source: kube-scheduler plugins/podtopologyspread/plugin.go ``systemDefaultConstraints``."""

STOCK_DEFAULTS: Mapping[str, tuple[Constraint, ...]] = MappingProxyType(
    {DEFAULT_SCHEDULER: SYSTEM_CONSTRAINTS}
)
"""The defaults of a kube-scheduler without a configuration file, by schedulerName."""


class Merge(StrEnum):
    """How defaults combine with a pod's own constraints."""

    IF_EMPTY = "IfEmpty"
    PER_TOPOLOGY_KEY = "PerTopologyKey"


class Mode(StrEnum):
    """Whether verdicts are enforced or only reported."""

    APPLY = "apply"
    RECOMMEND = "recommend"


_RECOMMEND = Mode.RECOMMEND  # Python 3.11 needs 0.2 us to find a member, on the hot path


class ScaleDown(StrEnum):
    """Whether a scale-down keeps the spread of a profile's pods."""

    NONE = "None"
    KEEP_SPREAD = "KeepSpread"


class FieldDefaults(StrEnum):
    """The omitted fields of a constraint that are filled in, KEP-895."""

    NONE = "none"
    WHEN_UNSATISFIABLE = "whenUnsatisfiable"
    ALL = "all"


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """
    A set of default constraints, and the pods to which it applies.

    Attributes:
        name: Unique in the configuration; appears in annotations and metrics.
        mode: Whether it changes pods, or only recommends the changes; ``Policy.mode_of`` returns
            the mode in force.
        namespace_selector: Selects by the labels of the pod's Namespace; None selects all.
        owner_kinds: The kinds of the controlling owner; None also accepts pods without an owner.
        scheduler_names: The accepted values of the pod's schedulerName.
        merge: How the defaults combine with the pod's own constraints.
        complete_selectors: Whether null selectors of the pod's own constraints are filled in.
        scale_down: Whether its pods, of a ReplicaSet or ReplicationController, are labelled so that
            they get a rank when they are bound.
        gangs: Whether pods of a gang, which are scheduled all together or not at all, get defaults.
        constraints: The constraints to inject, without selectors; may be empty.
        system: Whether these are the scheduler's System defaults, which leave out the zone
            constraint while nodes lack zones.
        actions: The actions of policy rules on its pods and their workloads, by id; those of the
            policy apply to other rules.
        exemptible: Likewise, whether an exemption from a rule has an effect.
        allows_exceptions: Whether an exception from its defaults has an effect.
    """

    name: str
    mode: Mode = Mode.APPLY
    namespace_selector: LabelSelector | None = None
    object_selector: LabelSelector | None = None
    owner_kinds: frozenset[str] | None = None
    scheduler_names: frozenset[str] = frozenset({DEFAULT_SCHEDULER})
    merge: Merge = Merge.IF_EMPTY
    complete_selectors: bool = False
    scale_down: ScaleDown = ScaleDown.NONE
    gangs: bool = False
    constraints: tuple[Constraint, ...] = ()
    system: bool = False
    actions: Mapping[str, Action] = {}
    exemptible: Mapping[str, bool] = {}
    allows_exceptions: bool = True

    def fits(self, pod: PodTemplate) -> bool:
        """Whether the profile applies to a pod, except for the labels of its Namespace."""
        scheduler = (pod.spec.scheduler_name if pod.spec else "") or DEFAULT_SCHEDULER
        if scheduler not in self.scheduler_names:
            return False
        if self.object_selector is not None and not matches(self.object_selector, pod.labels):
            return False
        owner = pod.metadata.controller if self.owner_kinds and pod.metadata else None
        return self.owner_kinds is None or (owner.kind if owner else "") in self.owner_kinds

    def fits_namespace(self, namespace: str, labels: Mapping[str, str] | None) -> bool:
        """
        Whether the profile applies to the pods of a Namespace.

        Args:
            namespace: Its name, which is the value of its label ``NAME_LABEL``.
            labels: Its labels. If they are unknown (None), no profile that depends on other
                labels applies.
        """
        if self.namespace_selector is None:
            return True
        if labels is None and self.needs_namespace_labels:
            return False
        return matches(self.namespace_selector, {**(labels or {}), NAME_LABEL: namespace})

    @property
    def needs_namespace_labels(self) -> bool:
        """Whether it depends on labels of the Namespace that its name does not determine."""
        return not selected_keys(self.namespace_selector) <= {NAME_LABEL}


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """
    Everything that a verdict depends on besides the request and the facts.

    A reload replaces the whole immutable value.

    Attributes:
        profiles: In order; the first one that fits a pod applies.
        exempt_namespaces: Namespaces whose pods get no defaults.
        scheduler_defaults: The defaults that kube-scheduler applies itself: schedulerName ->
            constraints; System defaults without a configuration file of kube-scheduler.
        validates_pods: Whether the validating hook gets new pods: it then gives the advice on them
            and may deny; otherwise the mutating hook gives the advice, as warnings.
        pod_templates: Built-in, shipped and configured kinds -> where they hold pod templates.
        held_denials: Rules whose denials are only reported, since the profile by which they deny
            only recommends.
    """

    gates: Gates
    profiles: tuple[Profile, ...] = ()
    mode: Mode = Mode.APPLY
    field_defaults: FieldDefaults = FieldDefaults.WHEN_UNSATISFIABLE
    exempt_namespaces: frozenset[str] = frozenset({"kube-system"})
    actions: Mapping[str, Action] = msgspec.field(default_factory=lambda: DEFAULT_ACTIONS)
    not_exemptible: frozenset[str] = frozenset()
    scheduler_defaults: Mapping[str, tuple[Constraint, ...]] = msgspec.field(
        default_factory=lambda: STOCK_DEFAULTS
    )
    validates_pods: bool = False
    pod_templates: Mapping[GroupKind, TemplatePlaces] = msgspec.field(
        default_factory=lambda: KNOWN_TEMPLATES
    )
    held_denials: frozenset[str] = frozenset()

    def mode_of(self, profile: Profile) -> Mode:
        """
        Return the mode in force for a profile.

        A policy in recommend mode changes nothing, whatever the mode of its profiles, since the
        person who sets it relies on that. A profile can only be more careful than the policy.
        """
        return self.mode if self.mode is _RECOMMEND else profile.mode

    @property
    def recommends(self) -> bool:
        """Whether any profile, or all of them, only recommend changes."""
        return self.mode is _RECOMMEND or _RECOMMEND in [one.mode for one in self.profiles]

    def with_rules_of(self, profile: Profile) -> "Policy":
        """Return the policy for the pods of a profile: its rules go before those of the policy."""
        if not (profile.actions or profile.exemptible):
            return self
        forbidden = {rule for rule, allowed in profile.exemptible.items() if not allowed}
        denying = {rule for rule, action in profile.actions.items() if action is Action.DENY}
        return replace(
            self,
            actions={**self.actions, **profile.actions},
            not_exemptible=self.not_exemptible.difference(profile.exemptible) | forbidden,
            held_denials=frozenset(denying if profile.mode is Mode.RECOMMEND else ()),
        )

    def is_exemptible(self, rule: str) -> bool:
        """Whether an exemption from a policy rule has an effect for any object."""
        return rule not in self.not_exemptible or any(
            profile.exemptible.get(rule, False) for profile in self.profiles
        )

    @property
    def has_exemptible_defaults(self) -> bool:
        """Whether an exception from defaults has an effect for any pod."""
        return any(profile.allows_exceptions for profile in self.profiles)

    @property
    def has_profile_rules(self) -> bool:
        """Whether the rules depend on the profile of a pod."""
        return any(profile.actions or profile.exemptible for profile in self.profiles)

    def is_off(self, rule: str) -> bool:
        """Whether a policy rule applies to no object, whatever its profile."""
        return all(
            actions.get(rule, self.actions[rule]) is Action.OFF
            for actions in (self.actions, *(profile.actions for profile in self.profiles))
        )

    @property
    def needs_namespaces(self) -> bool:
        """Whether any profile depends on the labels of Namespaces."""
        return any(profile.namespace_selector is not None for profile in self.profiles)

    @property
    def keeps_spread(self) -> bool:
        """Whether a scale-down keeps the spread of the pods of any profile."""
        return keeps_spread(self.profiles)


def keeps_spread(profiles: Iterable[Profile]) -> bool:
    """Whether a scale-down keeps the spread of the pods of any profile."""
    return any(profile.scale_down is ScaleDown.KEEP_SPREAD for profile in profiles)

"""
Profiles: which pods get which default constraints; and the policy that a server follows.

These are values: ``webhook.config`` makes them from what an operator writes, ``defaults`` obeys.
"""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from webhook.policy.api.gates import Gates
from webhook.policy.catalogue import DEFAULT_ACTIONS, Action
from webhook.policy.kinds import BUILT_IN_TEMPLATES
from webhook.policy.model import Constraint, GroupKind, LabelSelector, PodTemplate
from webhook.policy.paths import TemplatePath
from webhook.policy.selectors import matches

DEFAULT_SCHEDULER = "default-scheduler"  # what an empty schedulerName means, core/v1 PodSpec
HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"

SYSTEM_CONSTRAINTS = (
    Constraint(max_skew=3, topology_key=HOSTNAME, when_unsatisfiable="ScheduleAnyway"),
    Constraint(max_skew=5, topology_key=ZONE, when_unsatisfiable="ScheduleAnyway"),
)
"""Source: kube-scheduler plugins/podtopologyspread/plugin.go ``systemDefaultConstraints``."""


class Merge(StrEnum):
    """How defaults join a pod's own constraints."""

    IF_EMPTY = "IfEmpty"
    PER_TOPOLOGY_KEY = "PerTopologyKey"


class Mode(StrEnum):
    """Whether verdicts are carried out or only told."""

    APPLY = "apply"
    RECOMMEND = "recommend"


class FieldDefaults(StrEnum):
    """Which omitted fields of a constraint are filled in, KEP-895."""

    NONE = "none"
    WHEN_UNSATISFIABLE = "whenUnsatisfiable"
    ALL = "all"


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """
    One set of default constraints and the pods it is for.

    Attributes:
        name: Unique in the configuration; stands in annotations and metrics.
        namespace_selector: On the labels of the pod's Namespace; None matches all.
        object_selector: On the labels of the pod; None matches all.
        owner_kinds: Kinds of the controlling owner; None: any, and none.
        scheduler_names: The pod's schedulerName must be one of them.
        merge: How the defaults join the pod's own constraints.
        complete_selectors: Whether a null selector of the pod's own constraints is filled in.
        constraints: What to inject, without selectors; may be empty.
        system: Whether these are the scheduler's System defaults, which spare nodes without zones.
    """

    name: str
    namespace_selector: LabelSelector | None = None
    object_selector: LabelSelector | None = None
    owner_kinds: frozenset[str] | None = None
    scheduler_names: frozenset[str] = frozenset({DEFAULT_SCHEDULER})
    merge: Merge = Merge.IF_EMPTY
    complete_selectors: bool = False
    constraints: tuple[Constraint, ...] = ()
    system: bool = False

    def fits(self, pod: PodTemplate) -> bool:
        """Whether the profile is for a pod, but for the labels of its Namespace."""
        scheduler = (pod.spec.scheduler_name if pod.spec else "") or DEFAULT_SCHEDULER
        if scheduler not in self.scheduler_names:
            return False
        if self.object_selector is not None and not matches(self.object_selector, pod.labels):
            return False
        return self.owner_kinds is None or _owner_kind(pod) in self.owner_kinds

    def fits_namespace(self, labels: Mapping[str, str] | None) -> bool:
        """
        Whether the profile is for pods of a Namespace.

        Args:
            labels: Of the Namespace; None if they are not known, which fits no profile that
                asks for them.
        """
        if self.namespace_selector is None:
            return True
        return labels is not None and matches(self.namespace_selector, labels)


def _owner_kind(pod: PodTemplate) -> str:
    owner = pod.metadata.controller if pod.metadata else None
    return owner.kind if owner else ""


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """
    Everything a verdict depends on besides the request and the facts; one immutable value.

    Attributes:
        gates: The gates in force.
        profiles: In order; the first that fits a pod decides.
        mode: Whether verdicts are carried out or only told.
        field_defaults: Which omitted fields are filled in.
        exempt_namespaces: Namespaces whose pods get no defaults.
        actions: What is done about the findings of each rule that needs facts.
        not_exemptible: Rules from which no annotation exempts.
        validates_pods: Whether new pods are sent to the validating hook, which then gives the
            advice on them and may deny; otherwise the mutating hook gives it, as warnings.
        pod_templates: Where each kind with a pod template holds it: built-in and configured kinds.
    """

    gates: Gates
    profiles: tuple[Profile, ...] = ()
    mode: Mode = Mode.APPLY
    field_defaults: FieldDefaults = FieldDefaults.WHEN_UNSATISFIABLE
    exempt_namespaces: frozenset[str] = frozenset({"kube-system"})
    actions: Mapping[str, Action] = msgspec.field(default_factory=lambda: DEFAULT_ACTIONS)
    not_exemptible: frozenset[str] = frozenset()
    validates_pods: bool = False
    pod_templates: Mapping[GroupKind, TemplatePath] = msgspec.field(
        default_factory=lambda: BUILT_IN_TEMPLATES
    )

    @property
    def needs_namespaces(self) -> bool:
        """Whether any profile asks for the labels of Namespaces."""
        return any(profile.namespace_selector is not None for profile in self.profiles)

"""
Profiles of default constraints, and the policy of a server.

These are values without behaviour of their own: ``webhook.config`` builds them from an operator's
configuration, and ``inject`` applies them.
"""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from webhook.policy.api.gates import Gates
from webhook.policy.catalogue import DEFAULT_ACTIONS, Action
from webhook.policy.kinds import BUILT_IN_TEMPLATES
from webhook.policy.model import SCHEDULE_ANYWAY, Constraint, GroupKind, LabelSelector, PodTemplate
from webhook.policy.paths import TemplatePath
from webhook.policy.selectors import matches

DEFAULT_SCHEDULER = "default-scheduler"  # what an empty schedulerName means, core/v1 PodSpec
HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"

SYSTEM_CONSTRAINTS = (
    Constraint(max_skew=3, topology_key=HOSTNAME, when_unsatisfiable=SCHEDULE_ANYWAY),
    Constraint(max_skew=5, topology_key=ZONE, when_unsatisfiable=SCHEDULE_ANYWAY),
)
"""Source: kube-scheduler plugins/podtopologyspread/plugin.go ``systemDefaultConstraints``."""


class Merge(StrEnum):
    """How defaults combine with a pod's own constraints."""

    IF_EMPTY = "IfEmpty"
    PER_TOPOLOGY_KEY = "PerTopologyKey"


class Mode(StrEnum):
    """Whether verdicts are enforced or only reported."""

    APPLY = "apply"
    RECOMMEND = "recommend"


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
        namespace_selector: Selects by the labels of the pod's Namespace; None selects all.
        owner_kinds: The kinds of the controlling owner; None also accepts pods without an owner.
        scheduler_names: The accepted values of the pod's schedulerName.
        merge: How the defaults combine with the pod's own constraints.
        complete_selectors: Whether null selectors of the pod's own constraints are filled in.
        constraints: The constraints to inject, without selectors; may be empty.
        system: Whether these are the scheduler's System defaults, which leave out the zone
            constraint while nodes lack zones.
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
        """Whether the profile applies to a pod, except for the labels of its Namespace."""
        scheduler = (pod.spec.scheduler_name if pod.spec else "") or DEFAULT_SCHEDULER
        if scheduler not in self.scheduler_names:
            return False
        if self.object_selector is not None and not matches(self.object_selector, pod.labels):
            return False
        owner = pod.metadata.controller if self.owner_kinds and pod.metadata else None
        return self.owner_kinds is None or (owner.kind if owner else "") in self.owner_kinds

    def fits_namespace(self, labels: Mapping[str, str] | None) -> bool:
        """
        Whether the profile applies to the pods of a Namespace with these labels.

        If they are unknown (None), no profile with a namespace selector applies.
        """
        if self.namespace_selector is None:
            return True
        return labels is not None and matches(self.namespace_selector, labels)


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """
    Everything that a verdict depends on besides the request and the facts.

    A reload replaces the whole immutable value.

    Attributes:
        profiles: In order; the first one that fits a pod applies.
        exempt_namespaces: Namespaces whose pods get no defaults.
        validates_pods: Whether the validating hook gets new pods: it then gives the advice on them
            and may deny; otherwise the mutating hook gives the advice, as warnings.
        pod_templates: Built-in and configured kinds -> the path of the pod template.
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
        """Whether any profile depends on the labels of Namespaces."""
        return any(profile.namespace_selector is not None for profile in self.profiles)

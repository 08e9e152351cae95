"""
The model of the API: constraints, selectors, pod templates and nodes.

Each struct declares only the fields that evenspread reads, so that decoding a review builds nothing
else. Unknown fields are skipped and never lost, because responses are patches.

Go decodes an absent field and ``null`` alike, to the zero value of its type. So do these structs:
a type checker sees the type after decoding, msgspec sees a type that also admits ``null``, and
``__post_init__`` replaces ``null`` by the zero value.

Source: k8s.io/api core/v1 types.go, apimachinery meta/v1 types.go.
"""

from typing import TYPE_CHECKING, Annotated, TypeAlias, TypeVar

import msgspec
from msgspec.structs import force_setattr

T = TypeVar("T")

if TYPE_CHECKING:
    Int32: TypeAlias = int
    Text: TypeAlias = str
    Flag: TypeAlias = bool
    Texts: TypeAlias = tuple[str, ...]
    Labels: TypeAlias = dict[str, str]
    Items: TypeAlias = tuple[T, ...]
else:
    Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)] | None  # Go's int32
    Text = str | None
    Flag = bool | None
    Texts = tuple[str | None, ...] | None
    Labels = dict[str, str | None] | None
    Items = tuple[T | None, ...] | None


DO_NOT_SCHEDULE = "DoNotSchedule"
SCHEDULE_ANYWAY = "ScheduleAnyway"
UNSATISFIABLE_ACTIONS = (DO_NOT_SCHEDULE, SCHEDULE_ANYWAY)
"""The values of ``whenUnsatisfiable``, core/v1 ``UnsatisfiableConstraintAction``."""

HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"
"""Source: k8s.io/api core/v1 well_known_labels.go."""

HONOR = "Honor"
IGNORE = "Ignore"
NODE_POLICIES = (HONOR, IGNORE)
"""The values of both node inclusion policies, core/v1 ``NodeInclusionPolicy``."""

AFFINITY_POLICY = "nodeAffinityPolicy"
TAINTS_POLICY = "nodeTaintsPolicy"
"""The fields of a constraint that have such a value."""

NAME_LABEL = "kubernetes.io/metadata.name"
"""Label that kube-apiserver gives to every Namespace; its value is the name."""

MAX_CONSTRAINTS = 1000  # in one list: bounds the time of a verdict; real pods have one to three

_NULL: object = None  # null on the wire; excluded from the types that a checker sees


class LabelSelectorRequirement(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """
    One expression of a label selector, valid or not.

    Attributes:
        key: The label key.
        operator: In, NotIn, Exists or DoesNotExist if the expression is valid.
        values: At least one for In and NotIn, none for the others, if the expression is valid.
    """

    key: Text = ""
    operator: Text = ""
    values: Texts = ()

    def __post_init__(self) -> None:
        """Turn nulls into zero values."""
        if self.key is _NULL or self.operator is _NULL or self.values is _NULL:
            _replace_nulls(self)
        if _NULL in self.values:
            force_setattr(self, "values", _replace_null_items(self.values, ""))


class LabelSelector(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """
    A label selector, valid or not: all pairs and expressions must hold; an empty one selects all.

    Attributes:
        match_labels: Required labels; never changed after construction.
        match_expressions: Further conditions.
    """

    match_labels: Labels = msgspec.field(default_factory=dict[str, str])
    match_expressions: Items[LabelSelectorRequirement] = ()

    def __post_init__(self) -> None:
        """Turn nulls into zero values."""
        if self.match_labels is _NULL or self.match_expressions is _NULL:
            _replace_nulls(self)
        replace_null_labels(self.match_labels)
        if _NULL in self.match_expressions:
            items = _replace_null_items(self.match_expressions, LabelSelectorRequirement())
            force_setattr(self, "match_expressions", items)


class Constraint(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """
    One entry of ``topologySpreadConstraints``, valid or not; None represents an unset field.

    Attributes:
        max_skew: How many pods a domain may hold more than the emptiest one; valid from 1.
        topology_key: The node label whose values are the domains; not empty if valid.
        when_unsatisfiable: DoNotSchedule or ScheduleAnyway if valid.
        label_selector: The pods to count; None counts none, an empty selector all.
        min_domains: With fewer domains the global minimum counts as 0; valid from 1.
        node_affinity_policy: Honor or Ignore if valid.
        node_taints_policy: Honor or Ignore if valid.
        match_label_keys: Keys whose values in the pod's own labels are added to the selector.

    Source: k8s.io/api core/v1 ``TopologySpreadConstraint``.
    """

    max_skew: Int32 = 0
    topology_key: Text = ""
    when_unsatisfiable: Text = ""
    label_selector: LabelSelector | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: Texts = ()

    def __post_init__(self) -> None:
        """Turn nulls into zero values."""
        if (
            self.max_skew is _NULL
            or self.topology_key is _NULL
            or self.when_unsatisfiable is _NULL
            or self.match_label_keys is _NULL
        ):
            _replace_nulls(self)
        if _NULL in self.match_label_keys:
            force_setattr(self, "match_label_keys", _replace_null_items(self.match_label_keys, ""))


class OwnerReference(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """
    A reference to an owner of an object.

    Attributes:
        controller: Whether the owner is the managing controller; at most one owner is.
    """

    api_version: Text = ""
    kind: Text = ""
    name: Text = ""
    controller: Flag = False

    def __post_init__(self) -> None:
        """Turn nulls into zero values."""
        if (
            self.api_version is _NULL
            or self.kind is _NULL
            or self.name is _NULL
            or self.controller is _NULL
        ):
            _replace_nulls(self)


class ObjectMeta(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """
    The metadata of an object or of a pod template.

    Attributes:
        name: Empty until the API server generates it from ``generate_name``.
        labels: Never changed after construction.
        annotations: Never changed after construction.
    """

    name: Text = ""
    generate_name: Text = ""
    namespace: Text = ""
    labels: Labels = msgspec.field(default_factory=dict[str, str])
    annotations: Labels = msgspec.field(default_factory=dict[str, str])
    owner_references: Items[OwnerReference] = ()

    def __post_init__(self) -> None:
        """Turn nulls into zero values."""
        if (
            self.name is _NULL
            or self.generate_name is _NULL
            or self.namespace is _NULL
            or self.labels is _NULL
            or self.annotations is _NULL
            or self.owner_references is _NULL
        ):
            _replace_nulls(self)
        replace_null_labels(self.labels)
        replace_null_labels(self.annotations)
        if _NULL in self.owner_references:
            items = _replace_null_items(self.owner_references, OwnerReference())
            force_setattr(self, "owner_references", items)

    @property
    def controller(self) -> OwnerReference | None:
        """The owner reference with ``controller: true``; None if no owner has it."""
        for owner in self.owner_references:
            if owner.controller:
                return owner
        return None


class PodSpec(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """
    The fields of a pod specification that spreading depends on.

    Attributes:
        node_name: The node the pod is bound to; empty before scheduling.
        scheduler_name: Empty means default-scheduler.
        topology_spread_constraints: In order; may be empty.
        scheduling_group: Of any type, as ``workload_ref``: see ``policy.gangs``.
    """

    node_name: Text = ""
    scheduler_name: Text = ""
    topology_spread_constraints: Items[Constraint] = ()
    scheduling_group: object = None
    workload_ref: object = None

    def __post_init__(self) -> None:
        """Turn nulls into zero values."""
        if (
            self.node_name is _NULL
            or self.scheduler_name is _NULL
            or self.topology_spread_constraints is _NULL
        ):
            _replace_nulls(self)
        if _NULL in self.topology_spread_constraints:
            items = _replace_null_items(self.topology_spread_constraints, Constraint())
            force_setattr(self, "topology_spread_constraints", items)


class PodTemplate(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """
    A Pod, or the pod template of a workload.

    Attributes:
        metadata: None if the object has no such member; a patch then cannot add below it.
        spec: None if the object has no such member.
    """

    metadata: ObjectMeta | None = None
    spec: PodSpec | None = None

    @property
    def labels(self) -> dict[str, str]:
        """The pod's labels; empty if it has none."""
        return self.metadata.labels if self.metadata else {}

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The pod's constraints, in order; empty if it has none."""
        return self.spec.topology_spread_constraints if self.spec else ()


class Taint(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """
    A taint of a node, which repels pods that do not tolerate it.

    Attributes:
        effect: NoSchedule, PreferNoSchedule or NoExecute.
    """

    key: Text = ""
    value: Text = ""
    effect: Text = ""

    def __post_init__(self) -> None:
        """Turn nulls into zero values."""
        if self.key is _NULL or self.value is _NULL or self.effect is _NULL:
            _replace_nulls(self)


class Node(msgspec.Struct, frozen=True, gc=False):
    """
    The fields of a Node that spreading depends on.

    Attributes:
        labels: Never changed after construction.
        taints: In order; may be empty.
        unschedulable: Whether the Node is cordoned.
    """

    name: str
    labels: dict[str, str]
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False


class GroupKind(msgspec.Struct, frozen=True, order=True, gc=False):
    """
    A kind of objects in any version.

    Attributes:
        group: Empty for the core API group.
    """

    group: Text = ""
    kind: Text = ""

    def __post_init__(self) -> None:
        """Turn nulls into zero values."""
        if self.group is _NULL or self.kind is _NULL:
            _replace_nulls(self)

    def __str__(self) -> str:
        """Format the kind as Kubernetes does in messages: ``Deployment.apps``, ``Pod``."""
        return f"{self.kind}.{self.group}" if self.group else self.kind


def group_of(api_version: str) -> str:
    """
    Extract the API group from an ``apiVersion``: ``apps`` from ``apps/v1``, empty from ``v1``.

    Source: apimachinery runtime/schema ``ParseGroupVersion``.
    """
    return api_version.rpartition("/")[0]


def _replace_nulls(struct: msgspec.Struct) -> None:
    zero = type(struct)()
    for field in struct.__struct_fields__:
        if getattr(struct, field) is None:
            force_setattr(struct, field, getattr(zero, field))


def replace_null_labels(labels: dict[str, str]) -> None:
    """Replace null values by empty strings, in place, as Go decodes them."""
    if _NULL in labels.values():
        labels.update({key: value or "" for key, value in labels.items()})


def _replace_null_items(items: tuple[T, ...], zero: T) -> tuple[T, ...]:
    return tuple(zero if item is None else item for item in items)

"""
The words that everybody speaks: constraints, selectors, and the parts of an object that hold them.

Each struct names only the fields that evenspread reads, so that one decoding of a review builds
nothing else; unknown fields are never looked at and never lost, since answers are patches.

Go decodes an absent field and ``null`` alike, to the zero value of its type. So do these structs:
the type that a checker sees is the type after decoding, the type that msgspec sees also admits
``null``, and ``__post_init__`` turns the one into the other.

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

HONOR = "Honor"
IGNORE = "Ignore"
NODE_POLICIES = (HONOR, IGNORE)
"""The values of both node inclusion policies, core/v1 ``NodeInclusionPolicy``."""

MAX_CONSTRAINTS = 1000  # in one list: bounds the time of a verdict; real pods have one to three

_NULL: object = None  # what the types that a checker sees do not have


class LabelSelectorRequirement(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """
    One expression of a label selector, valid or not.

    Attributes:
        key: The label it is about.
        operator: In, NotIn, Exists or DoesNotExist if it is valid.
        values: For In and NotIn at least one, for the others none, if it is valid.
    """

    key: Text = ""
    operator: Text = ""
    values: Texts = ()

    def __post_init__(self) -> None:
        """Turn nulls into zero values."""
        if self.key is _NULL or self.operator is _NULL or self.values is _NULL:
            _fill(self)
        if _NULL in self.values:
            force_setattr(self, "values", _texts(self.values))


class LabelSelector(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """
    A label selector, valid or not: all pairs and all expressions must hold. Empty, it selects all.

    Attributes:
        match_labels: Pairs that must stand among the labels; owned by the selector, never changed.
        match_expressions: Further conditions.
    """

    match_labels: Labels = msgspec.field(default_factory=dict[str, str])
    match_expressions: Items[LabelSelectorRequirement] = ()

    def __post_init__(self) -> None:
        """Turn nulls into zero values."""
        if self.match_labels is _NULL or self.match_expressions is _NULL:
            _fill(self)
        if _NULL in self.match_labels.values():
            _fill_texts(self.match_labels)
        if _NULL in self.match_expressions:
            filled = _items(self.match_expressions, LabelSelectorRequirement())
            force_setattr(self, "match_expressions", filled)


class Constraint(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """
    One entry of ``topologySpreadConstraints``, valid or not; None stands for a field not set.

    Attributes:
        max_skew: Most pods a domain may hold above the emptiest one; at least 1 if valid.
        topology_key: Node label whose values are the domains; not empty if valid.
        when_unsatisfiable: DoNotSchedule or ScheduleAnyway if valid.
        label_selector: The pods that count; None counts none, an empty one all.
        min_domains: Fewest domains for the minimum to be trusted; at least 1 if valid.
        node_affinity_policy: Honor or Ignore if valid.
        node_taints_policy: Honor or Ignore if valid.
        match_label_keys: Keys whose values in the pod's own labels join the selector.

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
            _fill(self)
        if _NULL in self.match_label_keys:
            force_setattr(self, "match_label_keys", _texts(self.match_label_keys))


class OwnerReference(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """
    Who owns an object.

    Attributes:
        controller: Whether this owner manages the object; at most one does.
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
            _fill(self)


class ObjectMeta(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """
    The metadata of an object or of a pod template.

    Attributes:
        name: Empty while the API server has not made it from ``generate_name``.
        labels: Owned by the struct, never changed.
        annotations: Owned by the struct, never changed.
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
            _fill(self)
        if _NULL in self.labels.values():
            _fill_texts(self.labels)
        if _NULL in self.annotations.values():
            _fill_texts(self.annotations)
        if _NULL in self.owner_references:
            filled = _items(self.owner_references, OwnerReference())
            force_setattr(self, "owner_references", filled)

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that manages the object, if one does."""
        for owner in self.owner_references:
            if owner.controller:
                return owner
        return None


class PodSpec(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """
    The parts of a pod's specification that spreading depends on.

    Attributes:
        node_name: The node the pod is bound to; empty before scheduling.
        scheduler_name: Empty means default-scheduler.
        topology_spread_constraints: In order; may be empty.
    """

    node_name: Text = ""
    scheduler_name: Text = ""
    topology_spread_constraints: Items[Constraint] = ()

    def __post_init__(self) -> None:
        """Turn nulls into zero values."""
        if (
            self.node_name is _NULL
            or self.scheduler_name is _NULL
            or self.topology_spread_constraints is _NULL
        ):
            _fill(self)
        if _NULL in self.topology_spread_constraints:
            filled = _items(self.topology_spread_constraints, Constraint())
            force_setattr(self, "topology_spread_constraints", filled)


class PodTemplate(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """
    What a pod is made of: a Pod itself, or the template in a workload.

    Attributes:
        metadata: None if the object has no such member: then nothing can be added below it.
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
    What keeps pods away from a node unless they tolerate it.

    Attributes:
        effect: NoSchedule, PreferNoSchedule or NoExecute.
    """

    key: Text = ""
    value: Text = ""
    effect: Text = ""

    def __post_init__(self) -> None:
        """Turn nulls into zero values."""
        if self.key is _NULL or self.value is _NULL or self.effect is _NULL:
            _fill(self)


class Node(msgspec.Struct, frozen=True, gc=False):
    """
    What spreading knows of a Node.

    Attributes:
        labels: Owned by the struct, never changed.
        taints: In order; may be empty.
        unschedulable: Whether it is cordoned.
    """

    name: str
    labels: dict[str, str]
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False


class GroupKind(msgspec.Struct, frozen=True, order=True, gc=False):
    """
    A kind of objects, whatever its version.

    Attributes:
        group: Empty for the core API.
    """

    group: str
    kind: str

    def __str__(self) -> str:
        """Write it as Kubernetes' messages do: ``Deployment.apps``, ``Pod``."""
        return f"{self.kind}.{self.group}" if self.group else self.kind


def group_of(api_version: str) -> str:
    """
    The API group of an ``apiVersion``: that of ``apps/v1`` is ``apps``, that of ``v1`` is empty.

    Source: apimachinery runtime/schema ``ParseGroupVersion``.
    """
    return api_version.rpartition("/")[0]


def _fill(struct: msgspec.Struct) -> None:
    zero = type(struct)()
    for field in struct.__struct_fields__:
        if getattr(struct, field) is None:
            force_setattr(struct, field, getattr(zero, field))


def _fill_texts(labels: dict[str, str]) -> None:
    labels.update({key: value or "" for key, value in labels.items()})


def _texts(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(text or "" for text in texts)


def _items(items: tuple[T, ...], zero: T) -> tuple[T, ...]:
    return tuple(zero if item is None else item for item in items)

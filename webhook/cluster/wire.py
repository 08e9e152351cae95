"""
Structs for decoding API objects, with only the fields that the caches keep.

Null and absent are the same, as in Go, except where the API distinguishes them: a Service with a
null selector selects nothing, one with an empty selector selects everything.

Source: k8s.io/api core/v1 and apps/v1 types.go.
"""

import msgspec

from webhook.policy.model import LabelSelector, Taint, group_of
from webhook.policy.scaledown.binding import RankedPod
from webhook.policy.scaledown.domain import ranking_key
from webhook.policy.scaledown.ranks import (
    DELETION_COST,
    KEEP_SPREAD,
    RANK_ANNOTATION,
    SCALE_DOWN_LABEL,
    UNRANKED,
    read_rank,
)

Pairs = dict[str, str | None] | None
"""A map of strings; Go decodes null values as empty strings."""


class NameMetadata(msgspec.Struct, frozen=True, gc=False):
    """The name and namespace in an object's metadata."""

    name: str | None = None
    namespace: str | None = None


class LabelledMetadata(NameMetadata, frozen=True, gc=False):
    """The metadata of the kinds whose labels the caches keep."""

    labels: Pairs = None


class NamedObject(msgspec.Struct, frozen=True, gc=False):
    """An object of any kind."""

    metadata: NameMetadata | None = None

    @property
    def name(self) -> str:
        """Its name."""
        return (self.metadata and self.metadata.name) or ""

    @property
    def namespace(self) -> str:
        """Its namespace."""
        return (self.metadata and self.metadata.namespace) or ""


class ClusterScopedObject(NamedObject, frozen=True, gc=False):
    """An object of a cluster-scoped kind; ignores a namespace in its metadata."""

    metadata: LabelledMetadata | None = None

    @property
    def namespace(self) -> str:
        """The empty namespace."""
        return ""

    @property
    def labels(self) -> dict[str, str]:
        """Its labels; may be empty."""
        return (self.metadata and without_nulls(self.metadata.labels)) or {}


class PairsSpec(msgspec.Struct, frozen=True, gc=False):
    """A specification whose selector is a map."""

    selector: Pairs = None


class ServiceObject(NamedObject, frozen=True, gc=False):
    """A Service, v1."""

    spec: PairsSpec | None = None

    @property
    def selector(self) -> dict[str, str] | None:
        """The labels that its pods have; None if it selects nothing."""
        return without_nulls(self.spec.selector) if self.spec else None


class ReplicationControllerObject(NamedObject, frozen=True, gc=False):
    """A ReplicationController, v1."""

    spec: PairsSpec | None = None

    @property
    def selector(self) -> LabelSelector | None:
        """Its selector as a label selector; None if it has none."""
        selector = without_nulls(self.spec.selector) if self.spec else None
        return None if selector is None else LabelSelector(match_labels=selector)


class SelectorSpec(msgspec.Struct, frozen=True, gc=False):
    """A specification whose selector is a label selector."""

    selector: LabelSelector | None = None


class ControllerObject(NamedObject, frozen=True, gc=False):
    """A ReplicaSet or a StatefulSet, apps/v1."""

    spec: SelectorSpec | None = None

    @property
    def selector(self) -> LabelSelector | None:
        """Its label selector; None if it has none."""
        return self.spec.selector if self.spec else None


class CustomControllerObject(NamedObject, frozen=True, gc=False):
    """An owner of a custom kind, with the value at the selector path of its kind."""

    selector: LabelSelector | None = None


class NamespaceObject(ClusterScopedObject, frozen=True, gc=False):
    """A Namespace, v1."""


class NodeSpec(msgspec.Struct, frozen=True, gc=False):
    """The fields of a Node that keep pods off it."""

    taints: tuple[Taint | None, ...] | None = None
    unschedulable: bool | None = None


class NodeObject(ClusterScopedObject, frozen=True, gc=False):
    """A Node, v1."""

    spec: NodeSpec | None = None

    @property
    def taints(self) -> tuple[Taint, ...]:
        """Its taints, in order."""
        taints = (self.spec and self.spec.taints) or ()
        return tuple(taint or Taint() for taint in taints)

    @property
    def unschedulable(self) -> bool:
        """Whether it is cordoned."""
        return bool(self.spec and self.spec.unschedulable)


MAX_UID_LENGTH = 128  # characters; those of API servers have 36, a tenant may write any
_RANKED_BY = {("apps", "ReplicaSet"), ("", "ReplicationController")}
"""Group and kind of the controllers that look at the deletion cost."""

_FINISHED = ("Succeeded", "Failed")


class _OwnerUid(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """An owner reference with the uid of the owner."""

    api_version: str | None = None
    kind: str | None = None
    uid: str | None = None
    controller: bool | None = None


class _ScaleDownLabel(msgspec.Struct, frozen=True, rename={"value": SCALE_DOWN_LABEL}, gc=False):
    """The one label of a pod that is read."""

    value: str | None = None


_RANK_ANNOTATIONS = {"cost": DELETION_COST, "rank": RANK_ANNOTATION}


class _RankAnnotations(msgspec.Struct, frozen=True, rename=_RANK_ANNOTATIONS, gc=False):
    """The annotations of a pod that are read."""

    cost: str | None = None
    rank: str | None = None


class _PodMetadata(NameMetadata, frozen=True, rename="camel", gc=False):
    """The metadata of a pod that ranks depend on."""

    labels: _ScaleDownLabel | None = None
    annotations: _RankAnnotations | None = None
    owner_references: tuple[_OwnerUid | None, ...] | None = None
    deletion_timestamp: str | None = None


class _SpreadTerm(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The fields of a topology spread constraint that ranks depend on."""

    topology_key: str = ""
    when_unsatisfiable: str = ""


class _PodSpec(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The specification of a pod that ranks depend on."""

    node_name: str | None = None
    topology_spread_constraints: tuple[_SpreadTerm, ...] | None = None


class _PodStatus(msgspec.Struct, frozen=True, gc=False):
    """The status of a pod that ranks depend on."""

    phase: str | None = None


class PodObject(NamedObject, frozen=True, gc=False):
    """A Pod, v1."""

    metadata: _PodMetadata | None = None
    spec: _PodSpec | None = None
    status: _PodStatus | None = None

    @property
    def controller(self) -> str:
        """The uid of its controller; empty if that is no ReplicaSet or ReplicationController."""
        for owner in (self.metadata and self.metadata.owner_references) or ():
            if owner is not None and owner.controller:
                by_cost = (group_of(owner.api_version or ""), owner.kind or "") in _RANKED_BY
                uid = owner.uid or ""
                return uid if by_cost and len(uid) <= MAX_UID_LENGTH else ""
        return ""

    @property
    def ranked(self) -> RankedPod | None:
        """The pod with its rank; None if it is not labelled, finished, or being deleted."""
        metadata, spec = self.metadata, self.spec or _PodSpec()
        labelled = metadata and metadata.labels and metadata.labels.value == KEEP_SPREAD
        phase = (self.status and self.status.phase) or ""
        if not labelled or not metadata or metadata.deletion_timestamp or phase in _FINISHED:
            return None
        key, written = ranking_key(spec.topology_spread_constraints or ()), metadata.annotations
        rank = read_rank(written.cost, written.rank) if written else UNRANKED
        return RankedPod(key, spec.node_name or "", rank)


def without_nulls(written: Pairs) -> dict[str, str] | None:
    """Replace null values with empty strings."""
    return None if written is None else {key: value or "" for key, value in written.items()}

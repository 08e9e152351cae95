"""
Structs for decoding API objects, with only the fields that the caches keep.

Null and absent are the same, as in Go, except where the API distinguishes them: a Service with a
null selector selects nothing, one with an empty selector selects everything.

Source: k8s.io/api core/v1 and apps/v1 types.go.
"""

import msgspec

from webhook.policy.model import LabelSelector, Taint

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


def without_nulls(written: Pairs) -> dict[str, str] | None:
    """Replace null values with empty strings."""
    return None if written is None else {key: value or "" for key, value in written.items()}

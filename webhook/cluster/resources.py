"""Which kinds the caches follow: where an API server has them, and how their objects are read."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Self, TypeAlias
from urllib.parse import quote

import msgspec

from webhook.cluster import wire
from webhook.cluster.lookup import REPLICA_SET, REPLICATION_CONTROLLER, STATEFUL_SET, Cluster
from webhook.cluster.sizes import (
    LARGEST_SELECTOR,
    NamespaceSizeError,
    SelectorSizeError,
    selector_size,
)
from webhook.cluster.store import Named, Store
from webhook.policy.model import GroupKind, LabelSelector
from webhook.policy.nesting import decode_nested
from webhook.policy.workloads import TemplatePath

Decode: TypeAlias = Callable[[bytes | msgspec.Raw], Any]
"""
Reads one object into what its store takes.

Raises ``msgspec.MsgspecError`` if it is no such object.
"""


class Skip(NamedTuple):
    """
    An object that a cache does without.

    Attributes:
        reason: ``selector-size``, ``namespace-size``, or ``shape`` for values of wrong types.
        says: What is wrong; never the object's own text.
    """

    namespace: str
    name: str
    reason: str
    says: str

    @classmethod
    def of(cls, error: Exception, thing: Named) -> Self:
        """Describe an object that could not be decoded."""
        return cls(thing.namespace, thing.name, _REASONS.get(type(error), "shape"), str(error))


_REASONS: Mapping[type[Exception], str] = {
    SelectorSizeError: "selector-size",
    NamespaceSizeError: "namespace-size",
}


class Place(NamedTuple):
    """
    Where an API server has the objects of a kind.

    Attributes:
        root: Path of the API version, such as ``/apis/apps/v1``.
        plural: Such as ``replicasets``.
    """

    root: str
    plural: str

    @property
    def collection(self) -> str:
        """The path of all objects."""
        return f"{self.root}/{self.plural}"

    def within(self, namespace: str) -> "Place":
        """The same kind in one namespace; an empty one stands for all."""
        if not namespace:
            return self
        return self._replace(root=f"{self.root}/namespaces/{quote(namespace, safe='')}")

    def item(self, namespace: str, name: str) -> str:
        """The path of one object; a kind that is in no namespace has an empty one."""
        return f"{self.within(namespace).collection}/{quote(name, safe='')}"


class Resource(NamedTuple):
    """
    One kind that is followed.

    Attributes:
        kind: As metrics and messages name it, such as ``ReplicaSet`` and ``Rollout.argoproj.io``.
        store: Where its objects go.
        decode: How they are read.
        place: None for a custom kind, whose version and plural only the API server knows.
        custom: The custom kind; None for a built-in one.
    """

    kind: str
    store: Store[Any]
    decode: Decode
    place: Place | None
    custom: GroupKind | None = None


_CORE = "/api/v1"
_APPS = "/apis/apps/v1"

_decode_object = msgspec.json.Decoder(wire.Object).decode

NAMESPACES = Place(_CORE, "namespaces")


def resources(cluster: Cluster) -> Iterator[Resource]:
    """List what is followed to keep a cluster's stores true: built-in kinds, then custom ones."""
    owners = cluster.owner_stores
    controllers, controller = wire.ReplicationController, wire.Controller
    for kind, store, read_as, place in (
        ("Namespace", cluster.namespace_store, wire.Namespace, NAMESPACES),
        ("Node", cluster.node_store, wire.Node, Place(_CORE, "nodes")),
        ("Service", cluster.service_store, wire.Service, Place(_CORE, "services")),
        (
            "ReplicationController",
            owners[REPLICATION_CONTROLLER],
            controllers,
            Place(_CORE, "replicationcontrollers"),
        ),
        ("ReplicaSet", owners[REPLICA_SET], controller, Place(_APPS, "replicasets")),
        ("StatefulSet", owners[STATEFUL_SET], controller, Place(_APPS, "statefulsets")),
    ):
        yield Resource(kind, store, _decoder(msgspec.json.Decoder(read_as).decode), place)
    for custom, path in cluster.custom_paths.items():
        decode = custom_decoder(path)
        yield Resource(str(custom), cluster.custom_stores[custom], decode, None, custom)


def _decoder(decode: Decode) -> Decode:
    """Read objects of any depth, and refuse selectors that are too large to be kept."""

    def read(data: bytes | msgspec.Raw) -> Any:
        thing = decode_nested(decode, data)
        if len(data) > LARGEST_SELECTOR:  # no smaller object has a selector of that size
            _check_size(getattr(thing, "selector", None))
        return thing

    return read


def _check_size(selector: LabelSelector | dict[str, str] | None) -> None:
    if isinstance(selector, dict):
        selector = LabelSelector(match_labels=selector)
    size = selector_size(selector) if selector is not None else 0
    if size > LARGEST_SELECTOR:
        problem = f"its selector takes {size} bytes, at most {LARGEST_SELECTOR} are kept"
        raise SelectorSizeError(problem)


def custom_decoder(path: TemplatePath) -> Decode:
    """
    Make the reader of a custom kind.

    Args:
        path: Member names from the object to its label selector, at least one.
    """
    level: Any = LabelSelector | None
    for step in reversed(path):
        level = _around(step, level) | None
    decode_levels = msgspec.json.Decoder(level).decode

    def decode(data: bytes | msgspec.Raw) -> wire.CustomController:
        inner: Any = decode_levels(data)
        for _ in path:
            inner = inner and inner.inner
        return wire.CustomController(_decode_object(data).metadata, inner)

    return _decoder(decode)


def _around(step: str, inner: Any) -> Any:
    """Make the struct of an object of which only one member counts."""
    return msgspec.defstruct("Level", [("inner", inner, None)], rename={"inner": step}, frozen=True)

"""Which kinds the caches follow: where an API server has them, and how their objects are read."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Self, TypeAlias
from urllib.parse import quote

import msgspec

from webhook.cluster import wire
from webhook.cluster.facts import Cluster
from webhook.cluster.protocol import ApiClient, FailureReason, read
from webhook.cluster.quota import (
    MAX_SELECTOR_BYTES,
    NamespaceSizeError,
    SelectorSizeError,
    selector_size,
)
from webhook.cluster.store import Store, StoredObject
from webhook.errors import ApiError
from webhook.policy.kinds import BUILT_IN_KINDS
from webhook.policy.model import GroupKind, LabelSelector
from webhook.policy.nesting import decode_nested
from webhook.policy.paths import TemplatePath

ObjectDecoder: TypeAlias = Callable[[bytes | msgspec.Raw], Any]
"""
Reads one object into what its store takes.

Raises ``msgspec.MsgspecError`` if it is no such object.
"""


class SkippedObject(NamedTuple):
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
    def of(cls, error: Exception, thing: StoredObject) -> Self:
        """Describe an object that could not be decoded."""
        return cls(thing.namespace, thing.name, _REASONS.get(type(error), "shape"), str(error))


_REASONS: Mapping[type[Exception], str] = {
    SelectorSizeError: "selector-size",
    NamespaceSizeError: "namespace-size",
}


class ResourcePath(NamedTuple):
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

    def within(self, namespace: str) -> "ResourcePath":
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
    decode: ObjectDecoder
    place: ResourcePath | None
    custom: GroupKind | None = None


_decode_object = msgspec.json.Decoder(wire.NamedObject).decode

NAMESPACES_PATH = ResourcePath("/api/v1", "namespaces")


_STRUCTS: Mapping[str, type[msgspec.Struct]] = {
    "Namespace": wire.NamespaceObject,
    "Node": wire.NodeObject,
    "Service": wire.ServiceObject,
    "ReplicationController": wire.ReplicationControllerObject,
}
"""What an object of a watched kind is decoded into, unless it is ``wire.ControllerObject``."""


def list_resources(cluster: Cluster) -> Iterator[Resource]:
    """List what is followed to keep a cluster's stores true: built-in kinds, then custom ones."""
    stores: dict[str, Store[Any]] = {
        "Namespace": cluster.namespace_store,
        "Node": cluster.node_store,
        "Service": cluster.service_store,
        **{kind: store for (_, kind), store in cluster.owner_stores.items()},
    }
    for row in BUILT_IN_KINDS.values():
        if row.watched:
            struct = _STRUCTS.get(row.kind, wire.ControllerObject)
            read = _decoder(msgspec.json.Decoder(struct).decode)
            yield Resource(row.kind, stores[row.kind], read, ResourcePath(row.root, row.plural))
    for custom, path in cluster.custom_paths.items():
        decode = make_custom_decoder(path)
        yield Resource(str(custom), cluster.custom_stores[custom], decode, None, custom)


def _decoder(decode: ObjectDecoder) -> ObjectDecoder:
    """Read objects of any depth, and refuse selectors that are too large to be kept."""

    def read(data: bytes | msgspec.Raw) -> Any:
        thing = decode_nested(decode, data)
        if len(data) > MAX_SELECTOR_BYTES:  # no smaller object has a selector of that size
            _check_size(getattr(thing, "selector", None))
        return thing

    return read


def _check_size(selector: LabelSelector | dict[str, str] | None) -> None:
    if isinstance(selector, dict):
        selector = LabelSelector(match_labels=selector)
    size = selector_size(selector) if selector is not None else 0
    if size > MAX_SELECTOR_BYTES:
        problem = f"its selector takes {size} bytes, at most {MAX_SELECTOR_BYTES} are kept"
        raise SelectorSizeError(problem)


def make_custom_decoder(path: TemplatePath) -> ObjectDecoder:
    """
    Make the reader of a custom kind.

    Args:
        path: Member names from the object to its label selector, at least one.
    """
    level: Any = LabelSelector | None
    for step in reversed(path):
        level = _around(step, level) | None
    decode_levels = msgspec.json.Decoder(level).decode

    def decode(data: bytes | msgspec.Raw) -> wire.CustomControllerObject:
        inner: Any = decode_levels(data)
        for _ in path:
            inner = inner and inner.inner
        return wire.CustomControllerObject(_decode_object(data).metadata, inner)

    return _decoder(decode)


def _around(step: str, inner: Any) -> Any:
    """Make the struct of an object of which only one member counts."""
    return msgspec.defstruct("Level", [("inner", inner, None)], rename={"inner": step}, frozen=True)


class _Version(msgspec.Struct, rename="camel"):
    group_version: str


class _Group(msgspec.Struct, rename="camel"):
    name: str
    preferred_version: _Version


class _Groups(msgspec.Struct):
    groups: list[_Group]


class _Resource(msgspec.Struct):
    name: str
    kind: str


class _Resources(msgspec.Struct):
    resources: list[_Resource]


_decode_groups = msgspec.json.Decoder(_Groups).decode
_decode_resources = msgspec.json.Decoder(_Resources).decode


async def locate(source: ApiClient, resource: Resource) -> ResourcePath | None:
    """
    Find where the objects of a kind are.

    Returns:
        None if the API server has no such kind. That is believed only of a complete list of all
        groups, and of all kinds of one; a 404 could be anybody's.

    Raises:
        ApiError: It cannot be told.
    """
    if resource.custom is None:
        return resource.place
    return await locate_custom(source, resource.custom)


async def locate_custom(source: ApiClient, custom: GroupKind) -> ResourcePath | None:
    """
    Find where the objects of a custom kind are, as ``locate`` does.

    Raises:
        ApiError: It cannot be told.
    """
    try:
        return await _search(source, custom)
    except msgspec.MsgspecError:
        raise ApiError(
            source.name, "answered with no list of kinds", FailureReason.GARBAGE
        ) from None


async def _search(source: ApiClient, custom: GroupKind) -> ResourcePath | None:
    for group in _decode_groups(await read(source, "/apis")).groups:
        if group.name == custom.group:
            root = f"/apis/{group.preferred_version.group_version}"
            listed = _decode_resources(await read(source, root)).resources
            names = (each.name for each in listed if each.kind == custom.kind)
            plural = next((name for name in names if "/" not in name), None)  # no subresource
            return None if plural is None else ResourcePath(root, plural)
    return None

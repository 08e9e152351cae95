"""
The kinds that a cluster stores: how to decode their objects, and where an API server has them.

``list_resources`` is the one table of decoders, for objects of API servers and of files.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, Self, TypeAlias
from urllib.parse import quote

import msgspec

from webhook.cluster import wire
from webhook.cluster.facts import Cluster, VersionKind
from webhook.cluster.policyexceptions import (
    POLICY_EXCEPTION,
    PolicyExceptionStore,
    decode_exception,
)
from webhook.cluster.protocol import DECODE_ERRORS, ApiClient, Query, protocol_error, read
from webhook.cluster.quota import (
    MAX_SELECTOR_BYTES,
    MAX_SELECTOR_TEXT,
    NamespaceSizeError,
    ObjectSizeError,
    SelectorSizeError,
    check_selector_size,
    check_selector_text,
)
from webhook.cluster.spreadpolicies import SpreadPolicyStore, decode_policy
from webhook.cluster.store import Store
from webhook.config.spreadpolicies import POLICY_VERSION, SPREAD_POLICY
from webhook.errors import ApiError, SourceError
from webhook.policy.kinds import BUILT_IN_KINDS, POD, KindRow
from webhook.policy.model import GroupKind, LabelSelector
from webhook.policy.nesting import decode_nested
from webhook.policy.paths import TemplatePath
from webhook.policy.scaledown.ranks import KEEP_SPREAD, SCALE_DOWN_LABEL

ObjectDecoder: TypeAlias = Callable[[bytes | msgspec.Raw], Any]
"""
Decodes one object into the type that its store accepts.

Raises ``msgspec.MsgspecError`` if the object does not have that type.
"""


class SkippedObject(NamedTuple):
    """
    An object that a cache leaves out.

    Attributes:
        reason: ``shape`` for type errors, ``selector-size``, ``namespace-size`` or ``object-size``.
        message: The error; contains at most short, escaped values of the object.
    """

    namespace: str
    name: str
    reason: str
    message: str

    @classmethod
    def of(cls, error: Exception, thing: wire.NamedObject) -> Self:
        """Describe an object that could not be decoded."""
        return cls(thing.namespace, thing.name, _REASONS.get(type(error), "shape"), str(error))


_REASONS: Mapping[type[Exception], str] = {
    SelectorSizeError: "selector-size",
    NamespaceSizeError: "namespace-size",
    ObjectSizeError: "object-size",
}


class ResourcePath(NamedTuple):
    """
    The API path of a kind.

    Attributes:
        root: Path of the API version, such as ``/apis/apps/v1``.
        plural: Resource name, such as ``replicasets``.
    """

    root: str
    plural: str

    @property
    def collection(self) -> str:
        """The path of the collection of all objects."""
        return f"{self.root}/{self.plural}"

    def within(self, namespace: str) -> "ResourcePath":
        """Return the path of the kind in one namespace; an empty namespace means all."""
        if not namespace:
            return self
        return self._replace(root=f"{self.root}/namespaces/{quote(namespace, safe='')}")

    def item(self, namespace: str, name: str) -> str:
        """Return the path of one object; the namespace of a cluster-scoped kind is empty."""
        return f"{self.within(namespace).collection}/{quote(name, safe='')}"


@dataclass(frozen=True)
class Resource:
    """
    One kind of objects that a cluster stores.

    Attributes:
        kind: Name in metrics and messages, such as ``ReplicaSet`` and ``Rollout.argoproj.io``.
        store: Store of its objects.
        read: Decoder of its objects.
        key: API version and kind; for a custom kind, whose version and plural need discovery, the
            kind alone.
        place: API path; None for a custom kind.
        query: Query of lists and watches, such as a label selector.
        find_selector: Returns the JSON text of an object's selector; None if the kind has none.
        required: Whether admission waits until its objects have been listed once.
        version: The version of a custom kind to read if the API server has it; empty for the
            preferred one.
        keeps_last: Whether an object that can no longer be decoded leaves the version before it in
            the store; otherwise the object counts as absent.
    """

    kind: str
    store: Store[Any]
    read: ObjectDecoder
    key: VersionKind | GroupKind
    place: ResourcePath | None = None
    query: Query = field(default_factory=dict[str, str])
    find_selector: ObjectDecoder | None = None
    required: bool = True
    version: str = ""
    keeps_last: bool = False

    def decode(self, data: bytes | msgspec.Raw) -> Any:
        """
        Decode an object of any nesting depth.

        Raises:
            msgspec.MsgspecError: A value has the wrong type, or the selector is too large.
        """
        if self.find_selector is not None and len(data) > MAX_SELECTOR_TEXT:
            check_selector_text(decode_nested(self.find_selector, data))
        thing = decode_nested(self.read, data)
        if len(data) > MAX_SELECTOR_BYTES:  # no smaller object has a selector of that size
            check_selector_size(getattr(thing, "selector", None) or {})
        return thing


_STRUCTS: Mapping[str, type[msgspec.Struct]] = {
    "Namespace": wire.NamespaceObject,
    "Node": wire.NodeObject,
    "Service": wire.ServiceObject,
    "ReplicationController": wire.ReplicationControllerObject,
}
"""Structs of built-in kinds; the other kinds use ``wire.ControllerObject``."""


def list_resources(cluster: Cluster) -> Iterator[Resource]:
    """List the kinds that a cluster stores: built-in ones, then pods, then custom ones."""
    stores: dict[str, Store[Any]] = {
        "Namespace": cluster.namespace_store,
        "Node": cluster.node_store,
        "Service": cluster.service_store,
        **{kind: store for (_, kind), store in cluster.owner_stores.items()},
    }
    for row in BUILT_IN_KINDS.values():
        if row.watched:
            read = msgspec.json.Decoder(_STRUCTS.get(row.kind, wire.ControllerObject)).decode
            place = ResourcePath(row.root, row.plural)
            yield Resource(
                row.kind,
                stores[row.kind],
                read,
                (row.api_version, row.kind),
                place,
                find_selector=_value_decoder(row.selector, msgspec.Raw) if row.selector else None,
            )
    if cluster.pod_store is not None:
        yield _list_pods(cluster.pod_store)
    for custom, path in cluster.custom_paths.items():
        yield Resource(
            str(custom),
            cluster.custom_stores[custom],
            _custom_decoder(path),
            custom,
            find_selector=_value_decoder(path, msgspec.Raw),
        )


def _list_pods(store: Store[Any]) -> Resource:
    """
    Build the resource of the labelled pods.

    They are not required: without the right to list pods, only ranks are missing.
    """
    row = BUILT_IN_KINDS[POD]
    return Resource(
        kind=row.kind,
        store=store,
        read=msgspec.json.Decoder(wire.PodObject).decode,
        key=(row.api_version, row.kind),
        place=ResourcePath(row.root, row.plural),
        query={"labelSelector": f"{SCALE_DOWN_LABEL}={KEEP_SPREAD}"},
        required=False,
    )


def describe_policies(store: SpreadPolicyStore) -> Resource:
    """Build the resource of SpreadPolicies, which are no facts of a cluster."""
    key = SPREAD_POLICY
    return Resource(str(key), store, decode_policy, key, required=False, version=POLICY_VERSION)


def describe_exceptions(store: PolicyExceptionStore) -> Resource:
    """Build the resource of SpreadPolicyExceptions, which one store has for all sets of caches."""
    return Resource(
        str(POLICY_EXCEPTION),
        store,
        decode_exception,
        POLICY_EXCEPTION,
        find_selector=_value_decoder(("spec", "selector"), msgspec.Raw),
        required=False,
        version=POLICY_VERSION,
        keeps_last=True,
    )


_decode_object = msgspec.json.Decoder(wire.NamedObject).decode


def _custom_decoder(path: TemplatePath) -> ObjectDecoder:
    decode_selector = _value_decoder(path, LabelSelector | None)

    def decode(data: bytes | msgspec.Raw) -> wire.CustomControllerObject:
        selector = decode_selector(data)
        return wire.CustomControllerObject(_decode_object(data).metadata, selector)

    return decode


@lru_cache(64)  # one for each kind with a selector; a command may build a cluster for each object
def _value_decoder(path: TemplatePath, kind: Any) -> ObjectDecoder:
    """Build a decoder of the value of a type at a path of an object; None if it is absent."""
    level = kind
    for step in reversed(path):
        inner_field = [("inner", level, None)]
        level = msgspec.defstruct("Level", inner_field, rename={"inner": step}, frozen=True) | None
    decode_levels = msgspec.json.Decoder(level).decode

    def decode(data: bytes | msgspec.Raw) -> Any:
        inner: Any = decode_levels(data)
        for _ in path:
            inner = inner and inner.inner
        return inner

    return decode


class _Version(msgspec.Struct, rename="camel"):
    group_version: str


class _Group(msgspec.Struct, rename="camel"):
    name: str
    preferred_version: _Version
    versions: list[_Version] = []


class _Groups(msgspec.Struct):
    groups: list[_Group]


class _Resource(msgspec.Struct):
    name: str
    kind: str


class _Resources(msgspec.Struct):
    resources: list[_Resource]


_decode_groups = msgspec.json.Decoder(_Groups).decode
_decode_resources = msgspec.json.Decoder(_Resources).decode


async def locate_custom(
    source: ApiClient, custom: GroupKind, version: str = ""
) -> ResourcePath | None:
    """
    Find the API path of a custom kind.

    Args:
        version: The version to use if the kind has it, such as ``v1``; empty for the preferred one.

    Returns:
        None if the API server does not have the kind. Only complete lists of all groups and of the
        kinds of each version of a group prove that; a proxy could also send a 404.

    Raises:
        ApiError: Discovery failed.
    """
    try:
        groups = {group.name: group for group in _decode_groups(await read(source, "/apis")).groups}
        for root in _list_roots(groups.get(custom.group), version):
            listed = _decode_resources(await read(source, root)).resources
            names = (found.name for found in listed if found.kind == custom.kind)
            plural = next((name for name in names if "/" not in name), None)  # no subresource
            if plural is not None:
                return ResourcePath(root, plural)
    except DECODE_ERRORS:
        raise protocol_error(source.name, "answered with no list of kinds") from None
    return None


def _list_roots(group: _Group | None, first: str) -> list[str]:
    """List the request paths of the versions of a group: one version, then the preferred one."""
    if group is None:
        return []
    versions = (group.preferred_version, *group.versions)
    roots = dict.fromkeys(f"/apis/{version.group_version}" for version in versions)
    return sorted(roots, key=lambda root: not root.endswith(f"/{first}"))  # stable


async def find_custom_kinds(
    source: ApiClient, kinds: Collection[GroupKind], problems: list[SourceError]
) -> list[KindRow]:
    """
    Find the request paths of custom kinds; leave out kinds that the API server does not have.

    Args:
        kinds: The kinds of the configuration, built-in ones included.
        problems: Receives the errors of kinds that cannot be looked up.
    """
    found: list[KindRow] = []
    for kind in sorted(set(kinds) - BUILT_IN_KINDS.keys()):
        version = POLICY_VERSION if kind.group == SPREAD_POLICY.group else ""
        try:
            place = await locate_custom(source, kind, version)
        except ApiError as error:
            problems.append(error)
            continue
        if place is not None:
            version = place.root.rpartition("/")[2]
            found.append(KindRow(kind.group, version, kind.kind, place.plural))
    return found

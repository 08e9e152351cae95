"""
Objects of a cluster behind an API server, for commands that explain pods: ``LiveCluster``.

Each method reads when it is called. Nothing is watched, and only facts are kept.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING

import msgspec

from webhook.cli.inputs.manifestcluster import Json, Model
from webhook.cli.inputs.policyexceptions import read_exceptions
from webhook.cluster.discovery import ResourcePath, locate_custom
from webhook.cluster.facts import Cluster
from webhook.cluster.lists import fill_once, list_objects, read_object
from webhook.cluster.protocol import FailureReason, WatchClient
from webhook.config.ownerselectors import OwnerSelector
from webhook.errors import ApiError
from webhook.policy.kinds import (
    BUILT_IN_KINDS,
    BUILT_IN_TEMPLATES,
    CONTROLLER_REVISION,
    NAMESPACE_KIND,
    POD,
)
from webhook.policy.model import GroupKind
from webhook.policy.nesting import decode_nested
from webhook.policy.paths import find_value
from webhook.policy.placement.census import ObservedPod

if TYPE_CHECKING:
    import asyncio

PLACES: Mapping[GroupKind, ResourcePath] = {
    kind: ResourcePath(BUILT_IN_KINDS[kind].root, BUILT_IN_KINDS[kind].plural)
    for kind in (*BUILT_IN_TEMPLATES, CONTROLLER_REVISION)
}
"""API path of each built-in kind with a pod template, and of that with its revisions."""


class LiveCluster:
    """A cluster behind an API server; facts of a namespace are read once."""

    def __init__(
        self,
        source: WatchClient,
        owners: Iterable[OwnerSelector],
        runner: "asyncio.Runner",
        *,
        everywhere: bool = False,
    ) -> None:
        """
        Store the connection; methods read through it, on the event loop of ``runner``.

        Args:
            everywhere: Whether the facts of all namespaces are read at once.
        """
        self._source, self._run = source, runner.run
        self._owners = tuple(owners)
        self._everywhere = everywhere
        self._clusters: dict[str, Cluster] = {}
        self._places: dict[GroupKind, ResourcePath | None] = dict(PLACES)

    def facts(self, namespace: str) -> Cluster:
        """Read nodes, and the Services, controllers and exceptions of a namespace."""
        inside = self.scope_of(namespace)
        known = self._clusters.get(inside)
        if known is None:
            known = self._clusters[inside] = Cluster(self._owners)
            self._run(fill_once(self._source, known, [inside]))
            self._run(read_exceptions(self._source, known, [inside]))
        return known

    def scope_of(self, namespace: str) -> str:
        """Return the namespace whose facts are read with those of a namespace; empty for all."""
        return "" if self._everywhere else namespace

    def pods(self, namespace: str) -> list[ObservedPod]:
        """Read the pods of a namespace."""
        return list(map(_read_pod, self._run(self._list(PLACES[POD], namespace))))

    def decode_objects(
        self, kind: GroupKind, model: type[Model], namespace: str = ""
    ) -> list[Model] | None:
        """Decode the objects of a kind; None if the user may not list them."""
        row = BUILT_IN_KINDS[kind]
        decode = partial(decode_nested, msgspec.json.Decoder(model).decode)
        try:
            return self._run(self._decode(ResourcePath(row.root, row.plural), namespace, decode))
        except ApiError as error:
            if error.reason is not FailureReason.FORBIDDEN and error.status != HTTPStatus.NOT_FOUND:
                raise
            return None

    def find(self, kind: GroupKind, namespace: str, name: str) -> Json | None:
        """Read an object."""
        found = self._run(self._read(kind, namespace, name))
        return None if found is None else _read_any(found)

    def list_objects_of(self, kind: GroupKind, namespace: str) -> list[Json]:
        """Read all objects of a kind in a namespace, or in all namespaces if it is empty."""
        return list(map(_read_any, self._run(self._list_kind(kind, namespace))))

    def namespaces(self) -> set[str]:
        """List the names of all namespaces; empty if the user may not list them."""
        row = BUILT_IN_KINDS[NAMESPACE_KIND]
        try:
            listed = self._run(self._list(ResourcePath(row.root, row.plural), ""))
        except ApiError as error:
            if error.reason is not FailureReason.FORBIDDEN:
                raise
            return set()
        return set(map(name_of, map(_read_any, listed)))

    async def _list(self, place: ResourcePath, namespace: str) -> list[bytes]:
        return [item async for item in list_objects(self._source, place, namespace)]

    async def _decode(
        self, place: ResourcePath, namespace: str, decode: Callable[[bytes], Model]
    ) -> list[Model]:
        return [decode(item) async for item in list_objects(self._source, place, namespace)]

    async def _list_kind(self, kind: GroupKind, namespace: str) -> list[bytes]:
        place = await self._locate(kind)
        return await self._list(place, namespace) if place else []

    async def _read(self, kind: GroupKind, namespace: str, name: str) -> bytes | None:
        place = await self._locate(kind)
        return place and await read_object(self._source, place, namespace, name)

    async def _locate(self, kind: GroupKind) -> ResourcePath | None:
        if kind not in self._places:
            self._places[kind] = await locate_custom(self._source, kind)
        return self._places[kind]


def name_of(value: Json) -> str:
    """Return the name of an object."""
    return str(find_value(value, ("metadata", "name")))


_read_pod = partial(decode_nested, msgspec.json.Decoder(ObservedPod).decode)
_read_any = partial(decode_nested, msgspec.json.decode)

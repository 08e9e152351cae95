"""
Cluster to explain pods in: read from manifests, from an API server, or from both.

Entry points: ``ManifestCluster`` and ``open_cluster``, with the same methods.
"""

import asyncio
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from webhook.cli.inputs import apiserver
from webhook.cli.inputs.apiserver import ServerOptions
from webhook.cli.inputs.manifests import Inputs
from webhook.cluster.discovery import ResourcePath, locate_custom
from webhook.cluster.facts import Cluster
from webhook.cluster.lists import fill_once, list_objects, read_object
from webhook.cluster.manifests import fill
from webhook.cluster.protocol import FailureReason, WatchClient
from webhook.config.models import OwnerSelector
from webhook.errors import ApiError
from webhook.manifests import Document, find_type_mismatch
from webhook.policy.kinds import (
    BUILT_IN_KINDS,
    BUILT_IN_TEMPLATES,
    CONTROLLER_REVISION,
    DEFAULT_NAMESPACE,
    NAMESPACE_KIND,
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    POD,
)
from webhook.policy.model import GroupKind, group_of
from webhook.policy.nesting import decode_nested
from webhook.policy.paths import find_value, format_path
from webhook.policy.placement.census import ObservedPod

Json: TypeAlias = dict[str, Any]

PLACES: Mapping[GroupKind, ResourcePath] = {
    kind: ResourcePath(BUILT_IN_KINDS[kind].root, BUILT_IN_KINDS[kind].plural)
    for kind in (
        *BUILT_IN_TEMPLATES,
        CONTROLLER_REVISION,
        PERSISTENT_VOLUME,
        PERSISTENT_VOLUME_CLAIM,
    )
}
"""API path of each built-in kind with a pod template, and of those with revisions and volumes."""


class ManifestCluster:
    """
    A cluster described by manifests.

    Attributes:
        documents: The objects.
        namespace: Namespace of objects that name none.
    """

    def __init__(
        self,
        documents: Iterable[Document],
        owners: Iterable[OwnerSelector],
        inputs: Inputs,
        namespace: str = DEFAULT_NAMESPACE,
    ) -> None:
        """
        Index the objects of manifests.

        Args:
            inputs: Receives type errors.
            namespace: Namespace of objects that name none.
        """
        self.documents = list(documents)
        self.namespace = namespace
        self._cluster = Cluster(owners)
        self._problems = inputs.problems
        self._problems += fill(self._cluster, self.documents, namespace=namespace)
        self._objects: dict[tuple[GroupKind, str], dict[str, Document]] = {}
        self._replaced: dict[tuple[GroupKind, str, str], Json] = {}
        for document in self.documents:
            kind = GroupKind(group_of(document.api_version), document.kind)
            objects = self._objects.setdefault((kind, document.namespace or namespace), {})
            name = document.name or f"{len(objects)}"
            if name in objects:
                self._replaced[kind, document.namespace or namespace, name] = objects[name].value
            objects[name] = document

    def _namespace_of(self, document: Document) -> str:
        """The namespace of an object, or that it is; empty for a kind that is in none."""
        kind = GroupKind(group_of(document.api_version), document.kind)
        if kind == NAMESPACE_KIND:
            return document.name
        row = BUILT_IN_KINDS.get(kind)
        return document.namespace or (self.namespace if row is None or row.namespaced else "")

    def facts(self, namespace: str) -> Cluster:
        """The facts of all namespaces."""
        del namespace
        return self._cluster

    def pods(self, namespace: str) -> list[ObservedPod]:
        """The pods of a namespace; pods with type errors are left out and reported."""
        found: list[ObservedPod] = []
        for document in self._objects.get((POD, namespace), {}).values():
            try:
                pod = msgspec.convert(document.value, ObservedPod)
            except msgspec.ValidationError as error:
                wrong = find_type_mismatch(error, document.value)
                message = f"Pod/{document.name}: {format_path(wrong.path)}: {wrong.problem}"
                self._problems.append(document.error(message, wrong.path))
            else:
                found.append(replace(pod, metadata=replace(pod.metadata, namespace=namespace)))
        return found

    def find(self, kind: GroupKind, namespace: str, name: str) -> Json | None:
        """The object; None if no manifest has it."""
        found = self._objects.get((kind, namespace), {}).get(name)
        return None if found is None else found.value

    def find_replaced(self, kind: GroupKind, namespace: str, name: str) -> Json | None:
        """The object of this name that a later manifest replaces; None if there is none."""
        return self._replaced.get((kind, namespace, name))

    def list_objects_of(self, kind: GroupKind, namespace: str) -> list[Json]:
        """List all objects of a kind in a namespace, or in all namespaces if it is empty."""
        return [
            document.value
            for (indexed, inside), documents in self._objects.items()
            if indexed == kind and namespace in ("", inside)
            for document in documents.values()
        ]

    def namespaces(self) -> set[str]:
        """The namespaces that exist: Namespaces, and those of objects."""
        return {name for document in self.documents if (name := self._namespace_of(document))}

    def namespaces_of(self, kind: GroupKind, name: str) -> list[str]:
        """The namespaces that have an object of this name, sorted."""
        return sorted(
            namespace
            for (indexed, namespace), documents in self._objects.items()
            if indexed == kind and name in documents
        )


class LiveCluster:
    """A cluster behind an API server; facts of a namespace are read once."""

    def __init__(
        self, source: WatchClient, owners: Iterable[OwnerSelector], runner: asyncio.Runner
    ) -> None:
        """Store the connection; methods read through it, on the event loop of ``runner``."""
        self._source, self._run = source, runner.run
        self._owners = tuple(owners)
        self._clusters: dict[str, Cluster] = {}

    def facts(self, namespace: str) -> Cluster:
        """Read nodes, and the Services and controllers of a namespace."""
        known = self._clusters.get(namespace)
        if known is None:
            known = self._clusters[namespace] = Cluster(self._owners)
            self._run(fill_once(self._source, known, [namespace]))
        return known

    def pods(self, namespace: str) -> list[ObservedPod]:
        """Read the pods of a namespace."""
        return list(map(_read_pod, self._run(self._list(PLACES[POD], namespace))))

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
        return set(map(_name_of, map(_read_any, listed)))

    async def _list(self, place: ResourcePath, namespace: str) -> list[bytes]:
        return [item async for item in list_objects(self._source, place, namespace)]

    async def _list_kind(self, kind: GroupKind, namespace: str) -> list[bytes]:
        place = await self._locate(kind)
        return await self._list(place, namespace) if place else []

    async def _read(self, kind: GroupKind, namespace: str, name: str) -> bytes | None:
        place = await self._locate(kind)
        return place and await read_object(self._source, place, namespace, name)

    async def _locate(self, kind: GroupKind) -> ResourcePath | None:
        return PLACES.get(kind) or await locate_custom(self._source, kind)


class LayeredCluster:
    """A live cluster and manifests, whose objects replace those of the same names."""

    def __init__(self, manifests: ManifestCluster, live: LiveCluster) -> None:
        """Store both; the live cluster is read on demand."""
        self._manifests, self._live = manifests, live
        self._complete: set[str] = set()

    def facts(self, namespace: str) -> Cluster:
        """Read the facts of a namespace, and put those of the manifests over them."""
        cluster = self._live.facts(namespace)
        if namespace not in self._complete:
            self._complete.add(namespace)
            fill(cluster, self._manifests.documents, namespace=self._manifests.namespace)
        return cluster

    def pods(self, namespace: str) -> list[ObservedPod]:
        """The pods of a namespace."""
        own = self._manifests.pods(namespace)
        names = {pod.metadata.name for pod in own}
        return [*own, *(p for p in self._live.pods(namespace) if p.metadata.name not in names)]

    def find(self, kind: GroupKind, namespace: str, name: str) -> Json | None:
        """The object; None if it does not exist."""
        found = self._manifests.find(kind, namespace, name)
        return self._live.find(kind, namespace, name) if found is None else found

    def find_replaced(self, kind: GroupKind, namespace: str, name: str) -> Json | None:
        """The object of this name that a manifest replaces; None if there is none."""
        found = self._manifests.find_replaced(kind, namespace, name)
        if found is not None or self._manifests.find(kind, namespace, name) is None:
            return found
        return self._live.find(kind, namespace, name)

    def list_objects_of(self, kind: GroupKind, namespace: str) -> list[Json]:
        """List all objects of a kind in a namespace, or in all namespaces if it is empty."""
        own = self._manifests.list_objects_of(kind, namespace)
        known = {(self._namespace_of(value), _name_of(value)) for value in own}
        others = (
            value
            for value in self._live.list_objects_of(kind, namespace)
            if (self._namespace_of(value), _name_of(value)) not in known
        )
        return [*own, *others]

    def _namespace_of(self, value: Json) -> str:
        return str(find_value(value, ("metadata", "namespace")) or self._manifests.namespace)

    def namespaces(self) -> set[str]:
        """The namespaces that exist; empty if the user may not list them."""
        live = self._live.namespaces()
        return live and live | self._manifests.namespaces()

    def namespaces_of(self, kind: GroupKind, name: str) -> list[str]:
        """
        The namespaces in which the manifests have an object of this name, sorted.

        A user who may read one namespace of a live cluster usually may not read the others.
        """
        return self._manifests.namespaces_of(kind, name)


@contextmanager
def open_cluster(
    server: ServerOptions | None, manifests: ManifestCluster, owners: Iterable[OwnerSelector]
) -> Generator[ManifestCluster | LayeredCluster]:
    """
    Open the union of manifests and a live cluster for the duration of a context.

    Args:
        server: The live cluster; None for manifests alone. The first request connects.
    """
    if server is None:
        yield manifests
        return
    with asyncio.Runner() as runner:
        api = apiserver.client(server)
        try:
            yield LayeredCluster(manifests, LiveCluster(api, owners, runner))
        finally:
            runner.run(api.__aexit__())


ClusterReader: TypeAlias = ManifestCluster | LayeredCluster
"""Objects of a cluster at one moment."""


def _name_of(value: Json) -> str:
    return str(find_value(value, ("metadata", "name")))


_read_pod = partial(decode_nested, msgspec.json.Decoder(ObservedPod).decode)
_read_any = partial(decode_nested, msgspec.json.decode)

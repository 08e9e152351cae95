"""
Cluster to explain pods in: read from manifests, or from an API server.

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
from webhook.cli.inputs.manifests import Inputs
from webhook.cluster.discovery import ResourcePath, locate_custom
from webhook.cluster.facts import Cluster
from webhook.cluster.lists import fill_once, list_objects, read_object
from webhook.cluster.manifests import DEFAULT_NAMESPACE, fill
from webhook.cluster.protocol import WatchClient
from webhook.config import OwnerSelector
from webhook.manifests import Document, find_type_mismatch
from webhook.policy.kinds import BUILT_IN_KINDS, BUILT_IN_TEMPLATES, POD
from webhook.policy.model import GroupKind, group_of
from webhook.policy.nesting import decode_nested
from webhook.policy.paths import format_path
from webhook.policy.placement.census import ObservedPod

Json: TypeAlias = dict[str, Any]

PLACES: Mapping[GroupKind, ResourcePath] = {
    kind: ResourcePath(BUILT_IN_KINDS[kind].root, BUILT_IN_KINDS[kind].plural)
    for kind in BUILT_IN_TEMPLATES
}
"""API path of each built-in kind with a pod template."""


class ManifestCluster:
    """A cluster described by manifests."""

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
        documents = list(documents)
        self._cluster = Cluster(owners)
        self._problems = inputs.problems
        self._problems += fill(self._cluster, documents, namespace=namespace)
        self._objects: dict[tuple[GroupKind, str], dict[str, Document]] = {}
        for document in documents:
            kind = GroupKind(group_of(document.api_version), document.kind)
            objects = self._objects.setdefault((kind, document.namespace or namespace), {})
            objects[document.name or f"{len(objects)}"] = document

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

    def all_of(self, kind: GroupKind, namespace: str) -> list[Json]:
        """All objects of a kind in a namespace."""
        return [document.value for document in self._objects.get((kind, namespace), {}).values()]

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
            self._run(fill_once(self._source, known, namespace))
        return known

    def pods(self, namespace: str) -> list[ObservedPod]:
        """Read the pods of a namespace."""
        return list(map(_read_pod, self._run(self._list(PLACES[POD], namespace))))

    def find(self, kind: GroupKind, namespace: str, name: str) -> Json | None:
        """Read an object."""
        found = self._run(self._read(kind, namespace, name))
        return None if found is None else _read_any(found)

    def all_of(self, kind: GroupKind, namespace: str) -> list[Json]:
        """Read all objects of a kind in a namespace."""
        return list(map(_read_any, self._run(self._list(PLACES[kind], namespace))))

    def namespaces_of(self, kind: GroupKind, name: str) -> list[str]:
        """Return nothing: a user who may read one namespace usually may not read the others."""
        del kind, name
        return []

    async def _list(self, place: ResourcePath, namespace: str) -> list[bytes]:
        return [item async for item in list_objects(self._source, place, namespace)]

    async def _read(self, kind: GroupKind, namespace: str, name: str) -> bytes | None:
        place = PLACES.get(kind) or await locate_custom(self._source, kind)
        return place and await read_object(self._source, place, namespace, name)


@contextmanager
def open_cluster(
    kubeconfig: str, context: str, owners: Iterable[OwnerSelector]
) -> Generator[LiveCluster]:
    """Open a cluster for the duration of a context; the first request connects."""
    with asyncio.Runner() as runner:
        api = apiserver.client(kubeconfig, context)
        try:
            yield LiveCluster(api, owners, runner)
        finally:
            runner.run(api.__aexit__())


ClusterReader: TypeAlias = ManifestCluster | LiveCluster
"""Objects of a cluster at one moment."""

_read_pod = partial(decode_nested, msgspec.json.Decoder(ObservedPod).decode)
_read_any = partial(decode_nested, msgspec.json.decode)

"""The cluster that a question is about: of files, or of an API server, asked in the same way."""

import asyncio
from collections.abc import Coroutine, Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import Any, Protocol, TypeAlias, TypeVar

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
from webhook.manifests import Document, mistype
from webhook.policy.kinds import BUILT_IN_KINDS, BUILT_IN_TEMPLATES, POD
from webhook.policy.model import GroupKind, group_of
from webhook.policy.paths import format_path
from webhook.policy.placement.census import ObservedPod

Json: TypeAlias = dict[str, Any]

T = TypeVar("T")


class Run(Protocol):
    """Runs what has to wait, and gives what comes of it."""

    def __call__(self, waiting: Coroutine[Any, Any, T], /) -> T:
        """Run it to its end."""
        ...


PLACES: Mapping[GroupKind, ResourcePath] = {
    kind: ResourcePath(BUILT_IN_KINDS[kind].root, BUILT_IN_KINDS[kind].plural)
    for kind in BUILT_IN_TEMPLATES
}
"""Where an API server has the built-in kinds with a pod template."""


class Surroundings(Protocol):
    """A cluster at one moment."""

    def facts(self, namespace: str) -> Cluster:
        """Nodes, and what else counts for the pods of a namespace."""
        ...

    def pods(self, namespace: str) -> list[ObservedPod]:
        """All pods of a namespace."""
        ...

    def find(self, kind: GroupKind, namespace: str, name: str) -> Json | None:
        """An object; None if there is none of that name."""
        ...

    def all_of(self, kind: GroupKind, namespace: str) -> list[Json]:
        """All objects of a built-in kind in a namespace."""
        ...

    def namespaces_of(self, kind: GroupKind, name: str) -> list[str]:
        """Namespaces that have an object of this name, as far as that is known by now; sorted."""
        ...


class Files:
    """A cluster of files."""

    def __init__(
        self,
        documents: Iterable[Document],
        owners: Iterable[OwnerSelector],
        inputs: Inputs,
        namespace: str = DEFAULT_NAMESPACE,
    ) -> None:
        """
        Take the objects that were read.

        Args:
            owners: Custom kinds whose selectors are asked for.
            inputs: Gets to know what is of wrong types.
            namespace: Of objects that name none.
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
        """Give all facts of all namespaces."""
        del namespace
        return self._cluster

    def pods(self, namespace: str) -> list[ObservedPod]:
        """Give the pods of a namespace; those of wrong types are left out and told."""
        found: list[ObservedPod] = []
        for document in self._objects.get((POD, namespace), {}).values():
            try:
                pod = msgspec.convert(document.value, ObservedPod)
            except msgspec.ValidationError as error:
                wrong = mistype(error, document.value)
                said = f"Pod/{document.name}: {format_path(wrong.path)}: {wrong.problem}"
                self._problems.append(document.error(said, wrong.path))
            else:
                found.append(replace(pod, metadata=replace(pod.metadata, namespace=namespace)))
        return found

    def find(self, kind: GroupKind, namespace: str, name: str) -> Json | None:
        """Look an object up."""
        found = self._objects.get((kind, namespace), {}).get(name)
        return None if found is None else found.value

    def all_of(self, kind: GroupKind, namespace: str) -> list[Json]:
        """Give all objects of a kind in a namespace."""
        return [each.value for each in self._objects.get((kind, namespace), {}).values()]

    def namespaces_of(self, kind: GroupKind, name: str) -> list[str]:
        """Give the namespaces that have an object of this name."""
        return sorted(
            inside
            for (found, inside), held in self._objects.items()
            if found == kind and name in held
        )


class Live:
    """A cluster that an API server tells of; what was read once is not read again."""

    def __init__(self, source: WatchClient, owners: Iterable[OwnerSelector], run: Run) -> None:
        """
        Read nothing yet.

        Args:
            owners: Custom kinds whose selectors are asked for.
            run: Runs what has to wait, on one event loop.
        """
        self._source = source
        self._owners = tuple(owners)
        self._run = run
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
        return list(map(_decode_pod, self._run(self._listed(PLACES[POD], namespace))))

    def find(self, kind: GroupKind, namespace: str, name: str) -> Json | None:
        """Read an object."""
        found = self._run(self._read(kind, namespace, name))
        return None if found is None else msgspec.json.decode(found)

    def all_of(self, kind: GroupKind, namespace: str) -> list[Json]:
        """Read all objects of a kind in a namespace."""
        return list(map(msgspec.json.decode, self._run(self._listed(PLACES[kind], namespace))))

    def namespaces_of(self, kind: GroupKind, name: str) -> list[str]:
        """Give none: whoever may read one namespace may not read the others as a rule."""
        del kind, name
        return []

    async def _listed(self, place: ResourcePath, namespace: str) -> list[bytes]:
        return [each async for each in list_objects(self._source, place, namespace)]

    async def _read(self, kind: GroupKind, namespace: str, name: str) -> bytes | None:
        place = PLACES.get(kind)
        if place is None:
            place = await locate_custom(self._source, kind)
        return place and await read_object(self._source, place, namespace, name)


@contextmanager
def live(kubeconfig: str, context: str, owners: Iterable[OwnerSelector]) -> Generator[Live]:
    """
    Reach a cluster as long as the context lasts; the first question connects.

    Args:
        kubeconfig: File; empty: as kubectl finds it.
        context: Of the kubeconfig; empty: its current one.
    """
    with asyncio.Runner() as runner:
        api = apiserver.client(kubeconfig, context)
        try:
            yield Live(api, owners, runner.run)
        finally:
            runner.run(api.__aexit__())


_decode_pod = msgspec.json.Decoder(ObservedPod).decode

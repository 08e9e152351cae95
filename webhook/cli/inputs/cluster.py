"""
Cluster to explain pods in: read from manifests, from an API server, or from both.

Entry point: ``open_cluster``. Without an API server it is a ``ManifestCluster``, which has the same
methods.
"""

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Protocol

from webhook.cli.inputs import apiserver
from webhook.cli.inputs.apiserver import ServerOptions
from webhook.cli.inputs.livecluster import LiveCluster, name_of
from webhook.cli.inputs.manifestcluster import Json, ManifestCluster, Model, NamedManifest
from webhook.cluster.facts import Cluster
from webhook.cluster.manifests import fill
from webhook.config.ownerselectors import OwnerSelector
from webhook.policy.kinds import BUILT_IN_KINDS
from webhook.policy.model import GroupKind
from webhook.policy.paths import find_value
from webhook.policy.placement.census import ObservedPod


class ClusterReader(Protocol):
    """
    Objects of a cluster at one moment; an API server is read on demand.

    Its methods are those of ``LayeredCluster``.
    """

    @property
    def is_complete(self) -> bool:
        """Whether there are no objects of a kind if none is found."""
        ...

    def facts(self, namespace: str) -> Cluster:
        """Read what decides about the constraints of the pods of a namespace."""
        ...

    def pods(self, namespace: str) -> list[ObservedPod]:
        """Read the pods of a namespace."""
        ...

    def decode_objects(
        self, kind: GroupKind, model: type[Model], namespace: str = ""
    ) -> list[Model] | None:
        """Decode the objects of a kind; None if the user may not list them."""
        ...

    def find(self, kind: GroupKind, namespace: str, name: str) -> Json | None:
        """Read an object."""
        ...

    def find_replaced(self, kind: GroupKind, namespace: str, name: str) -> Json | None:
        """Read the object of this name that a manifest replaces; None if there is none."""
        ...

    def list_objects_of(self, kind: GroupKind, namespace: str) -> list[Json]:
        """Read all objects of a kind in a namespace, or in all namespaces if it is empty."""
        ...

    def namespaces(self) -> set[str]:
        """List the names of all namespaces; empty if the user may not list them."""
        ...

    def namespaces_of(self, kind: GroupKind, name: str) -> list[str]:
        """List the namespaces in which manifests have an object of this name, sorted."""
        ...


class LayeredCluster:
    """
    A live cluster and manifests, whose objects replace those of the same names.

    ``is_complete`` as for manifests.
    """

    is_complete = True

    def __init__(self, manifests: ManifestCluster, live: LiveCluster) -> None:
        """Store both; the live cluster is read on demand."""
        self._manifests, self._live = manifests, live
        self._complete: set[str] = set()

    def facts(self, namespace: str) -> Cluster:
        """Read the facts of a namespace, and put those of the manifests over them."""
        cluster = self._live.facts(namespace)
        scope = self._live.scope_of(namespace)
        if scope not in self._complete:
            self._complete.add(scope)
            fill(cluster, self._manifests.documents, namespace=self._manifests.namespace)
        return cluster

    def pods(self, namespace: str) -> list[ObservedPod]:
        """The pods of a namespace."""
        own = self._manifests.pods(namespace)
        names = {pod.metadata.name for pod in own}
        return [*own, *(p for p in self._live.pods(namespace) if p.metadata.name not in names)]

    def decode_objects(
        self, kind: GroupKind, model: type[Model], namespace: str = ""
    ) -> list[Model] | None:
        """Decode the objects of a kind; None if the user may not list those of the live cluster."""
        live = self._live.decode_objects(kind, model, namespace)
        if live is None:
            return None
        own = self._manifests.decode_objects(kind, model, namespace)
        known = {_identify(kind, one) for one in own}
        return [*own, *(one for one in live if _identify(kind, one) not in known)]

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
        known = {(self._namespace_of(value), name_of(value)) for value in own}
        others = (
            value
            for value in self._live.list_objects_of(kind, namespace)
            if (self._namespace_of(value), name_of(value)) not in known
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
    server: ServerOptions | None,
    manifests: ManifestCluster,
    owners: Iterable[OwnerSelector],
    *,
    everywhere: bool = False,
) -> Generator[ManifestCluster | LayeredCluster]:
    """
    Open the union of manifests and a live cluster for the duration of a context.

    Args:
        server: The live cluster; None for manifests alone. The first request connects.
        everywhere: As in ``LiveCluster``.
    """
    if server is None:
        yield manifests
        return
    import asyncio  # noqa: PLC0415  # it takes 20 ms, which manifests alone do not need

    with asyncio.Runner() as runner:
        api = apiserver.client(server)
        try:
            yield LayeredCluster(manifests, LiveCluster(api, owners, runner, everywhere=everywhere))
        finally:
            runner.run(api.__aexit__())


def _identify(kind: GroupKind, found: NamedManifest) -> tuple[str, str]:
    """Return the namespace and the name of an object; a cluster-scoped one has no namespace."""
    metadata, is_inside = found.metadata, BUILT_IN_KINDS[kind].namespaced
    name = "" if metadata is None else metadata.name or ""
    return "" if metadata is None or not is_inside else metadata.namespace or "", name

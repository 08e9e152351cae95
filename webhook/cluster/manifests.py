"""Load a ``Cluster`` from manifest files with ``load_cluster``; must not use the network."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO, TypeVar

import msgspec

from webhook.cluster import wire
from webhook.cluster.facts import (
    REPLICA_SET_V1,
    REPLICATION_CONTROLLER_V1,
    STATEFUL_SET_V1,
    Cluster,
    VersionKind,
)
from webhook.cluster.store import Store, StoredObject
from webhook.config.kinds import SHIPPED_OWNERS, OwnerSelector
from webhook.errors import ManifestError, SourceError
from webhook.manifests import Document, SkippedSource, find_type_mismatch, is_object, read_documents
from webhook.policy.model import GroupKind, group_of
from webhook.policy.paths import TemplatePath, find_value, format_path

DEFAULT_NAMESPACE = "default"
"""Namespace of objects that name none, as in kubectl."""

StoredT = TypeVar("StoredT", bound=StoredObject)

_Put = Callable[[dict[str, Any]], None]

_NAME_LABEL = "kubernetes.io/metadata.name"  # kube-apiserver labels every Namespace with its name


class LoadedCluster(msgspec.Struct, frozen=True):
    """
    A cluster from files, with the problems and the skipped files.

    Attributes:
        problems: Read errors and type errors; the cluster lacks these objects.
        skipped: Files without manifests.
    """

    cluster: Cluster
    problems: list[SourceError]
    skipped: list[SkippedSource]


def load_cluster(
    paths: Iterable[str],
    *,
    owners: Iterable[OwnerSelector] = SHIPPED_OWNERS,
    namespace: str = DEFAULT_NAMESPACE,
    strict: bool = False,
    stdin: BinaryIO | None = None,
) -> LoadedCluster:
    """
    Read a cluster from files and folders.

    Args:
        paths: As for ``read_documents``; ``-`` is the standard input.
        owners: Custom kinds whose selectors to load.
        namespace: Namespace of objects that name none.
        strict: Whether files without manifests are problems.
        stdin: Replaces the standard input of the process.
    """
    cluster = Cluster(owners)
    filler = _Filler(cluster, namespace)
    problems: list[SourceError] = []
    skipped: list[SkippedSource] = []
    for item in read_documents(paths, strict=strict, stdin=stdin):
        match item:
            case Document():
                problems += filler.put(item)
            case SkippedSource():
                skipped.append(item)
            case SourceError():
                problems.append(item)
    return LoadedCluster(cluster, problems, skipped)


def fill(
    cluster: Cluster, documents: Iterable[Document], *, namespace: str = DEFAULT_NAMESPACE
) -> list[ManifestError]:
    """
    Put objects into a cluster; ignore kinds that have no effect on spreading.

    Args:
        documents: Objects; of two with the same name, the later one replaces the other.
        namespace: Namespace of objects that name none.

    Returns:
        Type errors and missing names; the cluster lacks these objects.
    """
    filler = _Filler(cluster, namespace)
    return [problem for document in documents for problem in filler.put(document)]


class _Filler:
    """Decoder that puts manifest objects into the stores of a cluster."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self._namespace = namespace
        owners = cluster.owner_stores
        self._puts: dict[VersionKind, _Put] = {
            ("v1", "Namespace"): _putting(wire.NamespaceObject, cluster.namespace_store),
            ("v1", "Node"): _putting(wire.NodeObject, cluster.node_store),
            ("v1", "Service"): _putting(wire.ServiceObject, cluster.service_store),
            REPLICATION_CONTROLLER_V1: _putting(
                wire.ReplicationControllerObject, owners[REPLICATION_CONTROLLER_V1]
            ),
            REPLICA_SET_V1: _putting(wire.ControllerObject, owners[REPLICA_SET_V1]),
            STATEFUL_SET_V1: _putting(wire.ControllerObject, owners[STATEFUL_SET_V1]),
        }
        self._custom_puts: dict[GroupKind, _Put] = {
            kind: _putting_custom(path, cluster.custom_stores[kind])
            for kind, path in cluster.custom_paths.items()
        }

    def put(self, document: Document) -> Iterator[ManifestError]:
        """Put an object into the store of its kind, if there is one; yield its errors."""
        version, kind = document.api_version, document.kind
        put = self._puts.get((version, kind))
        if put is None:
            put = self._custom_puts.get(GroupKind(group_of(version), kind))
        if put is None:
            return
        try:
            value = self._complete(document)
            if document.name:
                put(value)
            else:
                yield document.error(f"{kind}: metadata.name: missing, write one", ("metadata",))
        except msgspec.ValidationError as error:
            yield _problem(document, error)

    def _complete(self, document: Document) -> dict[str, Any]:
        """Add the namespace and the name label that kubectl and kube-apiserver would add."""
        value: dict[str, Any] = document.value
        metadata: Any = value.get("metadata")
        if not is_object(metadata):
            return value
        if document.kind == "Namespace":
            labels: Any = metadata.get("labels")
            if labels is None or is_object(labels):
                labels = {**(labels or {}), _NAME_LABEL: document.name}
            return {**value, "metadata": {**metadata, "labels": labels}}
        if not metadata.get("namespace"):
            return {**value, "metadata": {**metadata, "namespace": self._namespace}}
        return value


def _putting(kind: type[StoredT], store: Store[StoredT]) -> _Put:
    def put(value: dict[str, Any]) -> None:
        store.put(msgspec.convert(value, kind))

    return put


def _putting_custom(path: TemplatePath, store: Store[wire.CustomControllerObject]) -> _Put:
    def put(value: dict[str, Any]) -> None:
        selector = find_value(value, path)
        custom = {"metadata": value.get("metadata"), "selector": selector}
        try:
            store.put(msgspec.convert(custom, wire.CustomControllerObject))
        except msgspec.ValidationError as error:
            shown = str(error).replace("$.selector", f"$.{format_path(path)}")
            raise msgspec.ValidationError(shown) from error

    return put


def _problem(document: Document, error: msgspec.ValidationError) -> ManifestError:
    problem, path = find_type_mismatch(error, document.value)
    return document.error(f"{document.kind}/{document.name}: {format_path(path)}: {problem}", path)

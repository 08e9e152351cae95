"""Load a ``Cluster`` from manifest files with ``load_cluster``; must not use the network."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO

import msgspec

from webhook.cluster.discovery import list_resources
from webhook.cluster.facts import Cluster
from webhook.config.models import SHIPPED_OWNERS, OwnerSelector
from webhook.errors import ManifestError, SourceError
from webhook.manifests import Document, SkippedSource, find_type_mismatch, read_documents
from webhook.policy.model import GroupKind, group_of
from webhook.policy.paths import format_path, is_object

DEFAULT_NAMESPACE = "default"
"""Namespace of objects that name none, as in kubectl."""

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
    put = _object_writer(cluster, namespace)
    problems: list[SourceError] = []
    skipped: list[SkippedSource] = []
    for item in read_documents(paths, strict=strict, stdin=stdin):
        match item:
            case Document():
                problems += put(item)
            case SkippedSource():
                skipped.append(item)
            case _:
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
    put = _object_writer(cluster, namespace)
    return [problem for document in documents for problem in put(document)]


def complete_metadata(document: Document, namespace: str) -> dict[str, Any]:
    """Add the namespace and the name label that kubectl and kube-apiserver would add."""
    value: dict[str, Any] = document.value
    metadata: Any = {} if value.get("metadata") is None else value["metadata"]
    if not is_object(metadata):
        return value
    if document.kind == "Namespace":
        labels: Any = metadata.get("labels")
        if labels is None or is_object(labels):
            labels = {**(labels or {}), _NAME_LABEL: document.name}
        return {**value, "metadata": {**metadata, "labels": labels}}
    return {**value, "metadata": {**metadata, "namespace": metadata.get("namespace") or namespace}}


def _object_writer(
    cluster: Cluster, namespace: str
) -> Callable[[Document], Iterator[ManifestError]]:
    """Return a function that puts an object into the store of its kind and yields its errors."""
    resources = {resource.key: resource for resource in list_resources(cluster)}

    def put(document: Document) -> Iterator[ManifestError]:
        version, kind = document.api_version, document.kind
        custom = resources.get(GroupKind(group_of(version), kind))
        resource = resources.get((version, kind), custom)
        if resource is None:
            return
        if not document.name:
            yield document.error(f"{kind}: metadata.name: missing, write one", ("metadata",))
            return
        try:
            data = msgspec.json.encode(complete_metadata(document, namespace))
            resource.store.put(resource.read(data))
        except msgspec.ValidationError as error:
            yield _describe_type_error(document, error)

    return put


def _describe_type_error(document: Document, error: msgspec.ValidationError) -> ManifestError:
    problem, path = find_type_mismatch(error, document.value)
    return document.error(f"{document.kind}/{document.name}: {format_path(path)}: {problem}", path)

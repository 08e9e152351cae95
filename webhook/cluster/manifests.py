"""Load a ``Cluster`` from manifest files with ``load_cluster``; must not use the network."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, BinaryIO, TypeAlias

import msgspec

from webhook.cluster.discovery import Resource, describe_exceptions, list_resources
from webhook.cluster.facts import Cluster, VersionKind
from webhook.cluster.policyexceptions import (
    POLICY_EXCEPTION,
    Clock,
    end_of_time,
    find_unknown_keys,
)
from webhook.config.ownerselectors import SHIPPED_OWNERS, OwnerSelector
from webhook.errors import ManifestError, SourceError
from webhook.manifests import Document, find_type_mismatch, read_documents
from webhook.policy.kinds import DEFAULT_NAMESPACE
from webhook.policy.model import NAME_LABEL, GroupKind, group_of
from webhook.policy.paths import FieldPath, format_path, is_object

Resources: TypeAlias = Mapping[VersionKind | GroupKind, Resource]
"""The kinds of a cluster by their key."""


class LoadedCluster(msgspec.Struct, frozen=True):
    """A cluster from files; it lacks the objects of ``problems``: read errors and type errors."""

    cluster: Cluster
    problems: list[SourceError]


def load_cluster(
    paths: Iterable[str],
    *,
    owners: Iterable[OwnerSelector] = SHIPPED_OWNERS,
    stdin: BinaryIO | None = None,
    pod_clock: Callable[[], float] | None = None,
    now: Clock = end_of_time,
) -> LoadedCluster:
    """
    Read a cluster from files and folders; files without manifests are skipped.

    Args:
        paths: As for ``read_documents``; ``-`` is the standard input.
        owners: Custom kinds whose selectors to load.
        stdin: Replaces the standard input of the process.
        pod_clock: Clock of the ranks of pods; None loads no pods.
        now: The time by which exceptions expire; aware.
    """
    cluster = Cluster(owners, pod_clock=pod_clock)
    cluster.exception_store.clock = now
    resources = _index_resources(cluster)
    problems: list[SourceError] = []
    for item in read_documents(paths, stdin=stdin):
        if isinstance(item, Document):
            problems += _put(item, resources, DEFAULT_NAMESPACE)
        elif isinstance(item, SourceError):
            problems.append(item)
    return LoadedCluster(cluster, problems)


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
    resources = _index_resources(cluster)
    return [error for document in documents for error in _put(document, resources, namespace)]


def complete_metadata(document: Document, namespace: str) -> dict[str, Any]:
    """Add the namespace and the name label that kubectl and kube-apiserver would add."""
    value: dict[str, Any] = document.value
    metadata: Any = {} if value.get("metadata") is None else value["metadata"]
    if not is_object(metadata):
        return value
    if document.kind == "Namespace":
        labels: Any = metadata.get("labels")
        if labels is None or is_object(labels):
            labels = {**(labels or {}), NAME_LABEL: document.name}
        return {**value, "metadata": {**metadata, "labels": labels}}
    return {**value, "metadata": {**metadata, "namespace": metadata.get("namespace") or namespace}}


def _index_resources(cluster: Cluster) -> Resources:
    exceptions = describe_exceptions(cluster.exception_store)
    return {resource.key: resource for resource in (*list_resources(cluster), exceptions)}


def _put(document: Document, resources: Resources, namespace: str) -> Iterator[ManifestError]:
    """Put an object into the store of its kind, and yield its error if it has one."""
    version, kind = document.api_version, document.kind
    custom = resources.get(GroupKind(group_of(version), kind))
    resource = resources.get((version, kind), custom)
    if resource is None:
        return
    if not document.name:
        yield document.error(f"{kind}: metadata.name: missing, write one", ("metadata",))
        return
    unknown = find_unknown_fields(document)
    if unknown:
        yield from unknown
        return
    try:
        data = msgspec.json.encode(complete_metadata(document, namespace))
        resource.store.put(resource.read(data))
    except msgspec.ValidationError as error:
        problem, path = find_type_mismatch(error, document.value)
        yield _refuse(document, problem, path)


def find_unknown_fields(document: Document) -> list[ManifestError]:
    """Find the unknown fields of a SpreadPolicyException; none for objects of other kinds."""
    if document.group_kind != POLICY_EXCEPTION:
        return []
    return [_refuse(document, *found) for found in find_unknown_keys(document.value)]


def _refuse(document: Document, problem: str, path: FieldPath) -> ManifestError:
    subject = f"{document.kind}/{document.name}"
    return document.error(f"{subject}: {format_path(path)}: {problem}", path)

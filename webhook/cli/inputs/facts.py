"""
Facts about the cluster: the sources that options name, and the facts that verdicts need.

``FactsSources`` holds the sources, ``read_facts`` unites them. One rule holds for all commands:
facts are the union of all named sources, and an object that stands in several is taken from ``-f``,
then from ``--facts``, then from the live cluster.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from webhook.audit.restore import list_objects
from webhook.audit.snapshot import is_snapshot, load_snapshot
from webhook.cli.clock import current_time
from webhook.cli.inputs import apiserver
from webhook.cli.inputs.apiserver import ServerOptions
from webhook.cli.inputs.combining import combine_options
from webhook.cli.inputs.manifests import Inputs
from webhook.cli.inputs.policyexceptions import read_exceptions
from webhook.cluster.facts import Cluster
from webhook.cluster.lists import fill_once
from webhook.cluster.manifests import fill
from webhook.cluster.protocol import ApiClient
from webhook.config.ownerselectors import OwnerSelector
from webhook.config.project import Project
from webhook.manifests import Document
from webhook.manifests.positions import DocumentText
from webhook.policy.kinds import DEFAULT_NAMESPACE
from webhook.policy.paths import find_value

FACTS_BY_DEFAULT: Mapping[str, str] = {
    "audit": "the current context, all namespaces",
    "explain": "the current context, and its namespace",
    "review": "the files of `-f`",
    "fix": "the files of `-f`",
    "config check": "the files of `-f`",
    "policy diff": "the current context, all namespaces",
    "scaledown": "the current context, all namespaces",
    "rebalance": "the current context, all namespaces",
    "export": "none",
}
"""Command -> the facts that it uses if no source is named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactsSources:
    """
    The sources of facts besides the files of ``-f``.

    Attributes:
        paths: Manifests, dumps and snapshots, the values of ``--facts``.
        live: The live cluster; None if no option names it.
    """

    paths: tuple[str, ...] = ()
    live: ServerOptions | None = None

    @classmethod
    def take(cls, values: dict[str, Any]) -> "FactsSources":
        """Take the values of ``options.FACTS_SOURCES`` out of those of a command."""
        paths, is_live = values.pop("facts"), values.pop("live")
        server = ServerOptions.take(values)
        return cls(paths=paths, live=server if is_live or server.is_named else None)

    def or_current_context(self, filenames: Sequence[str]) -> "FactsSources":
        """Return the live cluster of the current context if nothing is named, not even ``-f``."""
        if filenames or self.paths or self.live:
            return self
        return replace(self, live=ServerOptions())


def drop_project_files(
    project: Project | None, filenames: tuple[str, ...], sources: FactsSources
) -> tuple[tuple[str, ...], FactsSources]:
    """Return files and sources without those of the project, because another source is named."""
    if project is None:
        return filenames, sources
    paths = project.drop_own_paths(sources.paths)
    return project.drop_own_paths(filenames), replace(sources, paths=paths)


takes_sources = combine_options("sources", FactsSources.take)
"""Lets a command take the values of ``options.FACTS_SOURCES`` as its argument ``sources``."""


def read_facts(
    sources: FactsSources,
    documents: Sequence[Document],
    owners: tuple[OwnerSelector, ...],
    inputs: Inputs,
    namespace: str = DEFAULT_NAMESPACE,
    *,
    others: Iterable[Document] | None = None,
) -> Cluster:
    """
    Build the facts for verdicts on the objects of ``-f``.

    Args:
        documents: Objects of ``-f``, which replace those of other sources with the same names.
        owners: Custom kinds whose selectors count.
        inputs: Receives the problems and the skipped files of the sources.
        namespace: Namespace of objects that name none; without objects, the one to read from the
            live cluster.
        others: The objects of ``--facts``; None to read them here.

    Raises:
        ApiError: The live cluster cannot be read.
    """
    cluster = Cluster(owners)
    cluster.exception_store.clock = current_time
    if sources.live is not None:

        async def read(api: ApiClient) -> None:
            namespaces = list_namespaces(documents, namespace) or [namespace]
            await fill_once(api, cluster, namespaces)
            await read_exceptions(api, cluster, namespaces)

        apiserver.call(sources.live, read)
    if others is None:
        others = read_objects(inputs, sources.paths, owners)
    inputs.problems += fill(cluster, others, namespace=namespace)
    inputs.problems += fill(cluster, documents, namespace=namespace)
    return cluster


def read_objects(
    inputs: Inputs, paths: Iterable[str], owners: Iterable[OwnerSelector]
) -> Iterator[Document]:
    """
    Read the objects of ``--facts``, also those of snapshots.

    Args:
        inputs: Receives problems and skipped files.
        owners: Custom kinds whose selectors count.

    Raises:
        SourceError: A snapshot cannot be read.
    """
    selectors = {owner.kind: owner.path for owner in owners}
    for path in paths:
        if not is_snapshot(path):
            yield from inputs.facts_objects([path])
            continue
        for value in list_objects(load_snapshot(path), selectors):
            yield Document(path, value, DocumentText("{}", 1, 0))


def resolve_namespace(namespace: str, sources: FactsSources) -> str:
    """
    Return the namespace of objects that name none: that of ``-n``, or of the context.

    The context is that of the live cluster; without one no kubeconfig is read.

    Args:
        namespace: The value of ``-n``; empty for none.
    """
    if namespace or sources.live is None:
        return namespace or DEFAULT_NAMESPACE
    return apiserver.default_namespace(sources.live) or DEFAULT_NAMESPACE


def list_namespaces(documents: Iterable[Document], namespace: str = DEFAULT_NAMESPACE) -> list[str]:
    """
    List the namespaces of objects and of recorded reviews, sorted.

    Args:
        namespace: Namespace of objects that name none.
    """
    return sorted({namespace_of(document) or namespace for document in documents})


def namespace_of(document: Document) -> str:
    """Return the namespace of an object or of a recorded review; empty if it names none."""
    reviewed = find_value(document.value, ("request", "namespace"))
    return reviewed if isinstance(reviewed, str) else document.namespace

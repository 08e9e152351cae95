"""
Snapshots for audits and fixes: the union of manifests, dumps, saved snapshots and a live cluster.

``read_snapshot`` is the entry point of an audit, ``read_context`` that of fixes.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from webhook.audit.collect import ManifestCollector
from webhook.audit.listing import ALL_NAMESPACES, ClusterListing
from webhook.audit.merge import as_context, list_namespaces, merge_snapshots
from webhook.audit.snapshot import Snapshot, is_snapshot, load_snapshot
from webhook.cli.inputs import apiserver
from webhook.cli.inputs.apiserver import ServerOptions
from webhook.cli.inputs.facts import FactsSources, resolve_namespace
from webhook.cli.inputs.manifests import InputFiles, Inputs
from webhook.cli.inputs.policyexceptions import report_uncounted
from webhook.cli.progress import progress_bar
from webhook.cluster.protocol import ApiClient
from webhook.config.configuration import Configuration
from webhook.manifests import Document

MOST_NAMESPACES = 20  # read one by one; of more, a list of all namespaces takes fewer requests


def read_snapshot(
    inputs: Inputs,
    sources: FactsSources,
    configuration: Configuration,
    *,
    saved: str = "",
    namespace: str = "",
) -> Snapshot:
    """
    Read everything that an audit examines or counts.

    Objects of ``-f`` are audited, and those of the other sources are their cluster; without ``-f``,
    the objects of all sources are audited.

    Args:
        inputs: The files of ``-f``; receives the problems of all sources.
        saved: A file of ``--save-snapshot``; empty for none.
        namespace: Namespace of manifests that name none, and the only one to read from the live
            cluster; empty for that of the context, and for all.

    Raises:
        SourceError: A snapshot or the live cluster cannot be read.
    """
    reader = _Reader(inputs, sources, configuration, resolve_namespace(namespace, sources))
    snapshots = [load_snapshot(saved)] if saved else []
    if not inputs.paths:
        return reader.read_others([namespace], snapshots)
    own = reader.collect(inputs.objects(), requested=True)
    names = [namespace] if namespace else sorted(list_namespaces([own]))
    return merge_snapshots([own, as_context(reader.read_others(names, snapshots))])


def read_context(
    inputs: InputFiles, sources: FactsSources, configuration: Configuration, namespace: str
) -> Snapshot:
    """
    Read the cluster around the objects of files, without these objects.

    Args:
        inputs: The files; receives the problems.
        namespace: Namespace of objects that name none.

    Raises:
        SourceError: A snapshot or the live cluster cannot be read.
    """
    names = sorted({name or namespace for name in inputs.namespaces})
    return as_context(_Reader(inputs, sources, configuration, namespace).read_others(names))


@dataclass(frozen=True)
class _Reader:
    """Reads sources into snapshots; ``namespace`` is that of objects that name none."""

    inputs: Inputs
    sources: FactsSources
    configuration: Configuration
    namespace: str

    def collect(self, documents: Iterable[Document], *, requested: bool) -> Snapshot:
        """Collect manifests, and their problems."""
        collector = ManifestCollector(self.configuration, self.namespace)
        for document in documents:
            collector.add(document, requested=requested)
        self.inputs.problems += collector.problems
        return collector.snapshot

    def read_others(self, namespaces: Sequence[str], saved: Sequence[Snapshot] = ()) -> Snapshot:
        """Read all sources but ``-f``; only these namespaces of the live cluster."""
        paths = self.sources.paths
        files = [path for path in paths if not is_snapshot(path)]
        found = self.collect(self.inputs.facts_objects(files), requested=not self.inputs.paths)
        parts = [found, *saved, *(load_snapshot(path) for path in paths if is_snapshot(path))]
        if self.sources.live is not None:
            some = namespaces if len(namespaces) <= MOST_NAMESPACES else ALL_NAMESPACES
            live = list_cluster(self.inputs, self.configuration, self.sources.live, some)
            parts.append(live)
        return merge_snapshots([part for part in parts if part != _EMPTY] or [_EMPTY])


def list_cluster(
    inputs: Inputs,
    configuration: Configuration,
    server: ServerOptions,
    namespaces: Sequence[str] = ALL_NAMESPACES,
) -> Snapshot:
    """
    List the objects from an API server, with a progress bar for each kind.

    Raises:
        SourceError: The API server cannot be reached; ``inputs`` receives all other problems.
    """

    async def read(api: ApiClient) -> ClusterListing:
        listing = ClusterListing(api, configuration)
        with progress_bar() as bar:
            tasks: dict[str, int] = {}

            def report(kind: str, number: int) -> None:
                if kind not in tasks:
                    tasks[kind] = bar.add_task(f"{kind}s", total=None)
                bar.update(tasks[kind], completed=number)

            await listing.read(namespaces, report)
        return listing

    listing = apiserver.call(server, read)
    inputs.problems += listing.problems
    if listing.refused is not None:
        report_uncounted(listing.refused)
    return listing.snapshot


_EMPTY = Snapshot()

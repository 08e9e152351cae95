"""Snapshot to audit: collected from manifests, from a saved file, or from a cluster."""

import sys
from dataclasses import dataclass

from rich.console import Console
from rich.progress import Progress, TaskID

from webhook.audit.collect import ManifestCollector
from webhook.audit.listing import ClusterListing
from webhook.audit.snapshot import Snapshot, load_snapshot
from webhook.cli.inputs import apiserver
from webhook.cli.inputs.manifests import Inputs
from webhook.cluster.protocol import ApiClient
from webhook.config import Configuration
from webhook.errors import ConfigError


@dataclass(frozen=True)
class ClusterScope:
    """Options that select what to list; empty means absent, and all namespaces."""

    kubeconfig: str
    context: str
    namespace: str


def collect_snapshot(
    inputs: Inputs, cluster: str, snapshot: str, configuration: Configuration, scope: ClusterScope
) -> Snapshot:
    """
    Collect everything that the audit needs.

    Args:
        inputs: Manifests of ``-f``; receives the problems of all sources.
        cluster: Path of manifests that describe the cluster around those; may be empty.
        snapshot: Path of a saved snapshot to read instead; may be empty.
        configuration: Names custom kinds to collect.
        scope: What to list if there are neither manifests nor a snapshot.

    Raises:
        ConfigError: The sources exclude each other.
        SourceError: The snapshot cannot be read, or the API server cannot be reached.
    """
    if snapshot:
        if inputs.paths or cluster:
            raise ConfigError(
                "already contains manifests and cluster: leave out -f and --cluster", "--snapshot"
            )
        return load_snapshot(snapshot)
    if not inputs.paths:
        if cluster:
            raise ConfigError("requires -f: name the manifests to audit", "--cluster")
        return _list_cluster(inputs, configuration, scope)
    collector = ManifestCollector(configuration.pod_templates, configuration.owner_selectors)
    for document in inputs.cluster_objects(cluster):
        collector.add(document, requested=False)
    for document in inputs.objects():
        collector.add(document)
    inputs.problems += collector.problems
    return collector.snapshot


def _list_cluster(inputs: Inputs, configuration: Configuration, scope: ClusterScope) -> Snapshot:
    """List the objects from an API server, with a progress bar for each kind."""

    async def read(api: ApiClient) -> ClusterListing:
        listing = ClusterListing(api, configuration.pod_templates, configuration.owner_selectors)
        with progress_bar() as bar:
            tasks: dict[str, TaskID] = {}

            def report(kind: str, number: int) -> None:
                if kind not in tasks:
                    tasks[kind] = bar.add_task(f"{kind}s", total=None)
                bar.update(tasks[kind], completed=number)

            await listing.read(scope.namespace, report)
        return listing

    listing = apiserver.call(scope.kubeconfig, scope.context, read)
    inputs.problems += listing.problems
    return listing.snapshot


def progress_bar() -> Progress:
    """Create a progress bar on stderr, erased when done; invisible if stderr is no terminal."""
    console = Console(file=sys.stderr)
    return Progress(console=console, transient=True, disable=not console.is_terminal)

"""What ``evenspread audit`` looks at: manifests, a snapshot, or a cluster, gathered with a bar."""

import sys
from typing import NamedTuple

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


class Reach(NamedTuple):
    """Which API server to ask, and about what; empty texts were not given."""

    kubeconfig: str
    context: str
    namespace: str


def gather(
    inputs: Inputs, cluster: str, snapshot: str, configuration: Configuration, reach: Reach
) -> Snapshot:
    """
    Gather what is to be audited.

    Args:
        inputs: Of ``-f``; gets to know what could not be read.
        cluster: Manifests around those; empty if there are none.
        snapshot: A file to read instead; empty for none.
        configuration: Tells the kinds to look at.
        reach: The cluster to ask if there are neither manifests nor a snapshot.

    Raises:
        ConfigError: These do not go together.
        SourceError: The snapshot cannot be read, or the cluster not be reached.
    """
    if snapshot:
        if inputs.paths or cluster:
            raise ConfigError(
                "holds files and cluster: give it without -f and --cluster", "--snapshot"
            )
        return load_snapshot(snapshot)
    if not inputs.paths:
        if cluster:
            raise ConfigError("is for -f: say which manifests to audit", "--cluster")
        return _list(inputs, configuration, reach)
    gathering = ManifestCollector(configuration.pod_templates, configuration.owner_selectors)
    surroundings = Inputs([cluster] if cluster else [])
    for document in surroundings.objects():
        gathering.add(document, requested=False)
    for document in inputs.objects():
        gathering.add(document)
    inputs.problems += surroundings.problems + gathering.problems
    inputs.skipped += surroundings.skipped
    return gathering.snapshot


def _list(inputs: Inputs, configuration: Configuration, reach: Reach) -> Snapshot:
    """Ask an API server."""

    async def read(api: ApiClient) -> ClusterListing:
        listing = ClusterListing(api, configuration.pod_templates, configuration.owner_selectors)
        with progress() as bar:
            tasks: dict[str, TaskID] = {}

            def told(kind: str, number: int) -> None:
                if kind not in tasks:
                    tasks[kind] = bar.add_task(f"{kind}s", total=None)
                bar.update(tasks[kind], completed=number)

            await listing.read(reach.namespace, told)
        return listing

    listing = apiserver.ask(reach.kubeconfig, reach.context, read)
    inputs.problems += listing.problems
    return listing.snapshot


def progress() -> Progress:
    """A bar on stderr, gone when it is full; nothing if that is no terminal."""
    console = Console(file=sys.stderr)
    return Progress(console=console, transient=True, disable=not console.is_terminal)

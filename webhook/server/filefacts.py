"""
Facts of a cluster that manifest files describe.

``FileFacts`` is the entry point, a ``FactsSource``. The files are read when the server starts, and
are not watched.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

from webhook.cluster.caches import Supervise
from webhook.cluster.discovery import list_resources
from webhook.cluster.facts import Cluster
from webhook.cluster.manifests import load_cluster
from webhook.cluster.pods import PodStore
from webhook.cluster.policyexceptions import Clock, end_of_time
from webhook.errors import ConfigError
from webhook.policy.scaledown.binding import BindingResult
from webhook.server.facts import WatchedKinds
from webhook.server.health import Conditions, ReadinessCondition
from webhook.server.review_thread import Freeze
from webhook.server.reviews import Fetch, nothing_to_fetch
from webhook.telemetry.logs import Log
from webhook.telemetry.metrics import Metrics


class FactsFiles(NamedTuple):
    """
    Files with facts, and the time for which they hold.

    Attributes:
        paths: Files and folders; empty for no facts.
        now: The time by which exceptions expire; aware.
    """

    paths: Sequence[str]
    now: Clock = end_of_time


class FileFacts:
    """
    A cluster described by manifest files, read once.

    An unreadable document is logged, and the others count.

    Attributes:
        facts: The facts in the files.
    """

    def __init__(
        self,
        files: FactsFiles,
        watched: WatchedKinds,
        metrics: Metrics,
        log: Log,
        changed: Callable[[], object],
    ) -> None:
        """
        Read the files.

        Args:
            changed: Called when ``facts`` becomes another object.

        Raises:
            ConfigError: There is no such file or folder.
        """
        for path in files.paths:
            if not Path(path).exists():
                raise ConfigError(f"there is no file or folder {path!r}", "--facts")
        self._files = files
        self._watched = watched
        self._metrics = metrics
        self._log = log
        self._changed = changed
        self.facts = self._read()

    @property
    def fetch(self) -> Fetch:
        """Fetch nothing: there is no API server."""
        return nothing_to_fetch

    @property
    def freeze(self) -> Freeze:
        """Do nothing: these facts never change during a review."""
        return nullcontext

    def check(self) -> Conditions:
        """Report the number of objects; always ready."""
        count = sum(size for _, size in _sizes(self.facts))
        return {"facts": ReadinessCondition(ok=True, detail=f"{count} objects from files")}

    def find_ranks(self) -> PodStore | BindingResult:
        """Return the store that ranks pods; ``OFF`` if none are ranked."""
        pods = self.facts.pod_store
        return BindingResult.OFF if pods is None else pods

    def find_namespaces(self) -> Mapping[str, Mapping[str, str]] | None:
        """Return None: files need not have all Namespaces."""
        return None

    def follow(self, watched: WatchedKinds) -> None:
        """Read the files again if other kinds are needed."""
        if watched != self._watched:
            self._watched = watched
            self.facts = self._read()
            self._changed()

    async def complete(self) -> None:
        """Do not wait: the files are read."""

    async def run(self, supervise: Supervise) -> None:
        """Do nothing: the files are not watched."""

    def _read(self) -> Cluster:
        pod_clock = time.monotonic if self._watched.pods else None
        loaded = load_cluster(
            self._files.paths,
            owners=self._watched.owners,
            pod_clock=pod_clock,
            now=self._files.now,
        )
        for problem in loaded.problems:
            self._log.warning("unreadable", message=str(problem))
        self._metrics.cache_objects.clear()
        for kind, size in _sizes(loaded.cluster):
            self._metrics.cache_objects.labels(kind).set(size)
        return loaded.cluster


def _sizes(cluster: Cluster) -> Iterator[tuple[str, int]]:
    return ((resource.kind, len(resource.store)) for resource in list_resources(cluster))

"""
Where the facts of verdicts come from: files that were read, or a cluster that is followed.

Both are asked in the same way, so that nothing else in the server needs to know which it is.
"""

import asyncio
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import NamedTuple, NoReturn, Protocol, TypeAlias

from prometheus_client import Gauge

from webhook.cluster.caches import Caches, CacheStatus, Supervise
from webhook.cluster.facts import Cluster
from webhook.cluster.fallback import OwnerFallback
from webhook.cluster.manifests import load_cluster
from webhook.cluster.quota import NamespaceQuota
from webhook.cluster.reflector import ReflectorEnvironment
from webhook.config.kinds import OwnerSelector
from webhook.errors import ConfigError
from webhook.policy.facts import Facts
from webhook.server.admission import Fetch, nothing_to_fetch
from webhook.server.health import Conditions, ReadinessCondition
from webhook.server.review_thread import Freeze
from webhook.telemetry.logs import Log
from webhook.telemetry.metrics import Metrics

Owners: TypeAlias = Sequence[OwnerSelector]

Number: TypeAlias = Callable[[CacheStatus], float]
"""What a metric shows of a cache."""


class FactsSource(Protocol):
    """What is known of the cluster."""

    @property
    def facts(self) -> Facts:
        """The facts as they are now; another object after a change of the owners."""
        ...

    @property
    def fetch(self) -> Fetch:
        """What gets the facts that these lack."""
        ...

    @property
    def freeze(self) -> Freeze:
        """Makes a context within which the facts do not change."""
        ...

    def check(self) -> Conditions:
        """Tell how they stand."""
        ...

    def follow(self, owners: Owners) -> None:
        """Take other custom controllers into account, as soon as they are known."""
        ...

    async def complete(self) -> None:
        """Wait until all there is to know is known."""
        ...

    async def run(self, supervise: Supervise) -> None:
        """Keep the facts true, as long as the server runs; ``supervise`` runs the tasks for it."""
        ...


class FileFacts:
    """
    A cluster that stands in files, read once.

    A document that cannot be read is told in the log; the others still count.
    """

    def __init__(
        self, path: str, owners: Owners, metrics: Metrics, log: Log, changed: Callable[[], object]
    ) -> None:
        """
        Read them.

        Args:
            path: A file or a folder; empty: nothing is known.
            changed: Called when ``facts`` is another object.

        Raises:
            ConfigError: There is no such file or folder.
        """
        if path and not Path(path).exists():
            raise ConfigError(f"there is no file or folder {path!r}", "--cluster")
        self._path = path
        self._owners = owners
        self._metrics = metrics
        self._log = log
        self._changed = changed
        self._cluster = self._read()

    @property
    def facts(self) -> Facts:
        """What stands in the files."""
        return self._cluster

    @property
    def fetch(self) -> Fetch:
        """Fetch nothing: there is nobody to ask."""
        return nothing_to_fetch

    @property
    def freeze(self) -> Freeze:
        """Do nothing: files are read at once."""
        return nullcontext

    def check(self) -> Conditions:
        """Count what was read."""
        count = sum(size for _, size in _sizes(self._cluster))
        return {"facts": ReadinessCondition(ok=True, detail=f"{count} objects from files")}

    def follow(self, owners: Owners) -> None:
        """Read the files again if the custom controllers are others."""
        if owners != self._owners:
            self._owners = owners
            self._cluster = self._read()
            self._changed()

    async def complete(self) -> None:
        """Do not wait: everything was read."""

    async def run(self, supervise: Supervise) -> None:
        """Do nothing: files that stand for a cluster do not change."""

    def _read(self) -> Cluster:
        loaded = load_cluster([self._path] if self._path else [], owners=self._owners)
        for problem in loaded.problems:
            self._log.warning("unreadable", says=str(problem))
        self._metrics.cache_objects.clear()
        for kind, size in _sizes(loaded.cluster):
            self._metrics.cache_objects.labels(kind).set(size)
        return loaded.cluster


def _sizes(cluster: Cluster) -> Iterator[tuple[str, int]]:
    yield "Service", len(cluster.service_store)
    yield "Namespace", len(cluster.namespace_store)
    yield "Node", len(cluster.node_store)
    for (_, kind), store in cluster.owner_stores.items():
        yield kind, len(store)
    for custom, store in cluster.custom_stores.items():
        yield str(custom), len(store)


class _Following(NamedTuple):
    """One set of caches, for one set of custom controllers."""

    owners: Owners
    caches: Caches
    latecomers: OwnerFallback


class LiveFacts:
    """
    A cluster that is followed.

    The kinds that caches follow are fixed. So other custom controllers mean other caches, filled
    while the old ones serve; this takes seconds, and until then the memory of both.
    """

    def __init__(
        self,
        owners: Owners,
        means: ReflectorEnvironment,
        metrics: Metrics,
        changed: Callable[[], object],
    ) -> None:
        """
        Know nothing yet.

        Args:
            changed: Called when ``facts`` is another object.
        """
        self._means = means
        self._metrics = metrics
        self._changed = changed
        self._wanted = owners
        self._asked = asyncio.Event()
        self._now = self._prepare(owners)
        self._show()

    @property
    def facts(self) -> Facts:
        """What is known of the cluster."""
        return self._now.caches.cluster

    @property
    def fetch(self) -> Fetch:
        """Ask the API server for what came too late for the caches."""
        return self._now.latecomers.fetch

    @property
    def freeze(self) -> Freeze:
        """Make the reflectors wait."""
        return self._means.pace.still

    def check(self) -> Conditions:
        """Tell how each cache stands; an old one lets the server be ready, an empty one not."""
        return {f"cache {each.kind}": _condition(each) for each in self._now.caches.statuses()}

    def follow(self, owners: Owners) -> None:
        """Fill other caches if the custom controllers are others; the last call counts."""
        self._wanted = owners
        self._asked.set()

    async def complete(self) -> None:
        """Wait until every kind has been listed once."""
        await self._now.caches.wait_synced()

    async def run(self, supervise: Supervise) -> NoReturn:
        """Follow the cluster until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                running = _fill(self._now.caches, group, supervise)
                while True:
                    self._asked.clear()
                    if self._wanted == self._now.owners:
                        await self._asked.wait()
                    else:
                        running = await self._replace(running, group, supervise)
        except asyncio.CancelledError:  # not after a bug: requests still wait for answers
            await self._now.latecomers.close()
            raise

    async def _replace(
        self, running: asyncio.Task[None], group: asyncio.TaskGroup, supervise: Supervise
    ) -> asyncio.Task[None]:
        """Let other caches take over once they are filled, unless others again are asked for."""
        fresh = self._prepare(self._wanted)
        filling = _fill(fresh.caches, group, supervise)
        filled = group.create_task(fresh.caches.wait_synced())
        asked = group.create_task(self._asked.wait())
        await asyncio.wait((filled, asked), return_when=asyncio.FIRST_COMPLETED)
        for task in (filled, asked):
            task.cancel()
        if not all(map(fresh.caches.synced, fresh.caches.kinds)):
            filling.cancel()
            return running
        self._take(fresh)
        running.cancel()
        return filling

    def _take(self, fresh: _Following) -> None:
        """Let caches take over, or leave the old ones in force if that fails."""
        before, self._now = self._now, fresh
        try:
            self._changed()  # from here on; requests that wait for the old ones get their facts
            self._show()
        except Exception:
            self._now = before
            raise

    def _prepare(self, owners: Owners) -> _Following:
        caches = Caches(Cluster(owners, NamespaceQuota()), self._means)
        looked_up = self._metrics.lookups
        latecomers = OwnerFallback(
            caches, self._means.source, lambda result: looked_up.labels(result).inc()
        )
        return _Following(owners, caches, latecomers)

    def _show(self) -> None:
        """Let the metrics be read from the caches in force."""
        metrics = self._metrics
        shown: tuple[tuple[Gauge, Number], ...] = (
            (metrics.cache_objects, lambda each: each.objects),
            (metrics.cache_synced, lambda each: each.synced),
            (metrics.cache_age, lambda each: math.inf if each.age is None else each.age),
        )
        for gauge, read in shown:
            gauge.clear()
            for kind in self._now.caches.kinds:
                gauge.labels(kind).set_function(partial(self._read, kind, read))

    def _read(self, kind: str, read: Number) -> float:
        return next(map(read, (s for s in self._now.caches.statuses() if s.kind == kind)))


def _fill(caches: Caches, group: asyncio.TaskGroup, supervise: Supervise) -> asyncio.Task[None]:
    return group.create_task(supervise("caches", partial(caches.run, supervise)))


def _condition(standing: CacheStatus) -> ReadinessCondition:
    if not standing.synced:
        return ReadinessCondition(ok=False, detail=standing.problem or "not listed yet")
    age = f", heard of {standing.age:.0f} s ago" if standing.age is not None else ""
    problem = f"; {standing.problem}" if standing.problem else ""
    return ReadinessCondition(ok=True, detail=f"{standing.objects} objects{age}{problem}")

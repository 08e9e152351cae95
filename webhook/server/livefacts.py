"""
Facts of a live cluster, from caches that watches keep current.

``LiveFacts`` is the entry point, a ``FactsSource``. It decides which set of caches is in use; what
a cache holds is the matter of ``webhook.cluster``.
"""

import asyncio
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, NoReturn

from prometheus_client import Gauge

from webhook.cluster.caches import Caches, Supervise
from webhook.cluster.facts import Cluster
from webhook.cluster.fallback import OwnerFallback
from webhook.cluster.pods import PodStore
from webhook.cluster.policyexceptions import PolicyExceptionStore
from webhook.cluster.quota import NamespaceQuota
from webhook.cluster.reflector import Reflector, ReflectorEnvironment
from webhook.policy.facts import Facts
from webhook.policy.scaledown.binding import BindingResult
from webhook.server.facts import WatchedKinds
from webhook.server.health import Conditions, ReadinessCondition
from webhook.server.review_thread import Freeze
from webhook.server.reviews import Fetch
from webhook.telemetry.metrics import Metrics


class SharedCaches(NamedTuple):
    """
    Caches that stay when the set of caches is replaced.

    Attributes:
        exceptions: The store of SpreadPolicyExceptions; None if there are none.
        reflectors: The caches, to report them beside the facts; some are no facts.
    """

    exceptions: PolicyExceptionStore | None = None
    reflectors: tuple[Reflector, ...] = ()


NOT_SHARED = SharedCaches()  # each set of caches has its own


@dataclass(frozen=True, slots=True)
class _CacheSet:
    """One set of caches, for one set of kinds."""

    watched: WatchedKinds
    caches: Caches
    fallback: OwnerFallback


class LiveFacts:
    """
    A live cluster, watched by caches.

    The kinds of a set of caches are fixed. A change of the custom controllers, or of whether pods
    are ranked, therefore needs another set, which is filled while the old one serves; for these
    seconds both take memory.

    Attributes:
        freeze: Pauses the reflectors.
    """

    def __init__(
        self,
        watched: WatchedKinds,
        environment: ReflectorEnvironment,
        metrics: Metrics,
        changed: Callable[[], object],
        shared: SharedCaches = NOT_SHARED,
    ) -> None:
        """
        Start with empty caches.

        Args:
            changed: Called when ``facts`` becomes another object.
            shared: Caches that other tasks keep current.
        """
        self._shared = shared
        self._environment = environment
        self.freeze: Freeze = environment.slicer.still
        self._metrics = metrics
        self._changed = changed
        self._wanted = watched
        self._change_requested = asyncio.Event()
        self._now = self._prepare(watched)
        self._show()

    @property
    def facts(self) -> Facts:
        """The facts in the caches in use."""
        return self._now.caches.cluster

    @property
    def fetch(self) -> Fetch:
        """Look up at the API server what the caches do not have yet."""
        return self._now.fallback.fetch

    def check(self) -> Conditions:
        """Report each cache: one that was filled once is ready, even if it is out of date."""
        return {
            f"cache {reflector.resource.kind}": _condition(reflector)
            for reflector in self._reported
        }

    @property
    def _reported(self) -> tuple[Reflector, ...]:
        return (*self._now.caches.reflectors, *self._shared.reflectors)

    def find_ranks(self) -> PodStore | BindingResult:
        """Return the store that ranks pods, or why there is none."""
        if not self._now.watched.pods:
            return BindingResult.OFF
        ranks = self._now.caches.ranks
        return BindingResult.NOT_LISTED if ranks is None else ranks

    def find_namespaces(self) -> Mapping[str, Mapping[str, str]] | None:
        """Return the labels of all Namespaces, by name; None if not all are known."""
        return self._now.caches.namespaces

    def follow(self, watched: WatchedKinds) -> None:
        """Fill other caches if other kinds are needed; the last call wins."""
        self._wanted = watched
        self._change_requested.set()

    async def complete(self) -> None:
        """Wait until every kind has been listed once."""
        await self._now.caches.wait_synced()

    async def run(self, supervise: Supervise) -> NoReturn:
        """Watch the cluster until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                running = _fill(self._now.caches, group, supervise)
                while True:
                    self._change_requested.clear()
                    if self._wanted == self._now.watched:
                        await self._change_requested.wait()
                    else:
                        running = await self._replace(running, group, supervise)
        except asyncio.CancelledError:  # after a bug, requests still wait for the fallback
            await self._now.fallback.close()
            raise

    async def _replace(
        self, running: asyncio.Task[None], group: asyncio.TaskGroup, supervise: Supervise
    ) -> asyncio.Task[None]:
        """Fill another set of caches and switch to it, unless another change comes first."""
        fresh = self._prepare(self._wanted)
        filling = _fill(fresh.caches, group, supervise)
        filled = group.create_task(fresh.caches.wait_synced())
        changed = group.create_task(self._change_requested.wait())
        await asyncio.wait((filled, changed), return_when=asyncio.FIRST_COMPLETED)
        for task in (filled, changed):
            task.cancel()
        if not fresh.caches.synced:
            filling.cancel()
            return running
        self._switch_to(fresh)
        running.cancel()
        return filling

    def _switch_to(self, fresh: _CacheSet) -> None:
        """Switch to a set of caches; keep the old one if that fails."""
        before, self._now = self._now, fresh
        try:
            self._changed()  # requests that wait for the old set still get its facts
            self._show()
        except Exception:
            self._now = before
            raise

    def _prepare(self, watched: WatchedKinds) -> _CacheSet:
        pod_clock = self._environment.clock if watched.pods else None
        exceptions = self._shared.exceptions
        cluster = Cluster(
            watched.owners, NamespaceQuota(), pod_clock=pod_clock, exceptions=exceptions
        )
        caches = Caches(cluster, self._environment)
        looked_up = self._metrics.lookups
        fallback = OwnerFallback(
            caches,
            self._environment.source,
            lambda result: looked_up.labels(result).inc(),
            self._environment.clock,
        )
        return _CacheSet(watched, caches, fallback)

    def _show(self) -> None:
        """Read the cache metrics from the caches in use at each scrape."""
        metrics = self._metrics
        shown: tuple[tuple[Gauge, Callable[[Reflector], float]], ...] = (
            (metrics.cache_objects, lambda cache: len(cache.resource.store)),
            (metrics.cache_synced, lambda cache: cache.synced.is_set()),
            (metrics.cache_age, lambda cache: math.inf if cache.age is None else cache.age),
        )
        for gauge, read in shown:
            gauge.clear()
            for reflector in self._reported:
                gauge.labels(reflector.resource.kind).set_function(partial(read, reflector))


def _fill(caches: Caches, group: asyncio.TaskGroup, supervise: Supervise) -> asyncio.Task[None]:
    return group.create_task(supervise("caches", partial(caches.run, supervise)))


def _condition(cache: Reflector) -> ReadinessCondition:
    if not cache.synced.is_set():
        optional = not cache.resource.required
        detail = cache.problem or "not listed yet"
        return ReadinessCondition(ok=optional, detail=detail, degraded=optional)
    age = f", updated {cache.age:.0f} s ago" if cache.age is not None else ""
    problem = f"; {cache.problem}" if cache.problem else ""
    detail = f"{len(cache.resource.store)} objects{age}{problem}"
    return ReadinessCondition(ok=True, detail=detail)

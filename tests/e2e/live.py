"""Live caches of a real control plane, compared with its lists."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.background import working
from tests.build import pod, policy, profile, request
from tests.cluster.environment import unsupervised
from tests.controlplane.api import Api as Truth
from tests.controlplane.api import Json
from webhook.cluster.caches import Caches
from webhook.cluster.client import Api, ApiAccess, Timeouts
from webhook.cluster.facts import Cluster
from webhook.cluster.fallback import OwnerFallback
from webhook.cluster.protocol import MAX_BODY_BYTES, WatchClient
from webhook.cluster.reflector import ReflectorEnvironment
from webhook.cluster.timeslices import TimeSlicer
from webhook.policy.request import Hook
from webhook.policy.verdict import Verdict, judge

PATIENCE_S = 120.0  # for what takes seconds alone on a core
PAUSE_S = 0.02  # between two looks
QUICK = 0.02  # of the back-off's bound: 16 ms for the first pause, 0.6 s for the longest


class Live:
    """
    Caches that follow a control plane.

    Attributes:
        restarts: How often each reason made a reflector begin anew.
        skipped: Names and reasons of the objects that the caches leave out.
    """

    def __init__(self, api: WatchClient, *, streams: bool, pauses: float) -> None:
        self.restarts: Counter[str] = Counter()
        self.skipped: set[tuple[str, str]] = set()
        means = ReflectorEnvironment(
            source=api,
            slicer=TimeSlicer(time.monotonic),
            clock=time.monotonic,
            jitter=lambda: pauses,
            sleep=asyncio.sleep,
            report_restart=lambda _, reason, __: self.restarts.update([reason]),
            report_skipped=lambda _, odd: self.skipped.add((odd.name, odd.reason)),
            streams=streams,
        )
        self.caches = Caches(Cluster(), means)
        self.cluster = self.caches.cluster
        self.results: Counter[str] = Counter()
        self.fallback = OwnerFallback(
            self.caches, api, lambda result: self.results.update([result]), time.monotonic
        )

    @property
    def known(self) -> Json:
        """The content of the caches."""
        owners = self.cluster.owner_stores
        return {
            "services": dict.fromkeys(self.cluster.service_store.iterate_keys()),
            "namespaces": {
                name: self.cluster.namespace_labels(name)
                for _, name in self.cluster.namespace_store.iterate_keys()
            },
            "nodes": {node.name: node.labels for node in self.cluster.node_store},
            "replica sets": {
                key: owners["apps/v1", "ReplicaSet"].selector(*key)
                for key in owners["apps/v1", "ReplicaSet"].iterate_keys()
            },
        }

    @property
    def troubles(self) -> list[str]:
        return [cache.problem for cache in self.caches.reflectors if cache.problem]


@asynccontextmanager
async def following(
    kubeconfig: Path,
    *,
    streams: bool = True,
    silence: float = 70.0,
    pauses: float = QUICK,
    max_body: int = MAX_BODY_BYTES,
) -> AsyncGenerator[Live]:
    """Follow a control plane as long as the context lasts; begins with everything listed."""
    access, timeouts = ApiAccess(kubeconfig=str(kubeconfig)), Timeouts(silence=silence)
    async with (
        Api(access, time.monotonic, timeouts, max_body) as api,
        filling(Live(api, streams=streams, pauses=pauses)) as live,
    ):
        yield live


@asynccontextmanager
async def filling(live: Live) -> AsyncGenerator[Live]:
    """Run caches as long as the context lasts; begins with everything listed."""
    task = asyncio.create_task(live.caches.run(unsupervised))
    try:
        async with asyncio.timeout(PATIENCE_S):
            await live.caches.wait_synced()
        yield live
    finally:
        await live.fallback.close()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@dataclass
class ReviewCount:
    """
    Reviews that the caches decided during a fault.

    Attributes:
        calls: How many there were.
        failed: How many of them were not decided as before the fault.
    """

    calls: int = 0
    failed: int = 0


@asynccontextmanager
async def reviewing(live: Live, app: str) -> AsyncGenerator[ReviewCount]:
    """Judge a new pod of a Service again and again, as long as the context lasts."""
    pod_request = request(pod(labels={"app": app}), namespace="default")
    rules, count = policy(profile()), ReviewCount()

    def decide() -> Verdict:
        live.caches.require()
        return judge(pod_request, Hook.MUTATE, rules, live.cluster)

    expected = decide()
    assert expected.patch

    async def review() -> None:
        while True:
            count.calls += 1
            count.failed += decide() != expected
            await asyncio.sleep(PAUSE_S)

    async with working(review()):
        yield count
    assert count.calls
    assert not count.failed


async def until(question: Callable[[], Any], what: str) -> None:
    """Wait for what happens in its own time on this event loop."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not question():  # noqa: ASYNC110  # there is no event for it
                await asyncio.sleep(PAUSE_S)
    except TimeoutError:
        raise AssertionError(f"waited {PATIENCE_S:g} s for {what}") from None


async def converged(live: Live, api: Truth) -> None:
    """Wait until the caches hold what the API server lists, read through to etcd."""
    truth = await asyncio.to_thread(listed, api)
    known: list[Json] = []

    def same() -> bool:
        known[:] = [comparable(live.known)]
        return known == [truth]

    try:
        await until(same, "the truth")
    except AssertionError:
        assert known == [truth]
        raise


def listed(api: Truth) -> Json:
    """All that the API server has, in a quorum read: without a resourceVersion."""
    sets = api.items("apps/v1", "ReplicaSet")
    return {
        "services": {
            _key(service): None
            for service in api.items("v1", "Service")
            if service["spec"].get("selector") is not None
        },
        "namespaces": _labels(api.items("v1", "Namespace")),
        "nodes": _labels(api.items("v1", "Node")),
        "replica sets": {
            _key(replica_set): replica_set["spec"]["selector"]["matchLabels"]
            for replica_set in sets
        },
    }


def comparable(known: Json) -> Json:
    sets = {key: selector.match_labels for key, selector in known["replica sets"].items()}
    return {**known, "replica sets": sets}


def _key(value: Json) -> tuple[str, str]:
    return value["metadata"]["namespace"], value["metadata"]["name"]


def _labels(values: list[Json]) -> Json:
    return {obj["metadata"]["name"]: obj["metadata"].get("labels", {}) for obj in values}

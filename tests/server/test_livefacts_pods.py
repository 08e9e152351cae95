"""Pods are stored only while a configuration ranks them, and nothing waits for them."""

import asyncio

from tests.apiserver import ApiServer, after, refuse
from tests.build import pod, request
from tests.cluster.environment import reflector_environment
from tests.cluster.objects import labelled_pod
from tests.server.factsources import NOTHING, run, value
from tests.server.serving import POLICY, settled
from webhook.cluster.pods import PodStore
from webhook.policy.scaledown.binding import BindingResult
from webhook.server.facts import WatchedKinds
from webhook.server.health import ReadinessCondition
from webhook.server.livefacts import LiveFacts
from webhook.telemetry.metrics import Metrics

PODS = "GET /api/v1/pods"
WITH_PODS = WatchedKinds((), pods=True)


def stored(live: LiveFacts) -> list[tuple[str, str]]:
    """List the pods that are ranked now."""
    ranks = live.find_ranks()
    assert isinstance(ranks, PodStore)
    return list(ranks.iterate_keys())


async def test_without_ranks_no_pods_are_watched() -> None:
    source = ApiServer(labelled_pod("w1"))
    live = LiveFacts(NOTHING, reflector_environment(source), Metrics(), lambda: None)
    async with run(live):
        await live.complete()

        assert live.find_ranks() is BindingResult.OFF
    assert "/api/v1/pods" not in source.paths


async def test_pods_are_watched_from_a_reload_to_the_next() -> None:
    metrics, changed = Metrics(), asyncio.Event()
    environment = reflector_environment(ApiServer(labelled_pod("w1")))
    live = LiveFacts(NOTHING, environment, metrics, changed.set)
    async with run(live):
        await live.complete()
        live.follow(WITH_PODS)
        await changed.wait()
        await settled(lambda: live.find_ranks() is not BindingResult.NOT_LISTED)

        assert stored(live) == [("shop", "w1")]
        assert value(metrics, "objects", "Pod") == 1

        changed.clear()
        live.follow(NOTHING)
        await changed.wait()
        await asyncio.sleep(0)

        assert live.find_ranks() is BindingResult.OFF
        assert value(metrics, "objects", "Pod") is None


async def test_pods_that_cannot_be_listed_leave_admission_ready() -> None:
    source, metrics = ApiServer(answers={PODS: refuse("pods is forbidden")}), Metrics()
    live = LiveFacts(WITH_PODS, reflector_environment(source), metrics, lambda: None)
    before = live.check()["cache Pod"]
    async with run(live):
        await live.complete()
        await settled(lambda: live.check()["cache Pod"].detail.startswith("https"))
        condition = live.check()["cache Pod"]

        assert condition.ok
        assert condition.degraded
        assert "pods is forbidden" in condition.detail
        assert live.find_ranks() is BindingResult.NOT_LISTED
        assert live.fetch(request(pod()), POLICY, 1.0) is None
        assert value(metrics, "synced", "Pod") == 0
    assert before == ReadinessCondition(ok=True, detail="not listed yet", degraded=True)


async def test_no_rank_is_given_before_nodes_are_listed() -> None:
    nodes = asyncio.Event()
    source = ApiServer(labelled_pod("w1"), answers={"GET /api/v1/nodes": after(nodes)})
    live = LiveFacts(WITH_PODS, reflector_environment(source), Metrics(), lambda: None)
    async with run(live):
        await settled(lambda: live.check()["cache Pod"].detail.startswith("1 objects"))
        assert live.find_ranks() is BindingResult.NOT_LISTED
        nodes.set()
        await live.complete()

        assert stored(live) == [("shop", "w1")]

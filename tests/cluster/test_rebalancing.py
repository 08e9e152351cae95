"""Rebalancings of a simulated cluster, whose scheduler chooses any node that passes."""

from collections.abc import Callable, Sequence

import pytest
from msgspec.structs import replace

from tests.rebalance.situations import Situation, web_pods
from webhook.cluster.protocol import FailureReason
from webhook.cluster.rebalancing import (
    POLL_S,
    REFUSAL_S,
    AppliedEviction,
    PlannedScope,
    Rebalancing,
    RebalancingEnd,
    RebalancingLimits,
    StopReason,
)
from webhook.errors import ApiError
from webhook.rebalance.pods import EvictionObstacle, WorkloadPod
from webhook.rebalance.replay import find_candidates

LIMIT_S = 30.0


class SimulatedCluster:
    """
    A cluster that replaces evicted pods.

    Attributes:
        now: Seconds; each pause adds to it.
        choose: Chooses the node of a replacement among those that pass; empty leaves it Pending.
        ready_after_s: Seconds until a replacement is ready.
        refuses: Names of pods whose eviction is refused, and until when.
        status: HTTP status of refusals.
        goes: Names of pods that have gone when they are to be evicted.
        replaces: Whether there are replacements at all.
    """

    def __init__(self, *pods: WorkloadPod) -> None:
        self.pods = [replace(one, pod=replace(one.pod, uid=one.pod.name)) for one in pods]
        self.now, self.ready_after_s, self.replaces = 0.0, 0.0, True
        self.choose: Callable[[Sequence[str]], str] = lambda nodes: nodes[0]
        self.refuses, self.goes, self.status = dict[str, float](), set[str](), 429
        self.ready_at: dict[str, float] = {}

    async def plan(self) -> PlannedScope:
        return PlannedScope(Situation(self.pods).plan(), tuple(self.pods), ())

    async def read_pods(self, namespace: str) -> list[WorkloadPod]:
        self.pods = [
            replace(one, is_ready=self.now >= self.ready_at.get(one.pod.uid, 0))
            for one in self.pods
        ]
        return [one for one in self.pods if one.pod.namespace == namespace]

    async def evict(self, one: WorkloadPod) -> bool:
        if self.now < self.refuses.get(one.pod.name, 0):
            raise ApiError("api", "answered: no", FailureReason.REFUSED, self.status)
        self.pods.remove(one)
        if self.replaces:
            node = self.choose(find_candidates(one, Situation(self.pods).cluster))
            name = f"{one.pod.name}-new"
            pod = replace(one.pod, name=name, uid=name, node_name=node)
            self.pods.append(replace(one, pod=pod))
            self.ready_at[name] = self.now + self.ready_after_s
        return one.pod.name not in self.goes

    async def sleep(self, seconds: float) -> None:
        self.now += seconds

    async def rebalance(self, evictions: int) -> tuple[RebalancingEnd, list[AppliedEviction]]:
        """Run a rebalancing that is allowed a number of evictions."""
        reported: list[AppliedEviction] = []
        run = Rebalancing(
            self,
            RebalancingLimits(evictions, 5, LIMIT_S),
            lambda: self.now,
            self.sleep,
            reported.append,
        )
        end = await run.run()
        assert run.evicted == reported
        return end, reported


@pytest.fixture
def cluster() -> SimulatedCluster:
    """Seven pods, five of them in zone a: two evictions make them even."""
    return SimulatedCluster(*web_pods({"a1": 5, "b1": 1, "c1": 1}))


async def test_pods_are_evicted_until_the_constraints_hold(cluster: SimulatedCluster) -> None:
    end, evicted = await cluster.rebalance(2)

    assert (end.stop, end.plan.steps) == (None, ())
    assert evicted == [
        AppliedEviction(
            "shop", f"web-{number}", "Deployment/web", "a1", f"web-{number}-new", node, planned=True
        )
        for number, node in enumerate(("b1", "c1"))
    ]


async def test_it_waits_until_a_replacement_is_ready(cluster: SimulatedCluster) -> None:
    cluster.ready_after_s = 3 * POLL_S

    end, evicted = await cluster.rebalance(2)

    assert (end.stop, len(evicted), cluster.now) == (None, 2, 6 * POLL_S)


@pytest.mark.parametrize(
    ("replaces", "ready_after_s", "node", "detail"),
    [
        (True, 2 * LIMIT_S, "b1", "shop/web-0-new, which replaces web-0, is not ready"),
        (True, 0.0, "", "shop/web-0-new, which replaces web-0, has no node"),
        (False, 0.0, "", "shop/web-0 has no replacement"),
    ],
)
async def test_a_replacement_that_is_not_ready_in_time_stops_it(
    cluster: SimulatedCluster, *, replaces: bool, ready_after_s: float, node: str, detail: str
) -> None:
    cluster.replaces, cluster.ready_after_s = replaces, ready_after_s
    cluster.choose = lambda _: node

    end, evicted = await cluster.rebalance(2)

    assert (end.stop, end.detail, evicted) == (StopReason.NOT_READY, detail, [])
    assert cluster.now == LIMIT_S


async def test_a_refusal_stops_it(cluster: SimulatedCluster) -> None:
    cluster.refuses["web-1"] = 2 * REFUSAL_S

    end, evicted = await cluster.rebalance(2)

    assert (end.stop, len(evicted), cluster.now) == (StopReason.REFUSED, 1, REFUSAL_S)
    assert end.detail == "shop/web-1: api: answered: no"


async def test_a_refusal_that_passes_does_not_stop_it(cluster: SimulatedCluster) -> None:
    """The status of a PodDisruptionBudget follows some time after a pod is ready."""
    cluster.refuses["web-1"] = REFUSAL_S

    assert (await cluster.rebalance(2))[0].stop is None


async def test_another_refusal_is_not_tried_again(cluster: SimulatedCluster) -> None:
    cluster.refuses["web-0"], cluster.status = REFUSAL_S, 403

    end, evicted = await cluster.rebalance(2)

    assert (end.stop, evicted, cluster.now) == (StopReason.REFUSED, [], 0)


async def test_the_second_pod_elsewhere_stops_it(cluster: SimulatedCluster) -> None:
    cluster.choose = lambda _: "a1"

    end, evicted = await cluster.rebalance(2)

    assert (end.stop, [one.planned for one in evicted]) == (StopReason.ELSEWHERE, [False, False])
    assert end.detail == "web-0-new on a1, web-0-new-new on a1"


async def test_one_pod_elsewhere_allows_one_more_eviction(cluster: SimulatedCluster) -> None:
    nodes = iter(["a1", "b1", "c1"])
    cluster.choose = lambda _: next(nodes)

    end, evicted = await cluster.rebalance(2)

    assert (end.stop, len(evicted)) == (None, 3)


async def test_no_more_pods_are_evicted_than_were_planned(cluster: SimulatedCluster) -> None:
    end, evicted = await cluster.rebalance(1)

    assert (end.stop, end.detail, len(evicted)) == (StopReason.EXCEEDED, "", 1)


async def test_a_pod_that_has_gone_counts_as_tried(cluster: SimulatedCluster) -> None:
    cluster.goes = {f"web-{number}" for number in range(5)}

    end, evicted = await cluster.rebalance(2)

    assert (end.stop, evicted) == (None, [])


class BusyCluster(SimulatedCluster):
    """One in which other pods come and go."""

    async def read_pods(self, namespace: str) -> list[WorkloadPod]:
        first, *others = await super().read_pods(namespace)
        gone = replace(first, pod=replace(first.pod, uid="x"))
        other = replace(gone, workload="Deployment/api")
        return [replace(gone, obstacle=EvictionObstacle.TERMINATING), other, first, *others]


async def test_other_pods_are_no_replacements() -> None:
    cluster = BusyCluster(*web_pods({"a1": 5, "b1": 1, "c1": 1}))

    _, evicted = await cluster.rebalance(2)

    assert [one.replacement for one in evicted] == ["web-0-new", "web-1-new"]


async def test_it_ends_when_a_rollout_begins(cluster: SimulatedCluster) -> None:
    def begin(nodes: Sequence[str]) -> str:
        cluster.pods = [replace(one, is_rolling=True) for one in cluster.pods]
        return nodes[0]

    cluster.choose = begin

    end, evicted = await cluster.rebalance(2)

    assert (end.stop, len(evicted)) == (StopReason.ROLLOUT, 1)
    assert end.detail == (
        "Deployment/web in shop: wait for it: kubectl rollout status deployment/web -n shop"
    )

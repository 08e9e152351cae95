"""What a scale-down removes is compared with what it would remove if all pods had ranks."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from tests.explain.observed import NOW, make_pod
from tests.explain.scenarios import scenario, with_census
from tests.policy.placement.clusters import node, spread_over
from webhook.explain.rankedremoval import report_ranks
from webhook.explain.removal import RemovalOrder, WorkloadPods
from webhook.explain.rollout import RemovedPod, Rollout, ScaleDownReport, roll_out
from webhook.explain.scenario import Scale
from webhook.policy.model import HOSTNAME, ZONE
from webhook.policy.placement.census import Census, ObservedPod

NODES = (node("a1", "a"), node("a2", "a"), node("b1", "b"), node("c1", "c"))
PLACES = ("a1", "b1", "c1", "a2", "b1", "c1")


def pods_on(places: Sequence[str] = PLACES, **changes: Any) -> tuple[ObservedPod, ...]:
    return tuple(
        make_pod(f"web-{number}", place, uid=f"{number}", **changes)
        for number, place in enumerate(places, start=1)
    )


def report(
    pods: Sequence[ObservedPod],
    replicas: int = 3,
    order: RemovalOrder = RemovalOrder.REPLICA_SET,
    *,
    configured: bool = False,
    **changes: Any,
) -> ScaleDownReport | None:
    running = Counter(pod.spec.node_name or "" for pod in pods if pod.spec.node_name)
    before = replace(with_census(scenario(NODES, spread_over(ZONE)), Census(pods)), **changes)
    workload = WorkloadPods(name="web", pods=tuple(pods), related=tuple(pods), order=order, now=NOW)
    rollout, *_ = roll_out(before, [Scale(replicas)], replicas, running, workload)
    return report_ranks(rollout, before, running, workload, configured=configured).scale_down


def test_with_ranks_the_rest_is_even() -> None:
    found = report(pods_on())

    assert found is not None
    assert (found.topology_key, found.configured, found.pods, found.ranked) == (ZONE, False, 6, 0)
    assert Counter(pod.domain for pod in found.removed) == {"b": 2, "c": 1}
    assert found.with_ranks is not None
    assert [(pod.domain, pod.rank) for pod in found.with_ranks.removed] == [
        ("b", 2), ("c", 2), ("a", 2),
    ]  # fmt: skip
    assert [skew.after for skew in found.with_ranks.skews] == [0]
    assert found.notes == ()
    assert found.sentence == (
        "0 of 6 pods have a rank by zone, and scaleDown: KeepSpread gives new pods one; if all had "
        "one, skew of zone 0 -> 0 instead of 2"
    )


def test_if_all_pods_have_ranks_there_is_nothing_to_compare_with() -> None:
    ranks = (1, 1, 1, 2, 2, 2)
    pods = [
        make_pod(f"web-{number}", place, rank=rank)
        for number, (place, rank) in enumerate(zip(PLACES, ranks, strict=True))
    ]

    found = report(pods)

    assert found is not None
    assert (found.with_ranks, found.ranked) == (None, 6)
    assert {(pod.domain, pod.rank) for pod in found.removed} == {("a", 2), ("b", 2), ("c", 2)}
    assert found.sentence == "6 of 6 pods have a rank by zone"


@pytest.mark.parametrize("cost", ["7", "999000"])
def test_pods_with_another_cost_cannot_get_a_rank(cost: str) -> None:
    found = report(pods_on(cost=cost))

    assert found is not None
    assert found.sentence == "0 of 6 pods have a rank by zone, and the others cannot get one"


def test_where_a_profile_gives_ranks_new_pods_get_one() -> None:
    found = report([*pods_on()[:5], make_pod("web-6", "c1", rank=1)], configured=True)

    assert found is not None
    assert found.sentence.startswith("1 of 6 pods has a rank by zone, and new pods get one; ")


def test_where_ranks_change_nothing_the_skew_is_the_same() -> None:
    found = report(pods_on(("a1", "b1")), replicas=1)

    assert found is not None
    assert found.sentence.endswith("if all had one, skew of zone 1 -> 1 as well")


def test_a_skew_that_is_not_determined_is_not_the_same() -> None:
    found = report(pods_on(("a1", "a2", "b1", "c1")), replicas=3)

    assert found is not None
    assert found.sentence.endswith("if all had one, skew of zone 1 -> 0 instead of 0 (0 to 2)")


UNREADY = {
    1: "1 of 3 removed pods is not ready: such pods go first, whatever their rank",
    2: "2 of 3 removed pods are not ready: such pods go first, whatever their rank",
}


@pytest.mark.parametrize(("number", "note"), UNREADY.items())
def test_pods_that_are_not_ready_go_first_whatever_their_rank(number: int, note: str) -> None:
    unready = [make_pod(f"new-{index}", "", ready="False") for index in range(number)]
    pods = [*pods_on()[: 6 - number], *unready]

    found = report(pods)

    assert found is not None
    assert found.notes == (note,)
    assert found.removed[0] == RemovedPod("new-0", "", "", None, goes_first=True)


def test_if_no_pod_is_ready_ranks_decide() -> None:
    found = report(pods_on(ready="False"))

    assert found is not None
    assert found.notes == ()
    assert found.with_ranks is not None
    assert [skew.after for skew in found.with_ranks.skews] == [0]


def test_nothing_is_reported_where_no_pod_is_removed_or_by_another_controller() -> None:
    assert report(pods_on(), replicas=6) is None
    assert report(pods_on(), order=RemovalOrder.ORDINAL) is None
    assert report(pods_on(), order=RemovalOrder.UNKNOWN) is None


def test_pods_without_constraints_of_their_own_have_no_ranks() -> None:
    spreads = scenario(NODES, spread_over(ZONE)).spreads

    assert report(pods_on(), spreads=replace(spreads, defaulted=True)) is None
    assert report(pods_on(), spreads=scenario(NODES).spreads) is None


def test_a_job_is_never_scaled_down() -> None:
    before = scenario(NODES, spread_over(HOSTNAME))
    rollout = Rollout("as it is", (), 1, 1, {}, 0, (), ("web-1",))

    assert report_ranks(rollout, before, {}, None, configured=False) is rollout

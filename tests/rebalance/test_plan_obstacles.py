"""Constraints that no evictions make hold, and the reasons."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from tests.policy.placement.clusters import GPU, node, spread_over
from tests.rebalance.situations import (
    Situation,
    budget,
    counts_after,
    web_pods,
    workload_pod,
)
from tests.rebalance.test_plan import A_B, HOSTS, SOFT, fixed, pinned, zonal_storage
from webhook.rebalance.goals import GoalObstacle
from webhook.rebalance.plan import RebalancePlan
from webhook.rebalance.pods import EvictionObstacle


def blocked_budget() -> Situation:
    return Situation(web_pods({"a1": 3}), budgets=[budget(3, 3)])


def two_budgets() -> Situation:
    return Situation(web_pods({"a1": 3}), budgets=[budget(0, 3), budget(1, 3)])


def bare_pods() -> Situation:
    return Situation(fixed(web_pods({"a1": 3}), 2, EvictionObstacle.NO_CONTROLLER))


UNREACHED: dict[str, tuple[Callable[[], Situation], list[GoalObstacle | None]]] = {
    "a budget allows no disruption": (blocked_budget, [GoalObstacle.FIXED_PODS]),
    "several budgets": (two_budgets, [GoalObstacle.FIXED_PODS]),
    "pods without a controller": (bare_pods, [GoalObstacle.FIXED_PODS]),
    "too few domains": (
        lambda: Situation(web_pods({"a1": 3}, spread_over(min_domains=3)), A_B),
        [GoalObstacle.TOO_FEW_DOMAINS],
    ),
    "a full zone": (
        lambda: Situation(web_pods({"a1": 5, "b1": 2}), slots={"c1": 0}),
        [GoalObstacle.NO_NODES],
    ),
    "a tainted zone that counts": (
        lambda: Situation(web_pods({"a1": 3}), [*A_B, node("c1", "c", taints=[GPU])]),
        [GoalObstacle.NO_NODES],
    ),
    "volumes of one zone": (
        lambda: Situation(
            [pinned("web-0", "a1"), pinned("web-1", "a1")], A_B, storage=zonal_storage("a", "a")
        ),
        [GoalObstacle.NO_NODES],
    ),
    "volumes of one zone and a soft constraint": (
        lambda: Situation(
            [pinned(f"web-{i}", f"{zone}1", SOFT) for i, zone in enumerate("aaab")],
            storage=zonal_storage(*"aaab"),
        ),
        [GoalObstacle.NO_NODES],
    ),
    "a pod awaits a node": (
        lambda: Situation([*web_pods({"a1": 3}), workload_pod("web-9", "", [spread_over()])]),
        [GoalObstacle.PENDING_PODS],
    ),
    "a replica has no pod": (
        lambda: Situation([replace(one, missing=1) for one in web_pods({"a1": 3})]),
        [GoalObstacle.MISSING_PODS],
    ),
}


@pytest.mark.parametrize(("build", "obstacles"), UNREACHED.values(), ids=UNREACHED)
def test_constraints_that_no_evictions_make_hold(
    build: Callable[[], Situation], obstacles: list[GoalObstacle | None]
) -> None:
    plan = build().plan()

    assert [goal.obstacle for goal in plan.goals] == obstacles
    assert not plan.restores_all
    assert plan.is_certain
    if None not in obstacles:
        assert not plan.steps


def test_the_domains_of_an_obstacle_are_named() -> None:
    def domains_of(situation: Situation) -> list[tuple[str, ...]]:
        return [goal.obstacle_domains for goal in situation.plan().goals]

    assert domains_of(Situation(web_pods({"a1": 5, "b1": 2}), slots={"c1": 0})) == [("c",)]
    assert domains_of(bare_pods()) == [("a",)]
    assert domains_of(Situation(web_pods({"a1": 5, "b1": 2}))) == [()]


def listed(plan: RebalancePlan) -> list[tuple[str, EvictionObstacle]]:
    return [(one.pod, one.obstacle) for one in plan.immovable]


def test_pods_that_are_not_evicted_are_listed_if_a_constraint_that_fails_counts_them() -> None:
    others = [workload_pod("other", "b1", obstacle=EvictionObstacle.NO_CONTROLLER, labels={})]
    bare = bare_pods()

    assert listed(Situation([*bare.pods, *others]).plan()) == [
        ("web-0", EvictionObstacle.NO_CONTROLLER),
        ("web-1", EvictionObstacle.NO_CONTROLLER),
    ]
    assert set(listed(blocked_budget().plan())) == {
        (f"web-{number}", EvictionObstacle.BUDGET) for number in range(3)
    }
    assert {obstacle for _, obstacle in listed(two_budgets().plan())} == {
        EvictionObstacle.MANY_BUDGETS
    }


def test_an_unscheduled_pod_of_another_workload_does_not_matter() -> None:
    pending = workload_pod("api-0", "", [], workload="Deployment/api", labels={"app": "api"})

    plan = Situation([*web_pods({"a1": 2}), pending], A_B).plan()

    assert len(plan.steps) == 1


def test_pods_on_unknown_nodes_count_nowhere_and_stay() -> None:
    plan = Situation(web_pods({"a1": 1, "gone": 2}), A_B).plan()

    assert not plan.steps
    assert counts_after(plan) == [{"a": 1, "b": 0}]


def test_each_step_names_the_nodes_that_the_scheduler_may_choose() -> None:
    plan = Situation(web_pods({"a1": 3, "b1": 1}, spread_over(max_skew=2)), HOSTS).plan()

    assert [(one.pod, one.node, one.candidates) for one in plan.steps] == [
        ("web-0", "a1", ("b1", "b2", "c1", "c2"))
    ]
    assert plan.steps[0].target in plan.steps[0].candidates

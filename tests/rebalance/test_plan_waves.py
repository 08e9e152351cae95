"""The first wave of a plan, and what its plan leaves unproven."""

from msgspec.structs import replace

from tests.policy.placement.clusters import spread_over
from tests.rebalance.situations import (
    Situation,
    budget,
    web_pods,
    zone_nodes,
)
from tests.rebalance.test_plan import SOFT, of_workload
from webhook.rebalance.goals import GoalObstacle
from webhook.rebalance.pods import EvictionObstacle


def test_the_first_wave_has_one_eviction_of_each_separate_set_of_workloads() -> None:
    web = [*web_pods({"a1": 5, "b1": 1, "c1": 1})]
    api = of_workload("api", *["a1"] * 3, "b1", "c1")
    plan = Situation([*web, *api]).plan()

    assert [step.pod for step in plan.steps] == ["web-0", "web-1", "api-0"]
    assert [step.pod for step in plan.wave] == ["web-0", "api-0"]


def test_workloads_that_compete_for_room_are_evicted_one_after_another() -> None:
    """The cluster is too large to plan both together."""
    nodes = zone_nodes("a", "b", "c", nodes=6)
    api = of_workload("api", *["a1"] * 3, "b1", "c1")
    pods = [*web_pods({"a1": 3, "b1": 1, "c1": 1}), *api]
    plan = Situation(pods, nodes, slots={"b1": 2, "c1": 3}).plan()

    assert len(plan.steps) == 2
    assert plan.wave == plan.steps[:1]


def test_budgets_that_allow_no_eviction_are_the_reason() -> None:
    """Two pods are not ready, so that their budget allows an eviction only after their recovery."""
    pods = web_pods({"a1": 5, "b1": 1, "c1": 1})
    unready = [replace(one, is_ready=False) for one in pods[:2]]

    plan = Situation([*unready, *pods[2:]], budgets=[budget(6, 5)]).plan()

    assert [result.obstacle for result in plan.goals] == [GoalObstacle.BUDGETS]
    assert {(one.obstacle, one.budgets) for one in plan.immovable} == {
        (EvictionObstacle.BUDGET, ("web-6",))
    }


def test_a_plan_of_a_part_of_the_cluster_proves_nothing() -> None:
    plan = Situation(web_pods({"a1": 3, "b1": 1, "c1": 1})).plan()

    part = plan.without_proof()

    assert (plan.is_least, part.is_least) == (True, False)
    assert (part.steps, part.least, part.is_certain) == (plan.steps, 0, False)


def test_constraints_of_other_pods_are_results_if_they_do_not_hold() -> None:
    def obstacles_of(placed: dict[str, int]) -> list[GoalObstacle | None]:
        fixed = web_pods(placed, workload="Job/web", obstacle=EvictionObstacle.JOB)
        return [result.obstacle for result in Situation(fixed).plan().goals]

    assert obstacles_of({"a1": 3}) == [GoalObstacle.NO_EVICTIONS]
    assert obstacles_of({"a1": 1}) == []


def test_nothing_is_proven_if_a_template_differs_from_its_pods() -> None:
    pods = web_pods({"a1": 5, "b1": 1, "c1": 1})

    plan = Situation([replace(one, differences=("host port 80",)) for one in pods]).plan()

    assert len(plan.steps) == 2
    assert (plan.least, plan.is_certain) == (1, False)
    even = web_pods({"a1": 1, "b1": 1, "c1": 1})
    idle = Situation([replace(one, differences=("host port 80",)) for one in even]).plan()
    assert (idle.least, idle.is_certain) == (0, True)


def test_another_workload_that_waits_for_pods_prevents_no_plan() -> None:
    web = of_workload("web", "a1", "a1", "a1", "b1", "c1")
    db = [replace(one, missing=1) for one in of_workload("db", "a1", "a1", tier="back")]

    plan = Situation([*web, *db], slots={"b1": 2, "c1": 2}).plan()

    assert [one.workload for one in plan.steps] == ["Deployment/web"]
    assert [goal.obstacle for goal in plan.goals] == [None, GoalObstacle.MISSING_PODS]
    assert not plan.is_certain


def test_a_surplus_pod_has_no_replacement() -> None:
    pods = web_pods({"a1": 3, "b1": 1, "c1": 1})

    assert not Situation([replace(one, missing=-1) for one in pods]).plan().is_certain


def test_preferred_affinity_may_outweigh_a_soft_constraint() -> None:
    for constraint, is_certain in ((SOFT, False), (spread_over(), True)):
        pods = web_pods({"a1": 3, "b1": 1, "c1": 1}, constraint, has_preferences=True)

        plan = Situation(pods).plan()

        assert (len(plan.steps), plan.least, plan.is_certain) == (1, 1, is_certain)

"""The benchmark of plans of evictions, on a small cluster."""

from tests.bench.rebalances import build_cluster, plan_cluster, plan_row


def test_a_plan_of_the_uneven_deployment_restores_its_constraints() -> None:
    seconds, plan = plan_cluster(build_cluster(30, 9))

    assert seconds > 0
    assert sorted(plan.goals[0].before.pods.values()) == [3, 9, 18]
    assert all(goal.holds for goal in plan.goals)
    assert (len(plan.steps), plan.is_least) == (8, True)


def test_a_row_has_the_evictions_of_the_plan() -> None:
    row = plan_row("plan", 2, replicas=30, nodes=9)

    assert (row.base, len(row.values)) == ("8 evictions", 2)

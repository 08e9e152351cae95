import pytest

from tests.policy.placement.clusters import spread_over
from tests.rebalance.situations import (
    Situation,
    effort,
    pose,
    web_pods,
    workload_pod,
    zone_nodes,
)
from webhook.policy.model import HOSTNAME, LabelSelector
from webhook.rebalance.bounds import UNREACHABLE, EvictionBound
from webhook.rebalance.search import SearchProblem, join_cases

HOSTS = zone_nodes("a", "b", nodes=2)


def bounds(problem: SearchProblem) -> tuple[int, int]:
    return problem.measure(problem.model.start)


def test_goals_that_count_the_same_pods_share_evictions() -> None:
    pods = web_pods({"a1": 3, "a2": 1}, spread_over(), spread_over(HOSTNAME))

    assert bounds(pose(Situation(pods, HOSTS))) == (2, 4)


def test_goals_that_count_different_pods_do_not() -> None:
    api = spread_over(label_selector=LabelSelector({"app": "api"}))
    pods = [
        *web_pods({"a1": 4}),
        *(
            workload_pod(f"api-{n}", "a1", [api], workload="X/api", labels={"app": "api"})
            for n in range(2)
        ),
    ]

    assert bounds(pose(Situation(pods, zone_nodes("a", "b")))) == (3, 3)


def test_a_goal_that_can_never_hold_has_no_bound() -> None:
    problem = pose(Situation(web_pods({"a1": 3}), slots={"b1": 0}))

    assert problem.bound(problem.model.start) == UNREACHABLE


def test_evictions_are_ranked_by_the_worst_state_after_them() -> None:
    problem = pose(Situation(web_pods({"a1": 4, "b1": 2}, spread_over(max_skew=2))))
    start = problem.model.start

    ranked = list(problem.rank_evictions(start, 9))

    assert [max(map(problem.bound, outcomes)) for _, outcomes in ranked] == [0, 1]
    assert len(list(problem.rank_evictions(start, 0))) == 1
    assert [one for one, _ in problem.rank_evictions(start, 9, 1)] == [ranked[0][0]]


def test_of_equal_evictions_one_of_the_workload_with_the_most_pods_there_comes_first() -> None:
    both = spread_over(label_selector=LabelSelector({"app": "web"}))
    placed = {"blue": ("a1", "b1", "c1"), "green": ("a1", "a2", "b1")}
    pods = [
        workload_pod(f"{name}-{n}", node, [both], workload=f"X/{name}", labels={"app": "web"})
        for name, nodes in placed.items()
        for n, node in enumerate(nodes)
    ]
    problem = pose(Situation(pods, [*zone_nodes("a", nodes=2), *zone_nodes("b", "c")]))

    (eviction, _), *_ = problem.rank_evictions(problem.model.start, 9, 6)

    assert problem.model.kinds[eviction.kind].example.workload == "X/green"


def test_pods_that_no_goal_counts_are_tried_last() -> None:
    other = workload_pod("db", "b1", labels={"app": "db"}, workload="Deployment/db")
    problem = pose(Situation([*web_pods({"a1": 3}), other]))

    ((eviction, _),) = problem.rank_evictions(problem.model.start, 9, 1)

    assert problem.model.find_domain(0, eviction) is not None


def test_the_effort_is_spent_when_enough_cells_were_looked_at() -> None:
    problem = pose(Situation(web_pods({"a1": 3})))
    allowed = effort(problem, 1)

    assert not allowed.is_spent
    problem.measure(problem.model.start)
    assert allowed.is_spent


def cases(*numbers: tuple[int, int]) -> list[EvictionBound]:
    return [EvictionBound(counted, others, 0) for counted, others in numbers]


JOINED: dict[str, tuple[list[list[list[EvictionBound]]], int]] = {
    "no goals": ([], 0),
    "the same pods": ([[cases((2, 0)), cases((3, 0))]], 3),
    "different pods": ([[cases((2, 0))], [cases((3, 0))]], 5),
    "pods of the other goal": ([[cases((2, 0), (0, 3))], [cases((3, 0))]], 3),
    "some pods of the other goal": ([[cases((2, 0), (0, 4))], [cases((3, 0))]], 4),
    "too many other pods": ([[cases((2, 0), (0, 6))], [cases((3, 0))]], 5),
    "other pods without goals": ([[cases((2, 0), (0, 1))]], 1),
    "no case": ([[cases((UNREACHABLE, 0))], [cases((3, 0))]], UNREACHABLE),
}


@pytest.mark.parametrize(("parts", "number"), JOINED.values(), ids=JOINED)
def test_the_evictions_for_several_goals(
    parts: list[list[list[EvictionBound]]], number: int
) -> None:
    assert join_cases(parts) == number

from itertools import product

import pytest

from tests.policy.placement.clusters import GPU, node, spread_over
from tests.rebalance.situations import (
    Situation,
    budget,
    compile_situation,
    web_pods,
    workload_pod,
    zone_nodes,
)
from webhook.policy.model import SCHEDULE_ANYWAY
from webhook.rebalance.bounds import (
    UNREACHABLE,
    DomainFilter,
    DomainOpenings,
    DomainRange,
    bound_goal,
    find_range,
)
from webhook.rebalance.counts import CompiledLimit
from webhook.rebalance.goals import GoalObstacle
from webhook.rebalance.model import find_evictable

A_B = zone_nodes("a", "b")


def limit(max_skew: int = 1, min_domains: int = 1) -> CompiledLimit:
    return CompiledLimit(0, max_skew, min_domains, matches_pod=True)


def free_range(*pods: int) -> DomainRange:
    size, total = len(pods), sum(pods)
    return DomainRange((0,) * size, (total,) * size, total, is_closed=True)


BOUNDS: dict[str, tuple[tuple[int, ...], int, int, int]] = {
    "an empty zone": ((5, 2, 0), 1, 1, 2),
    "one pod moves": ((3, 1), 1, 1, 1),
    "even": ((2, 2, 1), 1, 1, 0),
    "within maxSkew": ((4, 2), 2, 1, 0),
    "more missing than above": ((2, 2, 2, 0), 1, 1, 1),
    "fewer pods than zones": ((3, 0, 0, 0), 1, 1, 2),
    "no pods": ((0, 0), 1, 1, 0),
    "no domains": ((), 1, 1, 0),
    "too few domains, but few pods": ((2, 0), 1, 3, 1),
}


@pytest.mark.parametrize(("pods", "max_skew", "min_domains", "number"), BOUNDS.values(), ids=BOUNDS)
def test_the_least_number_of_evictions(
    pods: tuple[int, ...], max_skew: int, min_domains: int, number: int
) -> None:
    goal = bound_goal(limit(max_skew, min_domains), len(pods), free_range(*pods))

    assert goal.bound(pods) == number


def open_only(*opened: int) -> DomainFilter:
    return lambda _, empty: frozenset(opened).intersection(empty)


OPENINGS: dict[str, tuple[tuple[int, ...], frozenset[int], DomainFilter, int]] = {
    "a closed domain": ((2, 2, 0), frozenset({2}), open_only(), 0),
    "a domain that is open": ((2, 2, 0), frozenset({2}), open_only(2), 1),
    "a domain that has pods": ((4, 4, 1), frozenset({2}), open_only(), 1),
    "too full beside a closed domain": ((5, 1, 0), frozenset({2}), open_only(), 2),
    "all domains closed but one": ((5, 0), frozenset({0, 1}), open_only(), 0),
    "all domains optional": ((5, 0), frozenset({0, 1}), open_only(1), 1),
}


@pytest.mark.parametrize(("pods", "optional", "find", "number"), OPENINGS.values(), ids=OPENINGS)
def test_domains_that_may_not_count(
    pods: tuple[int, ...], optional: frozenset[int], find: DomainFilter, number: int
) -> None:
    openings = DomainOpenings(frozenset(range(len(pods))), optional, find)

    goal = bound_goal(limit(), len(pods), free_range(*pods), openings)

    assert goal.bound(pods) == number


def test_other_pods_may_close_any_domain() -> None:
    openings = DomainOpenings(frozenset({0, 1}), frozenset({1}), open_only())

    assert openings.without_limits.optional == {0, 1}


def test_the_bound_is_the_number_of_moves_between_domains() -> None:
    for pods in product(range(6), repeat=3):
        goal = bound_goal(limit(), 3, free_range(*pods))
        ends = [
            end
            for end in product(range(sum(pods) + 1), repeat=3)
            if sum(end) == sum(pods) and max(end) - min(end) <= 1
        ]
        moves = [sum(max(0, a - b) for a, b in zip(pods, end, strict=True)) for end in ends]
        assert goal.bound(pods) == min(moves), pods


def test_the_level_is_the_most_pods_of_a_domain_in_the_end() -> None:
    pods = (5, 2, 0)

    assert bound_goal(limit(), 3, free_range(*pods)).find_level(pods) == (2, 3)


NEVER: dict[str, tuple[DomainRange, int, GoalObstacle, tuple[int, ...]]] = {
    "too many pods stay": (
        DomainRange((4, 0, 0), (9, 9, 9), 6, is_closed=True),
        1,
        GoalObstacle.FIXED_PODS,
        (0,),
    ),
    "a domain takes none": (
        DomainRange((0, 0, 0), (9, 9, 0), 6, is_closed=True),
        1,
        GoalObstacle.NO_NODES,
        (2,),
    ),
    "two domains take too few": (
        DomainRange((0, 0, 0), (1, 9, 1), 6, is_closed=True),
        1,
        GoalObstacle.NO_NODES,
        (0, 2),
    ),
    "pods have no place": (
        DomainRange((0, 0), (5, 5), 5, is_closed=True),
        3,
        GoalObstacle.TOO_FEW_DOMAINS,
        (),
    ),
    "pods stay where few domains allow none": (
        DomainRange((2, 0), (5, 5), 2, is_closed=False),
        3,
        GoalObstacle.TOO_FEW_DOMAINS,
        (),
    ),
}


@pytest.mark.parametrize(("reach", "min_domains", "obstacle", "domains"), NEVER.values(), ids=NEVER)
def test_constraints_that_can_never_hold(
    reach: DomainRange, min_domains: int, obstacle: GoalObstacle, domains: tuple[int, ...]
) -> None:
    size = len(reach.least)
    goal = bound_goal(limit(min_domains=min_domains), size, reach)

    assert (goal.obstacle, goal.obstacle_domains) == (obstacle, domains)
    assert goal.bound((9,) * size) == UNREACHABLE
    assert bound_goal(limit(), size, reach.without_limits).obstacle is None


def range_of(situation: Situation) -> DomainRange:
    compiled = compile_situation(situation)
    evictable = find_evictable(compiled.space.pods, situation.budgets)
    return find_range(compiled.model.counts[0], compiled.space, evictable)


def test_the_range_of_each_domain() -> None:
    pods = [*web_pods({"a1": 3}), workload_pod("web-9", "b1", [spread_over()])]

    assert range_of(Situation(pods, A_B, slots={"b1": 2})) == DomainRange(
        (0, 0), (AMPLE, 2), 4, is_closed=True
    )


AMPLE = 1 << 62


def test_pods_under_a_budget_stay() -> None:
    found = range_of(Situation(web_pods({"a1": 3}), A_B, budgets=[budget(3, 3)]))

    assert found.least == (3, 0)


def test_domains_that_take_no_pods_keep_those_that_they_have() -> None:
    pods = web_pods({"a1": 3, "b1": 2})
    nodes = [node("a1", "a"), node("b1", "b", taints=[GPU])]

    assert range_of(Situation(pods, nodes)).most == (AMPLE, 2)


def test_pods_on_nodes_that_do_not_count_may_come_in_and_go_out() -> None:
    honoring = spread_over(node_taints_policy="Honor", when_unsatisfiable=SCHEDULE_ANYWAY)
    tainted = [*A_B, node("c1", "c", taints=[GPU])]
    outside = web_pods({"a1": 1, "c1": 2}, honoring)
    inside = web_pods({"a1": 1, "b1": 2}, honoring)
    unzoned = web_pods({"a1": 1}, spread_over(when_unsatisfiable=SCHEDULE_ANYWAY))

    assert range_of(Situation(outside, tainted)).total == 3
    assert not range_of(Situation(outside, tainted)).is_closed
    assert range_of(Situation(inside, tainted)).is_closed
    assert not range_of(Situation(unzoned, [*A_B, node("x1")])).is_closed

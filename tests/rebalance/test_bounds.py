from itertools import product

import pytest

from webhook.rebalance.bounds import UNREACHABLE, EvictionBound, bound_goal
from webhook.rebalance.counts import CompiledLimit
from webhook.rebalance.goals import GoalObstacle
from webhook.rebalance.openings import DomainOpenings, RoomCounter
from webhook.rebalance.ranges import DomainRange

Numbers = tuple[int, int]
"""Evictions of counted pods, and of others."""


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

    assert goal.find_least(pods).total == number


def rooms(*numbers: int) -> RoomCounter:
    return lambda *_: numbers


OPENINGS: dict[str, tuple[tuple[int, ...], frozenset[int], RoomCounter | None, list[Numbers]]] = {
    "a closed domain": ((2, 2, 0), frozenset({2}), rooms(9, 9, 0), [(0, 0)]),
    "no room ever": ((2, 2, 0), frozenset({2}), None, [(0, 0)]),
    "a domain that is open": ((2, 2, 0), frozenset({2}), rooms(9, 9, 3), [(1, 0), (0, 3)]),
    "a domain that has pods": ((4, 4, 1), frozenset({2}), rooms(9, 9, 3), [(2, 0), (1, 3)]),
    "a domain with many pods": ((6, 4, 3), frozenset({2}), rooms(9, 9, 0), [(1, 0)]),
    "too full beside a closed domain": ((5, 1, 0), frozenset({2}), rooms(9, 9, 0), [(2, 0)]),
    "all domains closed but one": ((5, 0), frozenset({0, 1}), rooms(1, 0), [(0, 0)]),
    "all domains optional": ((5, 0), frozenset({0, 1}), rooms(7, 1), [(2, 0), (0, 1)]),
    "domains that are emptied": ((6, 1, 1), frozenset({1, 2}), rooms(9, 2, 3), [(3, 0), (2, 5)]),
}


@pytest.mark.parametrize(("pods", "optional", "count", "numbers"), OPENINGS.values(), ids=OPENINGS)
def test_domains_that_may_not_count(
    pods: tuple[int, ...],
    optional: frozenset[int],
    count: RoomCounter | None,
    numbers: list[Numbers],
) -> None:
    openings = DomainOpenings(frozenset(range(len(pods))), optional, count)

    goal = bound_goal(limit(), len(pods), free_range(*pods), openings)

    assert [(case.counted, case.others) for case in goal.list_cases(pods)] == numbers
    assert goal.find_least(pods).total == min(map(sum, numbers))


def test_some_pod_has_to_move_if_it_is_not_known_which() -> None:
    openings = DomainOpenings(frozenset({0, 1}), frozenset({1}), rooms(1, 1), is_filled_up=False)

    goal = bound_goal(limit(), 2, free_range(2, 0), openings)

    assert [(case.counted, case.others) for case in goal.list_cases((2, 0))] == [(0, 1)]


def test_a_domain_with_pods_that_stay_always_counts() -> None:
    reach = DomainRange((0, 1), (9, 9), 5, is_closed=True)
    openings = DomainOpenings(frozenset({0, 1}), frozenset({0, 1}), rooms(1, 1))

    assert bound_goal(limit(), 2, reach, openings).openings.optional == {0}


def test_a_domain_with_too_little_room_cannot_count() -> None:
    openings = DomainOpenings(frozenset({0, 1, 2}), frozenset({2}), rooms(9, 9, 4))
    reach = DomainRange((0, 0, 0), (9, 9, 1), 8, is_closed=True)

    cases = bound_goal(limit(), 3, reach, openings).list_cases((6, 1, 1))

    assert [(case.counted, case.others) for case in cases] == [(UNREACHABLE, 0), (3, 4)]


def test_domains_with_little_room_do_not_count_first() -> None:
    openings = DomainOpenings(frozenset({0, 1, 2}), frozenset({1, 2}), rooms(9, 9, 9))
    reach = DomainRange((0, 0, 0), (9, 4, 2), 12, is_closed=False)

    assert bound_goal(limit(), 3, reach, openings).highest == (2, 4, 9)


def test_the_bound_is_the_number_of_moves_between_domains() -> None:
    for pods in product(range(6), repeat=3):
        goal = bound_goal(limit(), 3, free_range(*pods))
        ends = [
            end
            for end in product(range(sum(pods) + 1), repeat=3)
            if sum(end) == sum(pods) and max(end) - min(end) <= 1
        ]
        moves = [sum(max(0, a - b) for a, b in zip(pods, end, strict=True)) for end in ends]
        assert goal.find_least(pods).total == min(moves), pods


def test_the_level_is_the_most_pods_of_a_domain_in_the_end() -> None:
    pods = (5, 2, 0)

    assert bound_goal(limit(), 3, free_range(*pods)).find_least(pods) == EvictionBound(2, 0, 3)


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
    assert goal.find_least((9,) * size).total == UNREACHABLE
    assert bound_goal(limit(), size, reach.without_limits).obstacle is None

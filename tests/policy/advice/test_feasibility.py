from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from webhook.policy.advice.feasibility import (
    FEASIBILITY_REPLICAS,
    SKEW_PAIRS,
    SkewLimit,
    can_place,
    first_unplaceable,
)

ONE, TWO = SkewLimit(1), SkewLimit(2)
EMPTY_ONE, EMPTY_TWO = SkewLimit(1, has_minimum=False), SkewLimit(2, has_minimum=False)

# replicas, shapes of the zones, limit of zones, limit of nodes, whether it is possible
CASES: dict[str, tuple[int, list[int], SkewLimit | None, SkewLimit | None, bool]] = {
    "even zones": (6, [2] * 3, ONE, ONE, True),
    "a small zone and a large one": (6, [1, 3], ONE, ONE, False),
    "the same, nodes alone": (6, [1, 3], None, ONE, True),
    "the same, zones alone": (6, [1, 3], ONE, None, True),
    "the same, less strict on nodes": (6, [1, 3], ONE, TWO, True),
    "the same, with few replicas": (3, [1, 3], ONE, ONE, True),
    "a closed zone": (3, [1, 0], ONE, None, False),
    "a closed zone with few replicas": (1, [1, 0], ONE, None, True),
    "a closed node": (3, [2], None, EMPTY_ONE, False),
    "too few zones for minDomains": (3, [1] * 2, EMPTY_ONE, None, False),
    "too few nodes for minDomains": (5, [2], None, EMPTY_TWO, False),
    "no constraint": (9, [1], None, None, True),
    "no constraint, and a closed zone": (9, [1, 0], None, None, True),
    "as many as are looked at": (FEASIBILITY_REPLICAS, [1, 1], ONE, ONE, True),
}  # fmt: skip


@pytest.mark.parametrize(
    ("replicas", "shapes", "outer", "inner", "possible"), CASES.values(), ids=CASES.keys()
)
def test_fits(
    replicas: int,
    shapes: list[int],
    outer: SkewLimit | None,
    inner: SkewLimit | None,
    possible: bool,
) -> None:
    assert can_place(replicas, Counter(shapes), outer, inner) is possible


def reachable(replicas: int, shapes: list[int], outer: SkewLimit, inner: SkewLimit) -> bool:
    """Place one pod after another, in every order, as the filter of the plugin allows it."""
    states = {tuple((0,) * nodes for nodes in shapes)}
    for _ in range(replicas):
        states = {
            (*state[:zone], (*pods[:i], pods[i] + 1, *pods[i + 1 :]), *state[zone + 1 :])
            for state in states
            for zone, pods in enumerate(state)
            for i in range(len(pods))
            if allows(state, zone, i, outer, inner)
        }
    return bool(states)


def allows(
    state: tuple[tuple[int, ...], ...], zone: int, i: int, outer: SkewLimit, inner: SkewLimit
) -> bool:
    sums = [sum(pods) for pods in state]
    lowest = min(sums) if outer.has_minimum else 0
    least = min(min(pods) for pods in state if pods) if inner.has_minimum else 0
    return (
        sums[zone] + 1 - lowest <= outer.max_skew
        and state[zone][i] + 1 - least <= inner.max_skew
    )  # fmt: skip


shapes = st.lists(st.integers(0, 2), min_size=1, max_size=3).filter(any)
limits = st.builds(SkewLimit, st.integers(1, 2), st.booleans())


@given(st.integers(1, 5), shapes, limits, limits)
@example(6, [1, 3], ONE, ONE)
def test_replicas_that_can_be_placed_in_some_order_are_possible(
    replicas: int, made: list[int], outer: SkewLimit, inner: SkewLimit
) -> None:
    if reachable(replicas, made, outer, inner):
        assert can_place(replicas, Counter(made), outer, inner)


def test_a_number_that_is_possible_may_follow_one_that_is_not() -> None:
    zones = Counter([1, 2])

    assert can_place(7, zones, ONE, ONE)  # 3 pods and 2 + 2
    assert not can_place(6, zones, ONE, ONE)
    assert not reachable(6, [*zones.elements()], ONE, ONE)
    assert [first_unplaceable(most, zones, ONE, ONE) for most in (5, 6, 7)] == [None, 6, 6]
    assert first_unplaceable(7, zones, ONE, None) is None


def test_with_large_skews_only_the_last_pod_is_checked() -> None:
    large = SkewLimit(SKEW_PAIRS)
    shapes = Counter([1, 0])  # a closed zone: at most maxSkew pods

    assert first_unplaceable(SKEW_PAIRS + 2, shapes, large, TWO) == SKEW_PAIRS + 2
    assert first_unplaceable(SKEW_PAIRS, shapes, large, None) is None


@given(st.integers(1, 5), shapes, limits, limits)
@example(5, [1, 2], ONE, ONE)
def test_the_first_pod_that_has_no_place_has_none_in_any_order(
    replicas: int, made: list[int], outer: SkewLimit, inner: SkewLimit
) -> None:
    first = first_unplaceable(replicas, Counter(made), outer, inner)

    assert first is None or not reachable(first, made, outer, inner)

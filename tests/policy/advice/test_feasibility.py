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
from webhook.policy.advice.feasibility import OuterDomain as Zone

ONE, TWO = SkewLimit(1), SkewLimit(2)
EMPTY_ONE, EMPTY_TWO = SkewLimit(1, has_minimum=False), SkewLimit(2, has_minimum=False)

# replicas, shapes of the zones, limit of zones, limit of nodes, whether it is possible
CASES: dict[str, tuple[int, list[Zone], SkewLimit | None, SkewLimit | None, bool]] = {
    "even zones": (6, [Zone(2, 0)] * 3, ONE, ONE, True),
    "a small zone and a large one": (6, [Zone(1, 0), Zone(3, 0)], ONE, ONE, False),
    "the same, nodes alone": (6, [Zone(1, 0), Zone(3, 0)], None, ONE, True),
    "the same, zones alone": (6, [Zone(1, 0), Zone(3, 0)], ONE, None, True),
    "the same, less strict on nodes": (6, [Zone(1, 0), Zone(3, 0)], ONE, TWO, True),
    "the same, with few replicas": (3, [Zone(1, 0), Zone(3, 0)], ONE, ONE, True),
    "a closed zone": (3, [Zone(1, 0), Zone(0, 1)], ONE, None, False),
    "a closed zone with few replicas": (1, [Zone(1, 0), Zone(0, 1)], ONE, None, True),
    "a closed node": (3, [Zone(2, 1)], None, ONE, False),
    "too few zones for minDomains": (3, [Zone(1, 0)] * 2, EMPTY_ONE, None, False),
    "too few nodes for minDomains": (5, [Zone(2, 0)], None, EMPTY_TWO, False),
    "no constraint": (9, [Zone(1, 0)], None, None, True),
    "no constraint, and a closed zone": (9, [Zone(1, 0), Zone(0, 1)], None, None, True),
    "as many as are looked at": (FEASIBILITY_REPLICAS, [Zone(1, 0), Zone(1, 0)], ONE, ONE, True),
}  # fmt: skip


@pytest.mark.parametrize(
    ("replicas", "shapes", "outer", "inner", "possible"), CASES.values(), ids=CASES.keys()
)
def test_fits(
    replicas: int,
    shapes: list[Zone],
    outer: SkewLimit | None,
    inner: SkewLimit | None,
    possible: bool,
) -> None:
    assert can_place(replicas, Counter(shapes), outer, inner) is possible


def reachable(replicas: int, shapes: list[Zone], outer: SkewLimit, inner: SkewLimit) -> bool:
    """Place one pod after another, in every order, as the filter of the plugin allows it."""
    zone_of = [z for z, shape in enumerate(shapes) for _ in range(shape.open + shape.closed)]
    is_open = [i < shape.open for shape in shapes for i in range(shape.open + shape.closed)]
    states = {tuple(0 for _ in zone_of)}
    for _ in range(replicas):
        states = {
            (*state[:i], state[i] + 1, *state[i + 1 :])
            for state in states
            for i in range(len(state))
            if is_open[i] and allows(state, i, zone_of, outer, inner)
        }
    return bool(states)


def allows(
    state: tuple[int, ...], i: int, zone_of: list[int], outer: SkewLimit, inner: SkewLimit
) -> bool:
    pods = Counter(dict.fromkeys(zone_of, 0))
    for zone, number in zip(zone_of, state, strict=True):
        pods[zone] += number
    lowest = min(pods.values()) if outer.has_minimum else 0
    least = min(state) if inner.has_minimum else 0
    return (
        pods[zone_of[i]] + 1 - lowest <= outer.max_skew
        and state[i] + 1 - least <= inner.max_skew
    )  # fmt: skip


shapes = st.builds(Zone, st.integers(0, 2), st.integers(0, 1)).filter(any)
limits = st.builds(SkewLimit, st.integers(1, 2), st.booleans())


@given(st.integers(1, 5), st.lists(shapes, min_size=1, max_size=3), limits, limits)
@example(6, [Zone(1, 0), Zone(3, 0)], ONE, ONE)
def test_replicas_that_can_be_placed_in_some_order_are_possible(
    replicas: int, made: list[Zone], outer: SkewLimit, inner: SkewLimit
) -> None:
    if any(shape.open for shape in made) and reachable(replicas, made, outer, inner):
        assert can_place(replicas, Counter(made), outer, inner)


def test_a_number_that_is_possible_may_follow_one_that_is_not() -> None:
    zones = Counter([Zone(1, 0), Zone(2, 0)])

    assert can_place(7, zones, ONE, ONE)  # 3 pods and 2 + 2
    assert not can_place(6, zones, ONE, ONE)
    assert not reachable(6, [*zones.elements()], ONE, ONE)
    assert [first_unplaceable(most, zones, ONE, ONE) for most in (5, 6, 7)] == [None, 6, 6]
    assert first_unplaceable(7, zones, ONE, None) is None


def test_with_large_skews_only_the_last_pod_is_checked() -> None:
    large = SkewLimit(SKEW_PAIRS)
    shapes = Counter([Zone(1, 0), Zone(0, 1)])  # a closed zone: at most maxSkew pods

    assert first_unplaceable(SKEW_PAIRS + 2, shapes, large, TWO) == SKEW_PAIRS + 2
    assert first_unplaceable(SKEW_PAIRS, shapes, large, None) is None


@given(st.integers(1, 5), st.lists(shapes, min_size=1, max_size=3), limits, limits)
@example(5, [Zone(1, 0), Zone(2, 0)], ONE, ONE)
def test_the_first_pod_that_has_no_place_has_none_in_any_order(
    replicas: int, made: list[Zone], outer: SkewLimit, inner: SkewLimit
) -> None:
    if any(shape.open for shape in made):
        first = first_unplaceable(replicas, Counter(made), outer, inner)

        assert first is None or not reachable(first, made, outer, inner)

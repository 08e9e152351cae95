"""The worst order of placement, compared with every order that kube-scheduler's filter allows."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.policy.advice.feasibility import SkewLimit
from webhook.policy.advice.worstorder import find_first_pending

ONE, TWO, THREE = SkewLimit(1), SkewLimit(2), SkewLimit(3)
FLAT_ONE, FLAT_TWO = SkewLimit(1, has_minimum=False), SkewLimit(2, has_minimum=False)

# replicas, nodes of each zone, limit of zones, limit of nodes, first pod without a place
CASES: dict[str, tuple[int, list[int], SkewLimit, SkewLimit, int | None]] = {
    "even zones": (30, [2] * 3, ONE, ONE, None),
    "a small zone and a large one": (6, [1, 3], ONE, ONE, 4),
    "the same, in an order that is not the best": (6, [1, 3], ONE, TWO, 6),
    "the same, with enough on each node": (6, [1, 3], ONE, THREE, None),
    "the same, with fewer replicas": (5, [1, 3], ONE, TWO, None),
    "a closed zone": (3, [1, 0], ONE, TWO, 2),
    "a closed node": (3, [2], TWO, FLAT_ONE, 3),
    "too few zones for minDomains": (3, [1] * 2, FLAT_ONE, ONE, 3),
    "too few nodes for minDomains": (5, [2], ONE, FLAT_TWO, 5),
    "one pod": (1, [1, 3], ONE, ONE, None),
}  # fmt: skip


@pytest.mark.parametrize(
    ("replicas", "sizes", "outer", "inner", "pending"), CASES.values(), ids=CASES.keys()
)
def test_the_first_pod_without_a_place_in_the_worst_order(
    replicas: int, sizes: list[int], outer: SkewLimit, inner: SkewLimit, pending: int | None
) -> None:
    assert find_first_pending(replicas, Counter(sizes), outer, inner) == pending


Pods = tuple[tuple[int, ...], ...]
"""The pods on each node, by zone; sorted, since zones of a size are alike."""


def following(pods: Pods, outer: SkewLimit, inner: SkewLimit) -> set[Pods]:
    """List where one more pod can be, as the filter of the plugin allows it."""
    sums = [sum(zone) for zone in pods]
    lowest = min(sums) if outer.has_minimum else 0
    least = min(min(zone) for zone in pods if zone) if inner.has_minimum else 0
    return {
        tuple(sorted((*pods[:i], raise_one(zone, j), *pods[i + 1 :])))
        for i, zone in enumerate(pods)
        for j, number in enumerate(zone)
        if sums[i] + 1 - lowest <= outer.max_skew and number + 1 - least <= inner.max_skew
    }


def raise_one(zone: tuple[int, ...], node: int) -> tuple[int, ...]:
    return tuple(sorted((*zone[:node], zone[node] + 1, *zone[node + 1 :])))


def try_all(replicas: int, sizes: list[int], outer: SkewLimit, inner: SkewLimit) -> int | None:
    states = {tuple(sorted((0,) * size for size in sizes))}
    for placed in range(replicas):
        found = [following(pods, outer, inner) for pods in states]
        if not all(found):
            return placed + 1
        states = set[Pods]().union(*found)
    return None


zone_sizes = st.lists(st.integers(0, 4), min_size=1, max_size=4).filter(any)
limits = st.builds(SkewLimit, st.integers(1, 4), st.sampled_from([True, True, True, False]))


@given(st.integers(1, 9), zone_sizes, limits, limits)
def test_it_is_the_first_in_all_orders(
    replicas: int, sizes: list[int], outer: SkewLimit, inner: SkewLimit
) -> None:
    found = find_first_pending(replicas, Counter(sizes), outer, inner)

    assert found == try_all(replicas, sizes, outer, inner)

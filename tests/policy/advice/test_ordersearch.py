"""The search through orders, compared with one that tries each node for itself."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.policy.advice.ordersearch import (
    MOST_STATES,
    Cell,
    DomainLimit,
    count_places,
    fit_in_every_order,
)

EVEN = DomainLimit(1, (0, 0))
NODES = DomainLimit(1, (0, 0, 0, 0))
SMALL_AND_LARGE: list[Cell] = [(0, 0), (1, 1), (1, 2), (1, 3)]  # a zone of one node, one of three

# limits, cells, pods, whether all fit
FITS: dict[str, tuple[list[DomainLimit], list[Cell], int, bool | None]] = {
    "no node": ([EVEN], [], 1, False),
    "no node, and no pod": ([EVEN], [], 0, True),
    "no constraint": ([], [()], 9, True),
    "one constraint": ([EVEN], [(0,), (1,)], 99, True),
    "a closed domain": ([EVEN], [(0,)], 2, False),
    "a closed domain with enough pods": ([DomainLimit(1, (0, 3))], [(0,)], 4, True),
    "a closed domain with fewer": ([DomainLimit(1, (0, 3))], [(0,)], 5, False),
    "too few domains": ([DomainLimit(2, (0, 0), has_minimum=False)], [(0,), (1,)], 5, False),
    "too few domains for fewer pods": (
        [DomainLimit(2, (0, 0), has_minimum=False)], [(0,), (1,)], 4, True
    ),
    "zones of different sizes": ([EVEN, NODES], SMALL_AND_LARGE, 4, False),
    "zones of different sizes, and few pods": ([EVEN, NODES], SMALL_AND_LARGE, 3, True),
    "zones and racks that cross": (
        [EVEN, EVEN], [(0, 0), (0, 1), (1, 0)], 2, False
    ),
    "zones and racks in all combinations": (
        [EVEN, EVEN], [(0, 0), (0, 1), (1, 0), (1, 1)], 2, True
    ),
    "a constraint that counts other pods only": (
        [DomainLimit(1, (2, 0), adds=False)], [(0,), (1,)], 9, True
    ),
    "a constraint that counts other pods only, and closes every domain": (
        [DomainLimit(1, (2, 0), adds=False)], [(0,)], 1, False
    ),
    "more than can be searched": (
        [DomainLimit(9, (0,) * 9), DomainLimit(9, (0,) * 8)],
        [(zone, rack) for zone in range(9) for rack in range(8)], 9, None,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("limits", "cells", "pods", "fits"), FITS.values(), ids=FITS.keys())
def test_whether_all_pods_fit(
    limits: list[DomainLimit], cells: list[Cell], pods: int, fits: bool | None
) -> None:
    assert fit_in_every_order(limits, cells, pods) is fits


def test_nodes_that_are_alike_are_one_case() -> None:
    many = MOST_STATES
    zones = DomainLimit(1, (0, 0))
    nodes = DomainLimit(1, (0,) * many)

    assert fit_in_every_order([zones, nodes], [(i % 2, i) for i in range(many)], 100) is True


def accepts(limits: Sequence[DomainLimit], pods: Sequence[list[int]], cell: Cell) -> bool:
    return all(
        counted[domain] + limit.adds - (min(counted) if limit.has_minimum else 0) <= limit.max_skew
        for limit, counted, domain in zip(limits, pods, cell, strict=True)
    )


def try_all(limits: Sequence[DomainLimit], cells: Sequence[Cell], number: int) -> set[int]:
    """Count the pods that have a place in each order."""
    states, ends = {tuple(limit.pods for limit in limits)}, set[int]()
    for placed in range(number):
        following: set[tuple[tuple[int, ...], ...]] = set()
        for state in states:
            pods = [list(counted) for counted in state]
            found = [cell for cell in cells if accepts(limits, pods, cell)]
            if not found:
                ends.add(placed)
            for cell in found:
                following.add(
                    tuple(
                        (*counted[:domain], counted[domain] + limit.adds, *counted[domain + 1 :])
                        for limit, counted, domain in zip(limits, state, cell, strict=True)
                    )
                )
        states = following
    return ends | ({number} if states else set())


@st.composite
def situations(draw: st.DrawFn) -> tuple[list[DomainLimit], list[Cell]]:
    """Draw constraints with pods in their domains, and the open nodes."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    limits = [
        DomainLimit(
            draw(st.integers(1, 3)),
            draw(st.tuples(*[st.integers(0, 2)] * size)),
            has_minimum=draw(st.integers(0, 4)) > 0,
            adds=draw(st.integers(0, 4)) > 0,
        )
        for size in sizes
    ]
    cell = st.tuples(*(st.integers(0, size - 1) for size in sizes))
    return limits, draw(st.lists(cell, min_size=1, max_size=4))


@given(situations(), st.integers(1, 5))
def test_the_search_is_that_of_all_nodes(
    situation: tuple[list[DomainLimit], list[Cell]], number: int
) -> None:
    limits, cells = situation

    ends = try_all(limits, cells, number)

    fits = fit_in_every_order(limits, cells, number)
    assert fits is None or fits is (ends == {number})
    if len(limits) == 1 and limits[0].adds:
        assert ends == {count_places(limits[0], {domain for (domain,) in cells}, number)}

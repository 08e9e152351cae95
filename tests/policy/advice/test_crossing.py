from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.build import constraint, gates
from webhook.policy.advice.crossing import (
    FEWER_DOMAINS,
    CrossingDomains,
    cross_domains,
    first_unplaceable_across,
    limit_crossing,
)
from webhook.policy.advice.feasibility import SkewLimit
from webhook.policy.placement.spreads import resolve_constraints

ONE, TWO = SkewLimit(1), SkewLimit(2)
EMPTY_ONE = SkewLimit(1, has_minimum=False)

# Spot nodes are in one of three zones.
SPOT_IN_A = ["a-od", "b-od", "c-od", "a-spot"]

# nodes as zone and capacity type, limit of zones, limit of types, the first pod without a place
CASES: dict[str, tuple[list[str], SkewLimit | None, SkewLimit | None, int | None]] = {
    "spot nodes in one zone": (SPOT_IN_A, ONE, ONE, 6),
    "the same, zones alone": (SPOT_IN_A, ONE, None, None),
    "the same, capacity types alone": (SPOT_IN_A, None, ONE, None),
    "the same, less strict on types": (SPOT_IN_A, ONE, TWO, 9),
    "the same, less strict on zones": (SPOT_IN_A, TWO, ONE, 10),
    "spot nodes in two zones": ([*SPOT_IN_A, "b-spot"], ONE, ONE, None),
    "each type in each zone": (["a-od", "a-spot", "b-od", "b-spot"], ONE, ONE, None),
    "a closed zone": (SPOT_IN_A, EMPTY_ONE, ONE, 4),
    "a closed zone, and nothing else": (SPOT_IN_A, EMPTY_ONE, None, 4),
    "a closed type": (SPOT_IN_A, ONE, EMPTY_ONE, 3),
    "more types than zones": (["a-1", "a-2", "a-3", "b-3"], ONE, ONE, 6),
}


def split(nodes: list[str]) -> list[tuple[str, str]]:
    return [(zone, kind) for zone, _, kind in (one.partition("-") for one in nodes)]


@pytest.mark.parametrize(("nodes", "zones", "types", "first"), CASES.values(), ids=CASES.keys())
def test_the_first_pod_without_a_place(
    nodes: list[str], zones: SkewLimit | None, types: SkewLimit | None, first: int | None
) -> None:
    domains = cross_domains(split(nodes), 3, 2)
    turned = cross_domains([(kind, zone) for zone, kind in split(nodes)], 2, 3)
    assert domains is not None
    assert turned is not None

    assert first_unplaceable_across(12, domains, zones, types) == first
    assert first_unplaceable_across(12, turned, types, zones) == first


def test_domains_that_are_not_described() -> None:
    many = [str(number) for number in range(FEWER_DOMAINS + 1)]

    assert cross_domains([], 0, 0) is None
    assert cross_domains(product(many, many), len(many), len(many)) is None
    assert cross_domains(product(many, "ab"), len(many), 2) == CrossingDomains(
        9, 2, frozenset({(0, 0), (0, 1), (9, 2)}), 9, 2
    )


@pytest.mark.parametrize(
    ("max_skew", "min_domains", "counted", "limit"),
    [
        (2, 1, 2, SkewLimit(2)),
        (1, 2, 2, SkewLimit(1)),
        (1, 3, 2, EMPTY_ONE),
        (1, 1, 3, EMPTY_ONE),
    ],
    ids=["any", "enough for minDomains", "too few for minDomains", "one of them closed"],
)
def test_closed_or_too_few_domains_keep_the_minimum_at_0(
    max_skew: int, min_domains: int, counted: int, limit: SkewLimit
) -> None:
    written = constraint(max_skew=max_skew, min_domains=min_domains)
    (spread,) = resolve_constraints((written,), {}, gates()).hard
    domains = cross_domains([("a", "1"), ("b", "1"), ("b", "2")], counted, counted)
    assert domains is not None

    assert limit_crossing(spread, spread, domains) == (limit, limit)


cells = st.sets(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=6)
limits = st.builds(SkewLimit, st.integers(1, 2), st.booleans())


@given(st.integers(1, 6), cells, limits, limits)
def test_the_first_number_of_pods_that_no_division_allows(
    replicas: int, shared: set[tuple[int, int]], first: SkewLimit, second: SkewLimit
) -> None:
    domains = cross_domains([(str(one), str(other)) for one, other in shared], 0, 0)
    assert domains is not None

    expected = (
        number
        for number in range(1, replicas + 1)
        if not any(
            all(map(keeps, sums, (first, second))) for sums in list_sums(number, sorted(shared))
        )
    )
    assert first_unplaceable_across(replicas, domains, first, second) == next(expected, None)


def list_sums(pods: int, shared: list[tuple[int, int]]) -> set[tuple[tuple[int, ...], ...]]:
    """List the pods in each domain of both keys, for each division of some pods over cells."""
    columns = [sorted(set(column)) for column in zip(*shared, strict=True)]
    divisions: list[tuple[int, ...]] = [()]
    for number in range(len(shared)):
        is_last = number == len(shared) - 1
        divisions = [
            (*division, more)
            for division in divisions
            for more in range(pods - sum(division) if is_last else 0, pods - sum(division) + 1)
        ]
    return {
        tuple(
            tuple(
                sum(
                    more for more, cell in zip(division, shared, strict=True) if cell[side] == value
                )
                for value in values
            )
            for side, values in enumerate(columns)
        )
        for division in divisions
    }


def keeps(pods: tuple[int, ...], limit: SkewLimit) -> bool:
    return max(pods) - (min(pods) if limit.has_minimum else 0) <= limit.max_skew

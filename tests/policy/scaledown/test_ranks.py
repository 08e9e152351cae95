"""Ranks and deletion costs: one formula, and its inverse."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.policy.scaledown.ranks import (
    LAST_RANK,
    cost_of_rank,
    lowest_free_rank,
    parse_cost,
    rank_of_cost,
)

ranks = st.integers(1, LAST_RANK)


@pytest.mark.parametrize(("rank", "cost"), [(1, 999_000), (2, 998_000), (999, 1_000)])
def test_the_higher_the_rank_the_lower_the_cost(rank: int, cost: int) -> None:
    assert cost_of_rank(rank) == cost


@given(ranks)
def test_a_rank_is_read_from_its_cost(rank: int) -> None:
    assert rank_of_cost(cost_of_rank(rank)) == rank


def test_the_cost_of_the_last_rank_is_an_int32() -> None:
    assert -(2**31) <= cost_of_rank(LAST_RANK) < -(2**31) + 1_000


@pytest.mark.parametrize("cost", [1_000_000, 1_001_000, 999_001, 1, -(2**31), -1])
def test_other_costs_have_no_rank(cost: int) -> None:
    assert rank_of_cost(cost) is None


@pytest.mark.parametrize(
    ("held", "free"),
    [((), 1), ((1, 2, 3), 4), ((2, 3), 1), ((1, 5, 6), 2), ([1, 1], 2), ({3, 1}, 2), ((-1, 0), 1)],
)
def test_the_lowest_free_rank_fills_gaps(held: tuple[int, ...], free: int) -> None:
    assert lowest_free_rank(held) == free


@given(st.lists(ranks))
def test_no_lower_rank_is_free(held: list[int]) -> None:
    free = lowest_free_rank(held)

    assert free not in held
    assert set(range(1, free)) <= set(held)


@pytest.mark.parametrize(
    ("written", "cost"),
    [
        ("0", 0),
        ("-0", 0),
        ("+1", None),
        ("01", None),
        ("-7", -7),
        ("2147483647", 2_147_483_647),
        ("2147483648", None),
        ("-2147483648", -2_147_483_648),
        ("-2147483649", None),
        ("", None),
        ("1.5", None),
        ("1 ", None),
        ("\u0661", None),
        ("-", None),
        ("-" + "0" * 5_000 + "7", -7),
        ("9" * 5_000, None),
    ],
)
def test_a_cost_is_parsed_as_go_does(written: str, cost: int | None) -> None:
    assert parse_cost(written) == cost

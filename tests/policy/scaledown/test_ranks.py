"""Ranks and deletion costs: one formula, and what shows that a cost is that of a rank."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from webhook.policy.scaledown.ranks import (
    DELETION_COST,
    FOREIGN_COST,
    LAST_RANK,
    RANK_ANNOTATION,
    UNRANKED,
    annotate_rank,
    cost_of_rank,
    lowest_free_rank,
    parse_cost,
    read_rank,
)

ranks = st.integers(1, LAST_RANK)


@pytest.mark.parametrize(("rank", "cost"), [(1, 999_000), (2, 998_000), (999, 1_000)])
def test_the_higher_the_rank_the_lower_the_cost(rank: int, cost: int) -> None:
    assert cost_of_rank(rank) == cost


@given(ranks)
def test_a_rank_is_read_from_its_annotations(rank: int) -> None:
    annotations = annotate_rank(rank)

    assert read_rank(annotations[DELETION_COST], annotations[RANK_ANNOTATION]) == rank


def test_the_cost_of_the_last_rank_is_an_int32() -> None:
    assert -(2**31) <= cost_of_rank(LAST_RANK) < -(2**31) + 1_000


@given(st.integers(-(2**31), 2**31 - 1), ranks)
@example(0, 1_000)
def test_a_cost_without_its_rank_is_of_another_client(cost: int, rank: int) -> None:
    assert read_rank(str(cost), None) == FOREIGN_COST
    assert read_rank(str(cost), str(rank)) == (rank if cost == cost_of_rank(rank) else FOREIGN_COST)


RANKS: dict[str, tuple[str | None, str | None, int]] = {
    "neither": (None, None, UNRANKED),
    "a rank without a cost": (None, "1", UNRANKED),
    "a cost that looks like a rank": ("1000", None, FOREIGN_COST),
    "a cost of no rank": ("7", "1", FOREIGN_COST),
    "the cost of another rank": ("999000", "2", FOREIGN_COST),
    "an empty rank": ("999000", "", FOREIGN_COST),
    "a text": ("999000", "x", FOREIGN_COST),
    "a leading zero": ("999000", "01", FOREIGN_COST),
    "a space": ("999000", "1 ", FOREIGN_COST),
    "another script's digit": ("999000", "\u0661", FOREIGN_COST),
    "rank zero": ("1000000", "0", FOREIGN_COST),
    "a negative rank": ("1001000", "-1", FOREIGN_COST),
    "too high a rank": (str(cost_of_rank(LAST_RANK + 1)), str(LAST_RANK + 1), FOREIGN_COST),
    "a very long rank": ("999000", "1" * 5_000, FOREIGN_COST),
    "another spelling of the cost": ("-0", "1000", FOREIGN_COST),
}


@pytest.mark.parametrize(("cost", "rank", "expected"), RANKS.values(), ids=RANKS)
def test_a_rank_is_read_only_where_both_annotations_agree(
    cost: str | None, rank: str | None, expected: int
) -> None:
    assert read_rank(cost, rank) == expected


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

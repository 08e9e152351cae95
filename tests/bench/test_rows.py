"""The arithmetic of the table."""

import pytest

from tests.bench.rows import Mark, Must, Row, percentile, ratios

MARKS = {
    "all rounds below the bound": (Must(1.8), [1.5, 1.6, 1.7], Mark.REACHED),
    "one outlier above it does not count": (Must(1.8), [1.5, 1.5, 1.6, 1.6, 9.0], Mark.REACHED),
    "all rounds above it": (Must(1.8), [1.9, 2.0, 2.1], Mark.MISSED),
    "the middle half on both sides": (Must(1.8), [1.6, 1.7, 1.9, 2.0], Mark.UNSURE),
    "at least nine, and it is ten": (Must(9, at_least=True), [10.0, 10.5], Mark.REACHED),
    "at least nine, and it is eight": (Must(9, at_least=True), [8.0, 8.5], Mark.MISSED),
    "the bound itself": (Must(64, "MiB"), [64.0], Mark.REACHED),
}


@pytest.mark.parametrize(("must", "values", "mark"), MARKS.values(), ids=MARKS)
def test_a_row_is_marked_by_its_middle_half(must: Must, values: list[float], mark: Mark) -> None:
    assert Row("what", "", "", values, must).mark is mark


DISTURBED = {
    "what is reached all the same is reached": ([4.0, 4.5], Mark.REACHED),
    "what is missed may be the others' doing": ([8.0, 9.0], Mark.UNSURE),
}


@pytest.mark.parametrize(("values", "mark"), DISTURBED.values(), ids=DISTURBED)
def test_a_disturbed_row_cannot_be_missed(values: list[float], mark: Mark) -> None:
    assert Row("what", "", "", values, Must(5), disturbed=True).mark is mark


def test_a_row_has_the_median_and_the_quartiles() -> None:
    row = Row("what", "floor 40 us", "60 us", [1.0, 5.0, 2.0, 4.0, 3.0], Must(3))

    assert row.value == 3.0
    assert row.middle == (2.0, 4.0)
    assert row.as_json()["mark"] == "unsure"
    assert row.as_json()["rounds"] == [1.0, 5.0, 2.0, 4.0, 3.0]


def test_what_slows_down_both_of_a_round_cancels_out() -> None:
    assert ratios([60.0, 120.0], [40.0, 80.0]) == [1.5, 1.5]


def test_ratios_want_as_many_of_each() -> None:
    with pytest.raises(ValueError, match="zip"):
        ratios([1.0], [1.0, 2.0])


PERCENTILES = {
    "the median of three": ([3.0, 1.0, 2.0], 0.5, 2.0),
    "the median of four is the lower one": ([4.0, 3.0, 2.0, 1.0], 0.5, 2.0),
    "99 of 100": ([float(i) for i in range(1, 101)], 0.99, 99.0),
    "99 of 1000": ([float(i) for i in range(1, 1001)], 0.99, 990.0),
    "one value is every percentile": ([7.0], 0.99, 7.0),
    "none is below the smallest": ([1.0, 2.0], 0.0, 1.0),
}


@pytest.mark.parametrize(("values", "share", "expected"), PERCENTILES.values(), ids=PERCENTILES)
def test_a_percentile_is_a_value_that_was_measured(
    values: list[float], share: float, expected: float
) -> None:
    assert percentile(values, share) == expected


@pytest.mark.parametrize(
    ("must", "text"),
    [(Must(1.8), "<= 1.8 x"), (Must(9, at_least=True), ">= 9 x"), (Must(0.25, "s"), "<= 0.25 s")],
)
def test_a_bound_is_shown_with_its_unit(must: Must, text: str) -> None:
    assert str(must) == text

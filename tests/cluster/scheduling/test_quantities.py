from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.cluster.scheduling.quantities import (
    LARGEST,
    MILLI,
    UNIT,
    Quantity,
    check_quantities,
    check_quantity,
    largest_amounts,
    parse_amounts,
    parse_quantity,
    round_up,
    sum_amounts,
)

# quantity, billionths
QUANTITIES: dict[str, tuple[Quantity, int]] = {
    "a whole number": ("2", 2 * UNIT),
    "a number of JSON": (2, 2 * UNIT),
    "a fraction of JSON": (0.5, UNIT // 2),
    "null": (None, 0),
    "thousandths": ("1500m", 1500 * MILLI),
    "millionths": ("250000u", 250 * MILLI),
    "billionths": ("7n", 7),
    "a decimal suffix": ("3k", 3_000 * UNIT),
    "the largest decimal suffix": ("2E", 2 * 10**18 * UNIT),
    "a binary suffix": ("1Ki", 1024 * UNIT),
    "a fraction with a binary suffix": ("1.5Gi", 3 * 2**29 * UNIT),
    "an exponent": ("2e3", 2_000 * UNIT),
    "a capital exponent": ("2E3", 2_000 * UNIT),
    "a negative exponent": ("5e-3", 5 * MILLI),
    "a fraction without a whole part": (".5", UNIT // 2),
    "a whole part with a point": ("1.", UNIT),
    "a sign": ("+1", UNIT),
    "a negative number": ("-1500m", -1500 * MILLI),
    "less than a billionth, rounded up": ("0.0000000001", 1),
    "less than a billionth by its exponent": ("1e-999", 1),
    "a negative number, rounded away from zero": ("-0.5n", -1),
    "spaces around": (" 1 ", UNIT),
    "more than fits": ("100E", LARGEST),
    "far more than fits": ("1e999999999", LARGEST),
    "zero with a large exponent": ("0e999", 0),
    "nothing": ("", 0),
    "no digit": (".", 0),
    "an unknown suffix": ("1Q", 0),
    "too many digits": ("1" * 100, 0),
    "no number": ("many", 0),
}


@pytest.mark.parametrize(("quantity", "expected"), QUANTITIES.values(), ids=QUANTITIES.keys())
def test_a_quantity_is_parsed(quantity: Quantity, expected: int) -> None:
    assert parse_quantity(quantity) == expected


# quantity, what is wrong with it
PROBLEMS: dict[str, tuple[Quantity, str]] = {
    "a unit of bytes": ("1.5GiB", "expected a quantity, got '1.5GiB': write 1.5Gi"),
    "a unit of bytes without i": ("16GB", "expected a quantity, got '16GB': write 16G"),
    "an unknown suffix": ("1x", "expected a quantity such as 500m, 2 or 1.5Gi, got '1x'"),
    "nothing": ("", "expected a quantity such as 500m, 2 or 1.5Gi, got ''"),
    "only a unit": ("GiB", "expected a quantity such as 500m, 2 or 1.5Gi, got 'GiB'"),
    "a negative number of JSON": (-1, "expected a quantity of 0 or more, got -1"),
    "a negative text": ("-1Gi", "expected a quantity of 0 or more, got '-1Gi'"),
}


@pytest.mark.parametrize(("quantity", "problem"), PROBLEMS.values(), ids=PROBLEMS.keys())
def test_a_quantity_that_kube_apiserver_refuses_is_an_error(
    quantity: Quantity, problem: str
) -> None:
    with pytest.raises(ValueError, match="expected") as caught:
        check_quantities({"cpu": "1", "memory": quantity}, "requests")

    assert str(caught.value) == f"{problem} - in `requests` `memory`"


@pytest.mark.parametrize("quantity", [None, 0, 0.5, "-0", "1500m", " 1 ", "1e3", "2E"])
def test_a_quantity_that_kube_apiserver_accepts_is_no_error(quantity: Quantity) -> None:
    check_quantity(quantity, "capacity")
    check_quantities(None, "requests")


# billionths, unit, whole units
ROUNDINGS = {
    "exact": (3 * UNIT, UNIT, 3),
    "up": (2 * UNIT + 1, UNIT, 3),
    "zero": (0, UNIT, 0),
    "negative numbers towards zero": (-UNIT - 1, UNIT, -1),
    "thousandths": (1_500_001, MILLI, 2),
}


@pytest.mark.parametrize(("amount", "unit", "expected"), ROUNDINGS.values(), ids=ROUNDINGS.keys())
def test_amounts_are_rounded_up(amount: int, unit: int, expected: int) -> None:
    assert round_up(amount, unit) == expected


def test_a_list_of_quantities_is_parsed() -> None:
    assert parse_amounts({"cpu": "1", "memory": None}) == {"cpu": UNIT, "memory": 0}
    assert parse_amounts(None) == {}


def test_amounts_are_added_up_by_name() -> None:
    assert sum_amounts({"a": 1, "b": 2}, {"b": 3, "c": 4}) == {"a": 1, "b": 5, "c": 4}
    assert sum_amounts() == {}


def test_the_largest_amount_of_each_name_is_taken() -> None:
    assert largest_amounts({"a": -1, "b": 2}, {"b": 3, "c": 4}) == {"a": -1, "b": 3, "c": 4}


@given(st.integers(0, 10**12), st.integers(0, 12))
def test_decimal_fractions_are_exact_to_the_billionth(digits: int, places: int) -> None:
    text = f"{digits:0{places + 1}d}"
    text = f"{text[: len(text) - places]}.{text[len(text) - places :]}" if places else text

    exact = Fraction(digits, 10**places) * UNIT

    assert parse_quantity(text) == -(-exact.numerator // exact.denominator)


@given(st.text("0123456789.eEinumkKMGTP+- ", max_size=12))
def test_any_text_is_an_amount(text: str) -> None:
    assert abs(parse_quantity(text)) <= LARGEST


@given(st.integers(0, 10**6), st.sampled_from([("Ki", 1024), ("Mi", 1024**2), ("k", 1000)]))
def test_a_suffix_multiplies(number: int, suffix: tuple[str, int]) -> None:
    text, factor = suffix

    assert parse_quantity(f"{number}{text}") == parse_quantity(number * factor)

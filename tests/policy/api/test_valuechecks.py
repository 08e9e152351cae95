"""Numbers, limits, names and objects that kube-apiserver refuses."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from tests.policy.api.fieldcases import NO_PERCENT, TOO_LARGE
from webhook.policy.api import valuechecks
from webhook.policy.api.fielderrors import required
from webhook.policy.api.valuechecks import RefusedField, advise, is_zero

Check = Callable[[Any], Iterable[RefusedField]]


def number(value: Any) -> Iterable[RefusedField]:
    return valuechecks.check_number(value, "n")


def limit(value: Any) -> Iterable[RefusedField]:
    return valuechecks.check_limit(value, "n", is_share=True)


def surge(value: Any) -> Iterable[RefusedField]:
    return valuechecks.check_limit(value, "n")


def name(value: Any) -> Iterable[RefusedField]:
    return valuechecks.check_name(value, "n", ("A", "B"))


def pairs(value: Any) -> Iterable[RefusedField]:
    return valuechecks.check_pairs(value, "n")


def members(value: Any) -> Iterable[RefusedField]:
    return valuechecks.check_object(value, "n")


REFUSED: dict[str, tuple[Check, Any, str]] = {
    "a string": (number, "3", 'the string "3" is no int32: write 3, without quotes'),
    "another string": (number, "x", 'the string "x" is no int32: write an integer'),
    "a fraction": (number, 2.5, "the number 2.5 is no int32: write an integer"),
    "a boolean": (number, True, "the boolean true is no int32: write an integer"),
    "an object": (number, {}, "an object is no int32: write an integer"),
    "too many": (number, 2**31, "the number 2147483648 is no int32: write at most 2147483647"),
    "a negative number": (
        number, -3, "Invalid value: -3: must be greater than or equal to 0: write 0 or more"
    ),
    "a negative limit": (
        limit, -1, "Invalid value: -1: must be greater than or equal to 0: write 0 or more"
    ),
    "an array": (limit, [1], "an array is no int32: write an integer"),
    "no sign": (surge, "25", f'Invalid value: "25": {NO_PERCENT}write 25 or "25%"'),
    "a fraction of a percent": (
        surge, "10.5%", f'Invalid value: "10.5%": {NO_PERCENT}write 1 or "25%"'
    ),
    "more than all": (limit, "101%", f'Invalid value: "101%": {TOO_LARGE}'),
    "more digits than fit": (
        limit, f"{'9' * 5000}%", f'Invalid value: "{"9" * 5000}%": {TOO_LARGE}'
    ),
    "a name": (name, "C", 'Unsupported value: "C": supported values: "A", "B"'),
    "an empty name": (name, "", 'Unsupported value: "": supported values: "A", "B"'),
    "no name": (name, 1, "the number 1 is no string: write A or B"),
    "no object": (members, "x", 'the string "x" is no object: write its fields, or remove it'),
}  # fmt: skip


@pytest.mark.parametrize(("check", "value", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused(check: Check, value: Any, message: str) -> None:
    assert list(check(value)) == [("n", message)]


ACCEPTED: list[tuple[Check, Any]] = [
    (number, 0), (number, 2**31 - 1), (limit, 0), (limit, "0%"), (limit, "100%"), (limit, "0100%"),
    (surge, "150%"), (name, "A"), (name, "B"), (members, {}),
    (pairs, {"app": "1", "x": None}),
    *((check, None) for check in (number, limit, surge, name, members, pairs)),
]  # fmt: skip


@pytest.mark.parametrize(("check", "value"), ACCEPTED)
def test_what_is_accepted(check: Check, value: Any) -> None:
    assert list(check(value)) == []


def test_only_the_type_of_some_numbers_is_checked() -> None:
    assert list(valuechecks.check_number(-1, "n", is_checked=False)) == []
    assert len(list(valuechecks.check_number("1", "n", is_checked=False))) == 1


@pytest.mark.parametrize("value", [0, "0%", "000%", "x", "", "%", "1.5%"])
def test_zero(value: Any) -> None:
    assert is_zero(value)


@pytest.mark.parametrize("value", [None, 1, -1, "1%", "010%", "25", "-1", True, []])
def test_not_zero(value: Any) -> None:
    assert not is_zero(value)


def test_advice_follows_the_message() -> None:
    assert advise(required("n", "p"), "write x") == ("n", "Required value: p: write x")


PAIRS: dict[str, tuple[Any, str, str]] = {
    "a number": ({"app": 1}, "n.app", "the number 1 is no string: write it in quotes"),
    "a boolean": ({"x/y": True}, "n[x/y]", "the boolean true is no string: write it in quotes"),
    "an array": ({"app": []}, "n.app", "an array is no string: write a string"),
    "no object": ([], "n", "an array is no object: write its fields, or remove it"),
}


@pytest.mark.parametrize(("value", "field", "message"), PAIRS.values(), ids=PAIRS.keys())
def test_pairs_that_are_refused(value: Any, field: str, message: str) -> None:
    assert list(pairs(value)) == [(field, message)]

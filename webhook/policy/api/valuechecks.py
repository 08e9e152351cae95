"""
Checks of the values that say how many pods a workload has: numbers, limits, names, objects.

Each check yields what kube-apiserver refuses, in its words, with what to write instead; None is
an absent value. Which fields are checked is the subject of ``scalefields``, ``updatestrategies``
and ``jobfields``.

Source: pkg/apis/apps/validation/validation.go ``ValidatePositiveIntOrPercent``,
``IsNotMoreThan100Percent``, ``getIntOrPercentValue``; apimachinery pkg/util/intstr
``UnmarshalJSON``, pkg/api/validation ``ValidateNonnegativeField``.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from webhook.policy.api.fielderrors import FieldError, invalid, not_supported
from webhook.policy.paths import format_path, is_array, is_object, parse_path

_INT32 = range(-(2**31), 2**31)
_NOT_NEGATIVE = "must be greater than or equal to 0"
_NO_PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or "
    "'93%', regex used for validation is '[0-9]+%')"
)
_percent = re.compile("[0-9]+%", re.ASCII).fullmatch
_nonzero = re.compile("[+-]?[0-9]*[1-9][0-9]*%?", re.ASCII).fullmatch


class RefusedField(NamedTuple):
    """A field that kube-apiserver refuses; ``message`` ends with what to write instead."""

    field: str
    message: str


def check_number(value: Any, field: str, *, is_checked: bool = True) -> Iterator[RefusedField]:
    """Check a number of pods; without ``is_checked`` only its type."""
    problems = list(check_type(value, field))
    yield from problems
    if is_checked and value is not None and not problems and value < 0:
        yield advise(invalid(field, value, _NOT_NEGATIVE), "write 0 or more")


def check_limit(value: Any, field: str, *, is_share: bool = False) -> Iterator[RefusedField]:
    """
    Check a number of pods or a percentage.

    Args:
        is_share: Whether at most 100 % are allowed.
    """
    problems = list(check_type(value, field, accepts_text=True))
    yield from problems
    if value is None or problems:
        return
    if not isinstance(value, str):
        yield from check_number(value, field)
    elif not _percent(value):
        advice = f'write {value} or "{value}%"' if value.isdecimal() else 'write 1 or "25%"'
        yield advise(invalid(field, value, _NO_PERCENT, named=True), advice)
    elif is_share and _exceeds_all(value):
        error = invalid(field, value, "must not be greater than 100%", named=True)
        yield advise(error, 'write at most "100%"')


def check_type(value: Any, field: str, *, accepts_text: bool = False) -> Iterator[RefusedField]:
    """Check that a value is an int32, or a text if that is accepted."""
    if value is None or (accepts_text and isinstance(value, str)):
        return
    if isinstance(value, bool) or not isinstance(value, int) or value not in _INT32:
        number = str(value).strip() if isinstance(value, str) else ""
        advice = f"write {number}, without quotes" if number.isdecimal() else "write an integer"
        if isinstance(value, int) and not isinstance(value, bool):
            advice = f"write at most {_INT32[-1]}"
        yield RefusedField(field, f"{_describe_type(value)} is no int32: {advice}")


def check_object(value: Any, field: str) -> Iterator[RefusedField]:
    """Check that a value is an object."""
    if value is not None and not is_object(value):
        yield RefusedField(
            field, f"{_describe_type(value)} is no object: write its fields, or remove it"
        )


def check_name(value: Any, field: str, known: tuple[str, str]) -> Iterator[RefusedField]:
    """Check that a value is one of two names."""
    if value in (None, *known):
        return
    if not isinstance(value, str):
        advice = f"write {known[0]} or {known[1]}"
        yield RefusedField(field, f"{_describe_type(value)} is no string: {advice}")
        return
    error = not_supported(field, value, known)
    yield RefusedField(error.field, error.message)


def check_pairs(value: Any, field: str) -> Iterator[RefusedField]:
    """Check that the values of an object are strings, as those of labels are."""
    yield from check_object(value, field)
    for key, inner in value.items() if is_object(value) else ():
        if inner is not None and not isinstance(inner, str):
            advice = "write it in quotes" if isinstance(inner, (int, float)) else "write a string"
            place = format_path((*parse_path(field), key))
            yield RefusedField(place, f"{_describe_type(inner)} is no string: {advice}")


def _describe_type(value: Any) -> str:
    """Describe a value with the type that JSON has for it."""
    if isinstance(value, bool):
        return f"the boolean {str(value).lower()}"
    if isinstance(value, (int, float)):
        return f"the number {value}"
    if isinstance(value, str):
        return f'the string "{value[:40]}"'
    return "an array" if is_array(value) else "an object"


def is_zero(value: Any) -> bool:
    """Whether a limit is 0, as a text without a number is; one that is absent is not."""
    if isinstance(value, str):
        return not _nonzero(value)
    return type(value) is int and value == 0


def _exceeds_all(percentage: str) -> bool:
    """Whether a percentage is more than 100 %; it may have more digits than a number."""
    written = percentage.lstrip("0")
    return len(written) > len("100%") or (len(written) == len("100%") and written != "100%")


def advise(error: FieldError, advice: str) -> RefusedField:
    """Append what to write to the message of an error."""
    return RefusedField(error.field, f"{error.message}: {advice}")

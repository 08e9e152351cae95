from collections.abc import Callable

import pytest

from webhook.policy.api import fielderrors
from webhook.policy.api.fielderrors import (
    LONGEST_VALUE,
    MOST_CAUSES,
    FieldError,
    aggregate,
    summarize,
)

WORDED: dict[str, tuple[Callable[[], FieldError], str, str]] = {
    "an invalid number stands bare": (
        lambda: fielderrors.invalid("a.b", -3, "must be more"),
        "FieldValueInvalid",
        "a.b: Invalid value: -3: must be more",
    ),
    "an invalid text is quoted": (
        lambda: fielderrors.invalid("a.b", "x\n", "must be more"),
        "FieldValueInvalid",
        r'a.b: Invalid value: "x\n": must be more',
    ),
    "an invalid text of a named type is written as JSON": (
        lambda: fielderrors.invalid("a.b", '<\a"é\u2028\x7f', "must be more", named=True),
        "FieldValueInvalid",
        'a.b: Invalid value: "\\u003c\\u0007\\"é\\u2028\x7f": must be more',
    ),
    "a missing value is required": (
        lambda: fielderrors.required("a", "can not be empty"),
        "FieldValueRequired",
        "a: Required value: can not be empty",
    ),
    "an unsupported value is reported with the supported ones": (
        lambda: fielderrors.not_supported("a", "", ("B", "C")),
        "FieldValueNotSupported",
        'a: Unsupported value: "": supported values: "B", "C"',
    ),
    "an unsupported value is of a named type": (
        lambda: fielderrors.not_supported("a", "<", ()),
        "FieldValueNotSupported",
        'a: Unsupported value: "\\u003c": supported values: ',
    ),
    "a repeat is a duplicate": (
        lambda: fielderrors.duplicate("a[1]", "{x, y}"),
        "FieldValueDuplicate",
        'a[1]: Duplicate value: "{x, y}"',
    ),
    "a duplicate is quoted as a text": (
        lambda: fielderrors.duplicate("a[1]", "<"),
        "FieldValueDuplicate",
        'a[1]: Duplicate value: "<"',
    ),
    "a field that must not be set is forbidden": (
        lambda: fielderrors.forbidden("a", "must not be set"),
        "FieldValueForbidden",
        "a: Forbidden: must not be set",
    ),
    "a list that is too long is counted": (
        lambda: fielderrors.too_many("a", 7, 5),
        "FieldValueTooMany",
        "a: Too many: 7: must have at most 5 items",
    ),
}


@pytest.mark.parametrize(("make", "reason", "text"), WORDED.values(), ids=WORDED.keys())
def test_a_field_error_is_worded_as_by_kube_apiserver(
    make: Callable[[], FieldError], reason: str, text: str
) -> None:
    error = make()

    assert error.reason == reason
    assert str(error) == text


A, B = fielderrors.forbidden("a", "no"), fielderrors.required("b", "yes")

AGGREGATED = {
    "one stands alone": ([A], "a: Forbidden: no"),
    "several stand in brackets": ([A, B], "[a: Forbidden: no, b: Required value: yes]"),
    "repeats are left out": ([A, B, A], "[a: Forbidden: no, b: Required value: yes]"),
    "one that is only repeated stands alone": ([A, A], "a: Forbidden: no"),
}


@pytest.mark.parametrize(("errors", "text"), AGGREGATED.values(), ids=AGGREGATED.keys())
def test_errors_are_joined_as_by_go(errors: list[FieldError], text: str) -> None:
    assert aggregate(errors) == text


def too_long(count: int) -> list[FieldError]:
    return [
        fielderrors.invalid(f"a[{i}]", "x" * (LONGEST_VALUE + 1), "is bad") for i in range(count)
    ]


SHORTENED = f'Invalid value: "{"x" * LONGEST_VALUE}...": is bad'

SUMMARIES = {
    "one error stands alone": (1, f"a[0]: {SHORTENED}"),
    "two errors stand in brackets": (2, f"[a[0]: {SHORTENED}, a[1]: {SHORTENED}]"),
}


@pytest.mark.parametrize(("count", "text"), SUMMARIES.values(), ids=SUMMARIES.keys())
def test_a_summary_shortens_values(count: int, text: str) -> None:
    assert summarize(too_long(count)) == text


def test_a_summary_counts_the_errors_that_it_leaves_out() -> None:
    summary = summarize(too_long(MOST_CAUSES + 2))

    assert summary.endswith("] and at least 2 more")
    assert summary.count(SHORTENED) == MOST_CAUSES


def test_a_summary_shows_what_is_exactly_at_a_bound_in_full() -> None:
    longest = "x" * LONGEST_VALUE
    summary = summarize([fielderrors.duplicate("a", longest) for _ in range(MOST_CAUSES)])

    assert summary == f'a: Duplicate value: "{longest}"'


def test_a_response_has_bounds() -> None:
    assert (MOST_CAUSES, LONGEST_VALUE) == (100, 256)


def test_an_object_is_formatted_as_by_go() -> None:
    assert fielderrors.format_object({"b": [1, 2], "a": {"c": "<é>"}}) == (
        '{"a":{"c":"\\u003cé\\u003e"},"b":[1,2]}'
    )

import re
from importlib import import_module
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from webhook.policy.api import labels
from webhook.policy.api.labels import is_key, is_pair, is_value, key_problems, value_problems

NAME = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
KEY_FORM = (
    "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start "
    "and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex "
    "used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS "
    "subdomain prefix and '/' (e.g. 'example.com/MyName')"
)
PREFIX = (
    "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "
    "characters, '-' or '.', and must start and end with an alphanumeric character (e.g. "
    "'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
    "or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
LONG_NAME = "name part must be no more than 63 bytes"
LONG_PREFIX = "prefix part must be no more than 253 bytes"
LONG_VALUE = "must be no more than 63 bytes"

KEYS = {
    "a name is a key": ("app", []),
    "a name may have capitals, dots, dashes and underscores": ("A.b-c_9", []),
    "a name may have a prefix": ("example.com/app", []),
    "a name of 63 bytes is short enough": ("a" * 63, []),
    "a name of 64 bytes is too long": ("a" * 64, [LONG_NAME]),
    "a name is measured in bytes": ("é" * 32, [LONG_NAME, NAME]),
    "an empty name has two problems": ("", ["name part must be non-empty", NAME]),
    "a name must not start with a dash": ("-a", [NAME]),
    "a name must not end with a newline": ("a\n", [NAME]),
    "a name must be ASCII": ("größe", [NAME]),
    "two slashes are judged alone": ("A!/b/-", [KEY_FORM]),
    "an empty prefix is reported": ("/app", ["prefix part must be non-empty"]),
    "prefix and name are both reported": (
        "/",
        ["prefix part must be non-empty", "name part must be non-empty", NAME],
    ),
    "a prefix of 253 bytes is short enough": (f"{'a' * 253}/b", []),
    "a prefix of 254 bytes is too long": (f"{'a' * 254}/b", [LONG_PREFIX]),
    "a prefix may be too long and wrong": (f"{'A' * 254}/b", [LONG_PREFIX, PREFIX]),
    "a prefix has no capitals": ("Example.com/b", [PREFIX]),
    "a prefix has no empty part": ("example..com/b", [PREFIX]),
    "a prefix has no newline at its end": ("example.com\n/b", [PREFIX]),
    "a key may have five problems": (
        f"{'Ä' * 127}/{'-' * 64}",
        [LONG_PREFIX, PREFIX, LONG_NAME, NAME],
    ),
}

VALUES = {
    "a value may be empty": ("", []),
    "a value may look like a name": ("A.b-c_9", []),
    "a value of 63 bytes is short enough": ("a" * 63, []),
    "a value of 64 bytes is too long": ("a" * 64, [LONG_VALUE]),
    "a value is measured in bytes": ("é" * 32, [LONG_VALUE, VALUE]),
    "a value must not end with a dot": ("a.", [VALUE]),
    "a value has no slash": ("a/b", [VALUE]),
    "a lone surrogate is a wrong character": ("\ud800", [VALUE]),
}


@pytest.mark.parametrize(("key", "problems"), KEYS.values(), ids=KEYS.keys())
def test_a_key_is_judged_as_by_kube_apiserver(key: str, problems: list[str]) -> None:
    assert key_problems(key) == problems


@pytest.mark.parametrize(("value", "problems"), VALUES.values(), ids=VALUES.keys())
def test_a_value_is_judged_as_by_kube_apiserver(value: str, problems: list[str]) -> None:
    assert value_problems(value) == problems


def quoted_regex(message: str) -> re.Pattern[str]:
    """The expression that upstream validates with, as it stands in its message."""
    found = re.search(r"regex used for validation is '(.*?)'\)", message)
    assert found is not None
    return re.compile(found[1])


NAME_REGEX, PREFIX_REGEX, VALUE_REGEX = map(quoted_regex, (NAME, PREFIX, VALUE))

near = st.text(st.sampled_from("aZ0-_./é\n"), max_size=8)
"""Short texts of characters that the expressions tell apart."""


@given(near | st.text() | st.from_regex(NAME_REGEX, fullmatch=True))
@example("a" * 64)
def test_a_bare_key_is_valid_if_upstream_s_expression_matches(key: str) -> None:
    expected = NAME_REGEX.fullmatch(key) is not None and len(key) <= 63

    if "/" not in key:
        assert (key_problems(key) == []) == expected


@given(
    near | st.text() | st.from_regex(PREFIX_REGEX, fullmatch=True),
    near | st.from_regex(NAME_REGEX, fullmatch=True),
)
def test_prefix_and_name_are_wrong_where_upstream_s_expressions_fail(
    prefix: str, name: str
) -> None:
    problems = key_problems(f"{prefix}/{name}")

    if "/" in prefix + name:
        assert problems == [KEY_FORM]
    else:
        assert (PREFIX in problems) == (prefix != "" and not PREFIX_REGEX.fullmatch(prefix))
        assert (NAME in problems) == (not NAME_REGEX.fullmatch(name))


@given(near | st.text() | st.from_regex(VALUE_REGEX, fullmatch=True))
def test_a_value_is_wrong_where_upstream_s_expression_fails(value: str) -> None:
    problems = value_problems(value)

    assert (VALUE in problems) == (not VALUE_REGEX.fullmatch(value))
    assert (LONG_VALUE in problems) == (len(value.encode()) > 63)


@given(st.one_of(near, st.from_regex(NAME_REGEX, fullmatch=True)), near | st.text())
@example("a/" + "a" * 62, "a")
@example("a", "a" * 64)
@example("a", "")
def test_a_pair_that_is_surely_valid_has_no_problem(key: str, value: str) -> None:
    if is_pair(key, value):
        assert key_problems(key) == value_problems(value) == []


@given(near | st.text())
@example("a" * 64)
def test_a_key_that_is_surely_valid_has_no_problem(key: str) -> None:
    if is_key(key):
        assert key_problems(key) == []


@pytest.mark.parametrize("key", ["app", "example.com/app", "a" * 63])
def test_the_usual_key_is_surely_valid(key: str) -> None:
    assert is_key(key)


@pytest.mark.parametrize("key", ["app", "example.com/app"])
def test_the_usual_pair_is_surely_valid(key: str) -> None:
    assert is_pair(key, "web-1")
    assert is_pair("a" * 63, "b" * 63)
    assert not is_pair("a/" + "b" * 62, "c")
    assert not is_key("a/" + "b" * 62)


@pytest.mark.parametrize(
    ("value", "valid"), [("web-1", True), ("", False), ("-", False), ("x" * 64, False)]
)
def test_a_value_that_is_not_empty_is_accepted_if_it_is_valid(value: str, *, valid: bool) -> None:
    assert is_value(value) is valid


@pytest.mark.parametrize("match", [labels._name_matches, labels._dns_label_matches])
def test_no_expression_repeats_a_repetition(match: Any) -> None:
    """Only nested repetition makes Python's matcher take more than a few looks at a character."""
    assert nesting(parser.parse(match.__self__.pattern)) == 1


parser = import_module("re._parser")


def nesting(parsed: Any) -> int:
    """How deep unbounded repetitions are nested in a parsed expression."""
    depths = [0]
    for operator, argument in parsed:
        if operator is parser.MAX_REPEAT:
            _, most, inner = argument
            depths.append(nesting(inner) + (most is parser.MAXREPEAT))
        elif operator is parser.SUBPATTERN:
            depths.append(nesting(argument[-1]))
    return max(depths)


def test_a_name_of_63_bytes_is_not_too_long() -> None:
    assert len(key_problems("-" * 63)) == 1
    assert len(key_problems("-" * 64)) == 2

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.policy.escape import (
    WARNING_CHARACTERS,
    escape_json,
    printable,
    printable_lines,
    printable_value,
    quote,
    shorten_warning,
)

QUOTED = msgspec.json.Decoder(tuple[str, str])

ROWS = [
    QUOTED.decode(line)
    for line in Path(__file__).with_name("data").joinpath("quoted.jsonl").read_bytes().splitlines()
]
"""Texts of sixteen code points, and what ``fmt.Sprintf("%q", text)`` of Go 1.26 makes of each."""

ESCAPED = {
    "ä \N{HIRAGANA LETTER A}": "ä \N{HIRAGANA LETTER A}",
    'a "quoted" \\ path': 'a "quoted" \\ path',
    "a\x1b[1m": r"a\x1b[1m",
    "a\nb\tc\r": r"a\nb\tc\r",
    "\x7f\x9b": r"\x7f\u009b",
    "\u202eexe\u2066": r"\u202eexe\u2066",
    "\udc80": r"\udc80",
}


def test_unprintable_characters_are_escaped() -> None:
    assert {text: printable(text) for text in ESCAPED} == ESCAPED


WARNINGS = {
    "a warning of the greatest length": ("a" * WARNING_CHARACTERS, "a" * WARNING_CHARACTERS),
    "a longer one": ("a" * (WARNING_CHARACTERS + 1), "a" * (WARNING_CHARACTERS - 3) + "..."),
    "control characters": ("a\x1b[1m", r"a\x1b[1m"),
}


@pytest.mark.parametrize(("text", "warning"), WARNINGS.values(), ids=WARNINGS.keys())
def test_a_warning_is_shortened(text: str, warning: str) -> None:
    assert shorten_warning(text) == warning


@given(st.text())
def test_every_text_becomes_printable(text: str) -> None:
    assert printable(text).isprintable()
    assert printable_lines(text).split("\n") == [printable(line) for line in text.split("\n")]


def test_values_that_are_no_texts_stay() -> None:
    assert (printable_value("\x1b"), printable_value(3)) == (r"\x1b", 3)


@given(st.dictionaries(st.text(), st.text() | st.integers()), st.none() | st.just(2))
def test_an_escaped_document_is_printable_and_has_the_same_value(
    value: dict[str, str | int], indent: int | None
) -> None:
    escaped = escape_json(json.dumps(value, ensure_ascii=False, indent=indent))

    assert all(line.isprintable() for line in escaped.split("\n"))
    assert json.loads(escaped) == value


def test_printable_documents_stay() -> None:
    assert escape_json('{\n "ä": "\\u001b"\n}') == '{\n "ä": "\\u001b"\n}'


@pytest.mark.parametrize(
    ("text", "quoted"), ROWS, ids=[f"U+{ord(text[0]):04X}" for text, _ in ROWS]
)
def test_texts_are_quoted_as_by_go(text: str, quoted: str) -> None:
    assert quote(text) == quoted


@given(st.text(st.characters()), st.text(st.characters()))
def test_a_text_is_quoted_character_by_character(one: str, other: str) -> None:
    assert quote(one + other) == quote(one)[:-1] + quote(other)[1:]


@given(st.text(st.characters()))
def test_a_quoted_text_is_one_printable_line_between_quotes(text: str) -> None:
    quoted = quote(text)

    assert quoted.isprintable()
    assert quoted[0] == quoted[-1] == '"'


@given(st.text(), st.text())
def test_different_texts_are_quoted_differently(one: str, other: str) -> None:
    assert (quote(one) == quote(other)) == (one == other)

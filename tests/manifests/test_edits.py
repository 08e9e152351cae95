from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.manifests.edits import (
    AppliedEdits,
    TextEdit,
    after_break,
    apply_edits,
    break_near,
    find_line_starts,
    find_region,
    has_rare_breaks,
    indentation,
    line_end,
    line_start,
    overlap,
)

TEXT = "0123456789"


def test_parts_are_replaced_from_left_to_right() -> None:
    edits = [TextEdit(7, 9, ""), TextEdit(2, 2, "ab"), TextEdit(4, 5, "x")]

    assert apply_edits(edits, TEXT) == "01ab23x569"


def test_a_part_of_a_text_is_edited_where_it_stands() -> None:
    assert apply_edits([TextEdit(0, 1, "x").shift(3)], TEXT) == "012x456789"


OVERLAPPING = {
    "equal": (TextEdit(1, 2, "x"), TextEdit(1, 2, "x"), False),
    "the same place": (TextEdit(1, 1, "x"), TextEdit(1, 1, "y"), True),
    "crossing": (TextEdit(1, 4, ""), TextEdit(3, 5, ""), True),
    "one within the other": (TextEdit(1, 4, ""), TextEdit(2, 2, "x"), True),
    "one after the other": (TextEdit(1, 4, ""), TextEdit(4, 5, ""), False),
}


@pytest.mark.parametrize(
    ("one", "other", "overlapping"), OVERLAPPING.values(), ids=OVERLAPPING.keys()
)
def test_edits_may_overlap(one: TextEdit, other: TextEdit, overlapping: bool) -> None:
    assert overlap(one, other) is overlapping
    assert overlap(other, one) is overlapping


@st.composite
def apart(draw: st.DrawFn) -> list[TextEdit]:
    """Edits of ``TEXT`` that do not overlap, in order."""
    ends = sorted(draw(st.sets(st.integers(0, 10), max_size=6)))
    pairs = zip(ends[::2], ends[1::2], strict=False)
    return [TextEdit(start, end, draw(st.text("xy", max_size=4))) for start, end in pairs]


@given(apart())
def test_what_was_not_edited_is_found_where_it_was(edits: Sequence[TextEdit]) -> None:
    edited, applied = apply_edits(edits, TEXT), AppliedEdits(edits)

    for position, character in enumerate(edited):
        found = applied.original_position(position)
        if character.isdigit():
            assert TEXT[found] == character
        else:
            assert found in {edit.start for edit in edits}


# text, position, its line and the start of the next one, the line break, the indentation
BREAKS: dict[str, tuple[str, int, tuple[int, int, int], str, str]] = {
    "line feeds": ("a\n  b\nc", 4, (2, 5, 6), "\n", "  "),
    "as on Windows": ("a\r\n\tb\r\n", 4, (3, 5, 7), "\r\n", "\t"),
    "the last line takes the break before it": ("a\r\nb", 3, (3, 4, 4), "\r\n", ""),
    "a single line": ("ab", 1, (0, 2, 2), "\n", ""),
    "a rare break": ("a\u2028b\u2028", 2, (2, 3, 4), "\u2028", ""),
    "an empty text": ("", 0, (0, 0, 0), "\n", ""),
}


@pytest.mark.parametrize(
    ("text", "position", "line", "line_break", "blanks"), BREAKS.values(), ids=BREAKS.keys()
)
def test_the_line_of_a_character_is_found(
    text: str, position: int, line: tuple[int, int, int], line_break: str, blanks: str
) -> None:
    end = line_end(text, position)

    assert (line_start(text, position), end, after_break(text, end)) == line
    assert break_near(text, position) == line_break
    assert indentation(text, position) == blanks


def test_lines_are_counted_by_line_feeds() -> None:
    assert find_line_starts("a\r\nb\u2028c\n") == [0, 3, 7]


# text, whether a line ends at a rare break
RARE_BREAKS: dict[str, tuple[str, bool]] = {
    "no break": ("ab", False),
    "line feeds": ("a\nb\n", False),
    "as on Windows": ("a\r\nb\r\n", False),
    "a carriage return alone": ("a\nb\rc", True),
    "a carriage return before a Windows break": ("a\r\r\nb", True),
    "a next line": ("a\x85b", True),
    "a line separator": ("a\u2028b", True),
    "a paragraph separator": ("a\u2029b", True),
}


@pytest.mark.parametrize(("text", "rare"), RARE_BREAKS.values(), ids=RARE_BREAKS.keys())
def test_other_breaks_than_line_feeds_are_rare(text: str, rare: bool) -> None:
    assert has_rare_breaks(text) is rare


# text, what is replaced, its region
REGIONS: dict[str, tuple[str, str, tuple[int, int, int, int]]] = {
    "the beginning": ("abc", "a", (1, 1, 1, 2)),
    "on the second line": ("a\nbcd", "cd", (2, 2, 2, 4)),
    "over a line break": ("ab\ncd", "b\nc", (1, 2, 2, 2)),
    "after characters of several bytes": ("ü: é\nö: x", "x", (2, 4, 2, 5)),
    "after characters of two UTF-16 units": ("\U0001f600: x", "x", (1, 4, 1, 5)),
    "with carriage returns": ("a\r\nb: c\r\n", "c", (2, 4, 2, 5)),
    "a line with its break": ("a\r\nb\r\nc", "b\r\n", (2, 1, 3, 1)),
}


@pytest.mark.parametrize(("text", "part", "region"), REGIONS.values(), ids=REGIONS.keys())
def test_regions_count_lines_and_code_points(
    text: str, part: str, region: tuple[int, int, int, int]
) -> None:
    start = text.index(part)

    assert find_region(find_line_starts(text), TextEdit(start, start + len(part), "")) == region


def test_an_insertion_at_the_end_has_an_empty_region() -> None:
    assert find_region(find_line_starts("a\n"), TextEdit(2, 2, "b")) == (2, 1, 2, 1)

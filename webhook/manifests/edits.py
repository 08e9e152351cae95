"""
Edits of a text by character positions, and the line breaks around a position.

Source: YAML 1.1, section 5.4: which characters break a line; libyaml breaks lines at the same ones.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

_RARE_BREAKS = "\r\x85\u2028\u2029"

_break = re.compile(f"\r\n|[\n{_RARE_BREAKS}]")
_blanks = re.compile(r"[ \t]*")


class Span(NamedTuple):
    """Characters of a text, from ``start`` to before ``end``, from 0."""

    start: int
    end: int


class TextEdit(NamedTuple):
    """
    The replacement of a part of a text.

    Attributes:
        start: The first character replaced.
        end: The character after the last one; equal to ``start`` for an insertion.
        text: The replacement.
    """

    start: int
    end: int
    text: str

    def shift(self, by: int) -> "TextEdit":
        """Convert the edit of a part of a text to one of the whole text."""
        return self._replace(start=self.start + by, end=self.end + by)


class TextRegion(NamedTuple):
    """
    A part of a text in lines and columns, from 1; columns count code points.

    The end is the column after the last character. Lines end at line feeds.
    """

    start_line: int
    start_column: int
    end_line: int
    end_column: int


def find_region(line_starts: Sequence[int], edit: TextEdit) -> TextRegion:
    """Find the lines and columns that an edit replaces; ``line_starts`` are of the whole text."""
    first, last = (bisect_right(line_starts, position) for position in (edit.start, edit.end))
    start_column, end_column = edit.start - line_starts[first - 1], edit.end - line_starts[last - 1]
    return TextRegion(first, start_column + 1, last, end_column + 1)


def overlap(one: TextEdit, other: TextEdit) -> bool:
    """Whether two different edits replace the same characters, or start at the same one."""
    if one == other:
        return False
    return one.start == other.start or (one.start < other.end and other.start < one.end)


def apply_edits(edits: Iterable[TextEdit], text: str) -> str:
    """Apply edits, of which no two overlap, to a text."""
    parts: list[str] = []
    done = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        parts += (text[done : edit.start], edit.text)
        done = edit.end
    return "".join((*parts, text[done:]))


class AppliedEdits:
    """Edits of a text, and where they are in the edited text."""

    def __init__(self, edits: Sequence[TextEdit]) -> None:
        """Place edits that are in the order of the text, of which no two overlap."""
        self._edits = edits
        grown = (len(edit.text) - (edit.end - edit.start) for edit in edits)
        self._shifts = list(accumulate(grown, initial=0))  # of what comes after so many edits
        self._starts = [edit.start + by for edit, by in zip(edits, self._shifts, strict=False)]

    def original_position(self, position: int) -> int:
        """
        Find where a character of the edited text was before the edits.

        For a character that an edit wrote, the result is the start of that edit.
        """
        before = bisect_right(self._starts, position)
        if before and position < self._starts[before - 1] + len(self._edits[before - 1].text):
            return self._edits[before - 1].start
        return position - self._shifts[before]


def find_line_starts(text: str) -> list[int]:
    """Find where each line starts, as editors and ``grep -n`` count lines: by line feeds."""
    return [0, *(found.end() for found in re.finditer("\n", text))]


def has_rare_breaks(text: str) -> bool:
    """Whether a line of a text ends at another break than a line feed."""
    return any(found[0] not in ("\n", "\r\n") for found in _break.finditer(text))


def line_start(text: str, position: int) -> int:
    """Find where the line of a character starts."""
    start = text.rfind("\n", 0, position) + 1
    return max(start, *(text.rfind(rare, start, position) + 1 for rare in _RARE_BREAKS))


def line_end(text: str, position: int) -> int:
    """Find where the line of a character ends, before its break."""
    found = _break.search(text, position)
    return found.start() if found else len(text)


def after_break(text: str, end: int) -> int:
    """Find where the next line starts, given the end of one; ``end`` itself on the last line."""
    found = _break.match(text, end)
    return found.end() if found else end


def break_near(text: str, position: int) -> str:
    """Find the line break of a character's line; on the last line, the break before it."""
    found = _break.search(text, position)
    if found is None:
        found = _break.match(text, max(line_start(text, position) - 1, 0))
    if found is None:
        return "\n"
    start = found.start()
    return "\r\n" if text[max(start - 1, 0) : start + 1] == "\r\n" else found[0]


def indentation(text: str, position: int) -> str:
    """Return the blanks at the start of a character's line."""
    found = _blanks.match(text, line_start(text, position))
    assert found is not None, "it matches the empty string, too"
    return found[0]

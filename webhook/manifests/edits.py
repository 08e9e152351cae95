"""
Edits of a text by character positions, and the line breaks around a position.

Source: YAML 1.1, section 5.4: which characters break a line; libyaml breaks lines at the same ones.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

_RARE_BREAKS = "\r\x85\u2028\u2029"

_break = re.compile(f"\r\n|[\n{_RARE_BREAKS}]")
_blanks = re.compile(r"[ \t]*")


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


def find_original_position(edits: Sequence[TextEdit], position: int) -> int:
    """
    Find where a character of an edited text was before the edits, given in the order of the text.

    For a character that an edit wrote, the result is the start of that edit.
    """
    shift = 0
    for edit in edits:
        start = edit.start + shift
        if position < start:
            break
        if position < start + len(edit.text):
            return edit.start
        shift += len(edit.text) - (edit.end - edit.start)
    return position - shift


def find_line_starts(text: str) -> list[int]:
    """Find where each line starts, as editors and ``grep -n`` count lines: by line feeds."""
    return [0, *(found.end() for found in re.finditer("\n", text))]


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

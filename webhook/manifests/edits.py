"""Edits of a text by the characters that they replace."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Edit(NamedTuple):
    """
    A part of a text, and what is written instead.

    Attributes:
        start: Its first character.
        end: The character after its last one; equal to ``start`` where something is put in.
        text: What stands there afterwards.
    """

    start: int
    end: int
    text: str

    def moved(self, by: int) -> "Edit":
        """The same in a text that this one is a part of."""
        return self._replace(start=self.start + by, end=self.end + by)


def overlap(one: Edit, other: Edit) -> bool:
    """Whether two different edits are about the same characters, or begin at the same one."""
    if one == other:
        return False
    return one.start == other.start or (one.start < other.end and other.start < one.end)


def apply(edits: Iterable[Edit], text: str) -> str:
    """
    Make the text in which everything is replaced.

    Args:
        edits: No two of which overlap.
    """
    parts: list[str] = []
    done = 0
    for edit in sorted(edits, key=lambda each: (each.start, each.end)):
        parts += (text[done : edit.start], edit.text)
        done = edit.end
    return "".join((*parts, text[done:]))


def before(edits: Sequence[Edit], position: int) -> int:
    """
    Where a character stood before edits were made.

    Args:
        edits: In the order of the text.
        position: In the text that they made; in a part that they wrote, it is its beginning that
            is told.
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

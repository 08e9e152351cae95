"""
The unified diff of a text and its edited text, in a time that grows with the text alone.

``difflib`` compares each line with all equal ones, of which a file of many objects has thousands.
Since edits keep the order of lines, it is enough to compare a window of lines at a time.
"""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher, unified_diff
from typing import NamedTuple

WINDOW = 400
"""Lines that are compared at a time, and the most for which difflib compares all; it takes 5 ms."""

_CONTEXT = 3  # lines around a change, as in diff -u

_split = re.compile(r"[^\n]*\n|[^\n]+").findall
_NO_NEWLINE = "\n\\ No newline at end of file\n"


class _Change(NamedTuple):
    """Lines from ``start`` to before ``end`` that lines of the other text replace, from 0."""

    start: int
    end: int
    new_start: int
    new_end: int


def format_difference(name: str, before: str, after: str, window: int = WINDOW) -> str:
    """
    Format a unified diff for ``patch``; lines end at line feeds.

    Args:
        window: Lines to compare at a time.
    """
    old, new = _split(before), _split(after)
    is_short = max(len(old), len(new)) <= window
    lines = unified_diff(old, new, name, name) if is_short else _compare(name, old, new, window)
    return "".join(line if line.endswith("\n") else f"{line}{_NO_NEWLINE}" for line in lines)


def _compare(name: str, old: Sequence[str], new: Sequence[str], window: int) -> Iterator[str]:
    hunks = list(_group(_find_changes(old, new, window)))
    if hunks:
        yield f"--- {name}\n"
        yield f"+++ {name}\n"
    for hunk in hunks:
        yield from _format_hunk(hunk, old, new)


def _find_changes(old: Sequence[str], new: Sequence[str], window: int) -> Iterator[_Change]:
    """Find the changes in their order; between two of them there are equal lines."""
    start = new_start = 0
    while True:
        shorter = min(len(old) - start, len(new) - new_start)
        same = 0
        while same < shorter and old[start + same] == new[new_start + same]:
            same += 1
        start, new_start = start + same, new_start + same
        if start == len(old) and new_start == len(new):
            return
        for change in _compare_window(old, new, start, new_start, window):
            yield change
            start, new_start = change.end, change.new_end


def _compare_window(
    old: Sequence[str], new: Sequence[str], start: int, new_start: int, size: int
) -> list[_Change]:
    """
    Find the first changes from two lines on, which differ.

    Args:
        size: Lines to compare; more if they have no line in common.
    """
    while True:
        lines, new_lines = old[start : start + size], new[new_start : new_start + size]
        matcher = SequenceMatcher(None, lines, new_lines, autojunk=False)
        changes = [
            _Change(start + first, start + end, new_start + new_first, new_start + new_end)
            for tag, first, end, new_first, new_end in matcher.get_opcodes()
            if tag != "equal"
        ]
        if len(old) - start <= size and len(new) - new_start <= size:
            return changes
        # Near the end of a window, lines may lack those that they are equal to.
        half, new_half = start + size // 2, new_start + size // 2
        early = [one for one in changes if one.end <= half and one.new_end <= new_half]
        if early:
            return early
        size *= 2


def _group(changes: Iterator[_Change]) -> Iterator[list[_Change]]:
    """Join changes whose context would overlap to one hunk."""
    hunk: list[_Change] = []
    for change in changes:
        if hunk and change.start - hunk[-1].end > 2 * _CONTEXT:
            yield hunk
            hunk = []
        hunk.append(change)
    if hunk:
        yield hunk


def _format_hunk(hunk: list[_Change], old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    first, last = hunk[0], hunk[-1]
    before = min(_CONTEXT, first.start)
    after = min(_CONTEXT, len(old) - last.end)
    start, end = first.start - before, last.end + after
    new_start, new_end = first.new_start - before, last.new_end + after
    yield f"@@ -{_format_range(start, end)} +{_format_range(new_start, new_end)} @@\n"
    at = start
    for change in hunk:
        yield from (f" {line}" for line in old[at : change.start])
        yield from (f"-{line}" for line in old[change.start : change.end])
        yield from (f"+{line}" for line in new[change.new_start : change.new_end])
        at = change.end
    yield from (f" {line}" for line in old[at:end])


def _format_range(start: int, end: int) -> str:
    """Format lines as POSIX does: an empty range names the line before it."""
    match end - start:
        case 0:
            return f"{start},0"
        case 1:
            return f"{start + 1}"
        case length:
            return f"{start + 1},{length}"

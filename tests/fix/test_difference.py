"""Unified diffs of long texts."""

import re
from collections.abc import Iterator, Sequence
from difflib import unified_diff

from hypothesis import given
from hypothesis import strategies as st

from webhook.fix.difference import WINDOW, format_difference

_line = re.compile(r"[^\n\0]+(?:\n|\0\n)")
_hunk = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@\n")


def apply(difference: str, text: str) -> str:
    """Apply a diff as strictly as possible: at the lines that it names, with all its context."""
    old, done = text.splitlines(keepends=True), 0
    applied: list[str] = []
    for start, removed, new_start, added, lines in read_hunks(difference):
        first = start - 1 if removed else start
        applied += old[done:first]
        assert len(applied) == (new_start - 1 if added else new_start)
        assert [ended(line) for line in lines if line[0] in " -"] == old[first : first + removed]
        written = [ended(line) for line in lines if line[0] in " +"]
        assert len(written) == added
        applied += written
        done = first + removed
    return "".join((*applied, *old[done:]))


def ended(line: str) -> str:
    """A line of a hunk as it is in the text, which may end without a line feed."""
    return line[1:].removesuffix("\0\n")


def read_hunks(difference: str) -> Iterator[tuple[int, int, int, int, Sequence[str]]]:
    """The first line and the number of lines in both texts, and the lines."""
    parts = _hunk.split(difference)[1:]
    for start, removed, new_start, added, body in zip(*[iter(parts)] * 5, strict=True):
        numbers = int(start), int(removed or 1), int(new_start), int(added or 1)
        yield *numbers, _line.findall(body.replace("\n\\ No newline at end of file\n", "\0\n"))


lines = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "---\n", "d: 1\n"]), max_size=60)
endings = st.sampled_from(["", "end", "end\n"])


@given(lines, lines, endings, endings, st.integers(2, 12))
def test_a_diff_makes_one_text_of_the_other(
    old: list[str], new: list[str], end: str, new_end: str, window: int
) -> None:
    before, after = "".join(old) + end, "".join(new) + new_end

    difference = format_difference("a", before, after, window)

    assert apply(difference, before) == after
    assert bool(difference) == (before != after)


@given(lines, lines)
def test_a_diff_of_short_texts_is_that_of_difflib(old: list[str], new: list[str]) -> None:
    difference = format_difference("a", "".join(old), "".join(new))

    assert difference == "".join(unified_diff(old, new, "a", "a"))


def objects(count: int, *, edited: bool) -> str:
    """A file of objects that are alike but for their names, in each of which a line changes."""
    value = "2\n    added: x" if edited else "1"
    return "---\n".join(
        f"kind: Deployment\nmetadata:\n  name: web-{number}\nspec:\n  template:\n"
        f"    maxSkew: {value}\n    containers:\n    - name: a\n"
        for number in range(count)
    )


def test_each_object_of_a_long_file_has_a_hunk_of_its_own() -> None:
    before, after = objects(WINDOW, edited=False), objects(WINDOW, edited=True)

    difference = format_difference("a.yaml", before, after)

    hunks = list(read_hunks(difference))
    assert difference.startswith(
        "--- a.yaml\n+++ a.yaml\n@@ -3,7 +3,8 @@\n   name: web-0\n spec:\n"
    )
    assert len(hunks) == WINDOW
    assert difference.count("\n-") == WINDOW
    assert difference.count("\n+") == 2 * WINDOW + 1
    assert apply(difference, before) == after


def test_a_long_text_without_a_line_in_common_is_replaced() -> None:
    before = "".join(f"{number}\n" for number in range(3 * WINDOW))

    difference = format_difference("a", before, "other\n")

    assert difference.startswith(f"--- a\n+++ a\n@@ -1,{3 * WINDOW} +1 @@\n-0\n")
    assert apply(difference, before) == "other\n"


def test_equal_texts_have_no_difference() -> None:
    text = objects(WINDOW, edited=False)

    assert format_difference("a", text, text) == ""

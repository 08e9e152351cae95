"""The positions that the parts of moved values had before."""

from collections.abc import Sequence

import pytest

from webhook.fix.changes import Change, Move, Put, Wrap
from webhook.fix.origins import MovedPart, find_origin, pair_moved
from webhook.manifests.positions import read_tree

BLOCK = """\
a:
  list:  # one
  - x: 1
    y: 2
b: {}
"""
MOVED_BLOCK = """\
a: {}
b:
    list:  # one
    - x: 1
      y: 2
"""
FLOW = """{"a": {"list": [
  {"x": 1,
   "y": 2}]},
 "b": {}}"""
MOVED_FLOW = """{"a": {},
 "b": {"list": [{"x": 1, "y": 2}]}}"""
MERGED = "c: &c {x: 1, y: 2}\na: {list: [{<<: *c}]}\nb: {}\n"
WRITTEN_OUT = "c: &c {x: 1, y: 2}\na: {}\nb: {list: [{x: 1, y: 2}]}\n"
ALIASED = "c: &c {x: 1}\na: {list: *c}\nb: {}\n"
MOVED_ALIAS = "c: &c {x: 1}\na: {}\nb: {list: {x: 1}}\n"
INNER = "labels:\n  app: web\n  x: 1\n"
WRAPPED = "selector:\n  labels:\n    app: web\n    x: 1\n"

MOVE = Move(("a", "list"), ("b", "list"), [{"x": 1, "y": 2}])

# old text, new text, change -> the text of each part before and after the move, to the line's end
PAIRS: dict[str, tuple[str, str, Change, list[tuple[str, str]]]] = {
    "a block": (
        BLOCK,
        MOVED_BLOCK,
        MOVE,
        [
            ("list:  # one", "list:  # one"),
            ("- x: 1", "- x: 1"),
            ("x: 1", "x: 1"),
            ("y: 2", "y: 2"),
        ],
    ),
    "brackets": (
        FLOW,
        MOVED_FLOW,
        MOVE,
        [
            ('"list": [', '"list": [{"x": 1, "y": 2}]}}'),
            ('{"x": 1,', '{"x": 1, "y": 2}]}}'),
            ('"x": 1,', '"x": 1, "y": 2}]}}'),
            ('"y": 2}]},', '"y": 2}]}}'),
        ],
    ),
    "a merge, whose members were elsewhere": (
        MERGED,
        WRITTEN_OUT,
        MOVE,
        [("list: [{<<: *c}]}", "list: [{x: 1, y: 2}]}"), ("{<<: *c}]}", "{x: 1, y: 2}]}")],
    ),
    "an alias, whose members were elsewhere": (
        ALIASED,
        MOVED_ALIAS,
        Move(("a", "list"), ("b", "list"), {"x": 1}),
        [("list: *c}", "list: {x: 1}}")],
    ),
    "a wrapped member": (
        INNER,
        WRAPPED,
        Wrap(("labels",), "selector", {}),
        [("labels:", "labels:"), ("app: web", "app: web"), ("x: 1", "x: 1")],
    ),
    "a new member": ("a: 1", "a: 1\nb: 2", Put(("b",), 2), []),
    "a target in a merge": (BLOCK, "c: &c {list: []}\nb: {<<: *c}", MOVE, []),
}


@pytest.mark.parametrize(
    ("before", "after", "change", "expected"), PAIRS.values(), ids=PAIRS.keys()
)
def test_the_parts_of_a_moved_value_are_paired(
    before: str, after: str, change: Change, expected: Sequence[tuple[str, str]]
) -> None:
    parts = pair_moved(read_tree(before), read_tree(after), [change])

    assert [
        (before[one.origin :].partition("\n")[0], after[one.start :].partition("\n")[0])
        for one in parts
    ] == expected


def test_the_smallest_part_at_a_character_counts() -> None:
    moved = [MovedPart(10, 30, 100), MovedPart(12, 20, 102), MovedPart(21, 29, 111)]

    found = [find_origin(moved, position) for position in (9, 10, 12, 20, 21, 29, 30)]

    assert found == [None, 100, 102, 100, 111, 100, None]


def test_positions_in_a_document_become_positions_in_its_file() -> None:
    assert MovedPart(1, 3, 2).shift(100, 200) == MovedPart(201, 203, 102)

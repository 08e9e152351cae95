"""Merged mappings are edited at their anchor."""

import pytest

from webhook.fix.changes import Change, Move, Put, Remove, Wrap
from webhook.fix.merges import locate_in_merged
from webhook.manifests import edits
from webhook.manifests.positions import read_tree

# text, change, edited text, number of values that the edit changes
SHARED: dict[str, tuple[str, Change, str, int]] = {
    "a merged member": (
        "b: &b {x: 1}\na: {<<: *b}\n", Put(("a", "x"), 2), "b: &b {x: 2}\na: {<<: *b}\n", 2
    ),
    "a new member": (
        "b: &b {x: 1}\na: {<<: *b}\n", Put(("a", "w"), 2), "b: &b {x: 1, w: 2}\na: {<<: *b}\n", 2
    ),
    "inside a merged member": (
        "b: &b {x: {y: 1}}\na: {<<: *b}\n",
        Put(("a", "x", "y"), 2),
        "b: &b {x: {y: 2}}\na: {<<: *b}\n",
        2,
    ),
    "new inside a merged member": (
        "b: &b {x: {y: 1}}\na: {<<: *b}\n",
        Put(("a", "x", "z"), 2),
        "b: &b {x: {y: 1, z: 2}}\na: {<<: *b}\n",
        2,
    ),
    "merged by way of another": (
        "c: &c {x: 1}\nb: &b {<<: *c}\na: {<<: *b}\n",
        Put(("a", "x"), 2),
        "c: &c {x: 2}\nb: &b {<<: *c}\na: {<<: *b}\n",
        3,
    ),
    "a renamed member": (
        "b: &b {x: 1}\na: {<<: *b, z: 1}\n",
        Move(("a", "x"), ("a", "y"), 1),
        "b: &b {y: 1}\na: {<<: *b, z: 1}\n",
        2,
    ),
    "a renamed member of a merged one": (
        "b: &b {x: {y: 1}}\na: {<<: *b}\n",
        Move(("a", "x", "y"), ("a", "x", "z"), 1),
        "b: &b {x: {z: 1}}\na: {<<: *b}\n",
        2,
    ),
    "a wrapped member": (
        "b: &b\n  x: 1\na: {<<: *b}\n",
        Wrap(("a", "x"), "y", 1),
        "b: &b\n  y:\n    x: 1\na: {<<: *b}\n",
        2,
    ),
    "the only member of a block is removed": (
        "b: &b\n  x: 1\na: {<<: *b}\n", Remove(("a", "x")), "b: &b\n  {}\na: {<<: *b}\n", 2
    ),
    "a removed member": (
        "b: &b {x: 1, y: 2}\na: {<<: *b}\n",
        Remove(("a", "x")),
        "b: &b {y: 2}\na: {<<: *b}\n",
        2,
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("before", "change", "after", "places"), SHARED.values(), ids=SHARED.keys()
)
def test_a_merged_mapping_is_edited(before: str, change: Change, after: str, places: int) -> None:
    placed = locate_in_merged(read_tree(before), change)

    assert placed is not None
    assert edits.apply_edits(placed.edits, before) == after
    assert placed.places == places


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("a: {x: 1}\n", Put(("a", "x"), 2)),
        ("a: {x: {y: 1}}\n", Put(("b", "x", "y"), 2)),
        ("b: &b {x: 1}\na: {<<: *b}\n", Put(("a", "x", "y"), 2)),
        ("b: &b {x: !t 1}\na: {<<: *b}\n", Put(("a", "x"), 2)),
        ("b: &b {x: 1}\na: {<<: [*b]}\n", Put(("a", "x"), 2)),
        ("b: &b {x: 1, c: {}}\na: {<<: *b}\n", Move(("a", "x"), ("a", "c", "x"), 1)),
        ("b: &b {x: 1, x: 2}\na: {<<: *b}\n", Move(("a", "x"), ("a", "y"), 1)),
        ("b: &b {x: 1}\na: {<<: *b}\n", Remove(("a", "y"))),
    ],
    ids=[
        "nothing is merged",
        "no parent",
        "a number",
        "a tag",
        "several are merged",
        "it would move to another object",
        "it is there twice",
        "it is absent",
    ],
)
def test_no_merged_mapping_is_edited(text: str, change: Change) -> None:
    assert locate_in_merged(read_tree(text), change) is None

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fix import manifests
from webhook.fix import changes as values
from webhook.fix.changes import FixObstacle, Put, Remove
from webhook.fix.locate import (
    EXPLICIT,
    MERGED,
    MERGED_MEMBER,
    Placement,
    locate_change,
)
from webhook.manifests import Document, edits, parse
from webhook.manifests.positions import read_tree

SELECTOR = {"matchLabels": {"app": "web"}}

# before, change, after
PLACED: dict[str, tuple[str, Put | Remove, str]] = {
    "a number": ("a: 0 # c\n", Put(("a",), 1), "a: 1 # c\n"),
    "a text keeps its double quotes": ('a: "x"\n', Put(("a",), "y"), 'a: "y"\n'),
    "a text keeps its single quotes": ("a: 'x'\n", Put(("a",), "it's"), "a: 'it''s'\n"),
    "a text that would be something else": ("a: x\n", Put(("a",), "yes"), 'a: "yes"\n'),
    "nothing": ("a:\nb: 1\n", Put(("a",), 1), "a: 1\nb: 1\n"),
    "nothing in braces": ("{a: , b: 1}\n", Put(("a",), 1), "{a: 1, b: 1}\n"),
    "a block scalar": ("a: |-\n  x\nb: 1\n", Put(("a",), "z"), "a: z\nb: 1\n"),
    "beside an anchor": ("a: &x 0\n", Put(("a",), 1), "a: &x 1\n"),
    "an alias": ("a: &x 0\nb: *x\n", Put(("b",), 1), "a: &x 0\nb: 1\n"),
    "the last of two equal keys counts": ("a: 0\na: 0\n", Put(("a",), 1), "a: 0\na: 1\n"),
    "a block below its key": (
        "s:\n  l: null  # none\n  m: 1\n",
        Put(("s", "l"), SELECTOR),
        "s:\n  l:  # none\n    matchLabels:\n      app: web\n  m: 1\n",
    ),
    "a block for an empty object": (
        "s:\n    l: {}\n",
        Put(("s", "l"), SELECTOR),
        "s:\n    l:\n        matchLabels:\n            app: web\n",
    ),
    "brackets for brackets": ("a: [1]\n", Put(("a",), [2, 3]), "a: [2, 3]\n"),
    "a member at the end of a block": (
        "a:\n- b: 1 # c\n# d\ne: 2\n",
        Put(("a", 0, "k"), [1]),
        "a:\n- b: 1 # c\n  k:\n  - 1\n# d\ne: 2\n",
    ),
    "a list with indented dashes": (
        "a:\n    - b: 1\n",
        Put(("a", 0, "k"), ["x", {}]),
        "a:\n    - b: 1\n      k:\n          - x\n          - {}\n",
    ),
    "a list of objects": (
        "a: 1\n",
        Put(("k",), [{"x": 1, "v": [{"z": "on"}]}]),
        'a: 1\nk:\n- x: 1\n  v:\n  - z: "on"\n',
    ),
    "a member where a block scalar is the last one": (
        "a: 1\nb: |+\n  x\n\n",
        Put(("k",), 1),
        "a: 1\nk: 1\nb: |+\n  x\n\n",
    ),
    "a member where there are but block scalars": (
        "- b: |\n    x",
        Put((0, "k"), 1),
        "- k: 1\n  b: |\n    x",
    ),
    "a member in braces": ("{a: {b: 1}}\n", Put(("a", "k"), "x"), "{a: {b: 1, k: x}}\n"),
    "a member in empty braces": ("a: { }\n", Put(("a", "k"), "x"), "a: {k: x }\n"),
    "a member before a last comma": ("{a: 1, }\n", Put(("k",), 1), "{a: 1, k: 1, }\n"),
    "a member in braces on several lines": (
        "a: {\n  b: 1, # c\n  d: 2\n}\n",
        Put(("a", "k"), 1),
        "a: {\n  b: 1, # c\n  d: 2,\n  k: 1\n}\n",
    ),
    "quoted keys": ('{"a": 1}\n', Put(("k",), "x"), '{"a": 1, "k": "x"}\n'),
    "an item of a block": ("a:\n- 1\nb: 2\n", Put(("a", 1), "x"), "a:\n- 1\n- x\nb: 2\n"),
    "an item in brackets": ("a: [1]\n", Put(("a", 1), "x"), "a: [1, x]\n"),
    "lines ended as on Windows": (
        "a:\r\n  b: 1\r\n",
        Put(("a", "k"), 1),
        "a:\r\n  b: 1\r\n  k: 1\r\n",
    ),
    "a text without an end of line": ("a: 1", Put(("k",), 1), "a: 1\nk: 1"),
    "characters of several bytes": ("é: 😀 # ü\n", Put(("k",), "ß"), 'é: 😀 # ü\nk: "ß"\n'),
    "a line of a block is removed": ("a: 1\nb: 2\nc: 3\n", Remove(("b",)), "a: 1\nc: 3\n"),
    "several lines are removed": ("a:\n  x:\n  - 1\nc: 3\n", Remove(("a",)), "c: 3\n"),
    "comments of what is removed stay": (
        "a: 1\n# one\nb: # two\n  # three\n  x: '# no'\nc: 3\n",
        Remove(("b",)),
        "a: 1\n# one\n# two\n# three\nc: 3\n",
    ),
    "a # in a removed text is no comment": (
        "a: 1\nb: 'x # y' # z\nc: 3\n",
        Remove(("b",)),
        "a: 1\n# z\nc: 3\n",
    ),
    "the last line, which has no end": ("a: 1\nb: 2", Remove(("b",)), "a: 1"),
    "the last line with a comment": ("a: 1\nb: 2 # c", Remove(("b",)), "a: 1\n# c"),
    "the first member after a dash": (
        "- a: 1 # c\n  b: 2\n",
        Remove((0, "a")),
        "- # c\n  b: 2\n",
    ),
    "an item of a block is removed": ("a:\n  - 1\n  - b: 2\n", Remove(("a", 0)), "a:\n  - b: 2\n"),
    "a nested dash": ("- - 1\n  - 2\n", Remove((0, 0)), "- - 2\n"),
    "the first in braces": ("{a: 1, b: 2}\n", Remove(("a",)), "{b: 2}\n"),
    "the last in braces": ("{a: 1, b: 2 }\n", Remove(("b",)), "{a: 1 }\n"),
    "the last in braces with a comment": (
        "{a: 1, # c\n b: 2}\n",
        Remove(("b",)),
        "{a: 1 # c\n     }\n",
    ),
    "the only one in braces": ("a: {b: 2}\n", Remove(("a", "b")), "a: {}\n"),
    "the only one of a block": ("a:\n  b: 1\nc: 2\n", Remove(("a", "b")), "a: {}\nc: 2\n"),
    "the only one of a block, with comments": (
        "a:\n  b: # x\n    c: 1 # y\n",
        Remove(("a", "b")),
        "a: {}\n  # x\n  # y\n",
    ),
    "the only one of a block with an anchor": (
        "a: &x\n  b: 1\n",
        Remove(("a", "b")),
        "a: &x\n  {}\n",
    ),
    "the only one of a block below a comment": (
        "a: # x:\n  b: 1\n",
        Remove(("a", "b")),
        "a: # x:\n  {}\n",
    ),
    "the only member of an item": ("a:\n- b: 1\n", Remove(("a", 0, "b")), "a:\n- {}\n"),
    "the only member of a document": ("a: 1\n", Remove(("a",)), "{}\n"),
    "the only item of a block": ("a:\n- 1\nb: 2\n", Remove(("a", 0)), "a: []\nb: 2\n"),
    "the only item below a comment": ("a: # x\n- 1\n", Remove(("a", 0)), "a: # x\n  []\n"),
    "the only item of an item": ("- - 1\n", Remove((0, 0)), "- []\n"),
    "an item in brackets is removed": ("[1, 2, 3]\n", Remove((1,)), "[1, 3]\n"),
    "both of two equal keys are removed": ("a: 1\nb: 2\na: 3\n", Remove(("a",)), "b: 2\n"),
    "JSON on one line": ('{"a": 1}', Put(("k",), {"x": [1]}), '{"a": 1, "k": {"x": [1]}}'),
    "JSON without blanks": ('{"a":[1,2]}', Put(("k",), {"x": [1]}), '{"a":[1,2],"k":{"x":[1]}}'),
    "JSON with tabs": (
        '{\n\t"a": 1\n}',
        Put(("k",), {"x": 1}),
        '{\n\t"a": 1,\n\t"k": {\n\t\t"x": 1\n\t}\n}',
    ),
    "an item of JSON without blanks": ("[1,2]", Put((2,), 3), "[1,2,3]"),
    "a text of JSON": ('{"a": "x"}', Put(("a",), "é"), '{"a": "é"}'),
    "JSON that is no YAML": (
        r'{"\ud83d\ude00": 1}',
        Put(("k",), 1),
        r'{"\ud83d\ude00": 1, "k": 1}',
    ),
}


def value_of(text: str) -> Any:
    (document,) = parse(text, "x")
    assert isinstance(document, Document)
    return document.value


@pytest.mark.parametrize(("before", "change", "after"), PLACED.values(), ids=PLACED.keys())
def test_a_change_is_the_smallest_edit(before: str, change: Put | Remove, after: str) -> None:
    placed = locate_change(read_tree(before), change)

    assert isinstance(placed, Placement)
    assert edits.apply_edits(placed.edits, before) == after
    assert value_of(after) == values.apply_changes([change], value_of(before))


STUCK: dict[str, tuple[str, Put | Remove, FixObstacle | str]] = {
    "what is merged cannot be removed": (
        "b: &b {x: 1}\na: {<<: *b}\n",
        Remove(("a", "x")),
        MERGED_MEMBER,
    ),
    "nor changed inside": ("b: &b {x: {y: 1}}\na: {<<: *b}\n", Put(("a", "x", "y"), 2), MERGED),
    "a key after a question mark": ("? a\n: 1\n", Put(("b",), 1), EXPLICIT),
    "nothing is removed beside one": ("? a\n: 1\nb: 2\n", Remove(("b",)), EXPLICIT),
    "a tag": ("a: !!str 1\n", Put(("a",), "2"), "it has a tag"),
    "a block that becomes a number": ("a:\n  b: 1\n", Put(("a",), 1), "a block, which would"),
    "a block in a list": ("- null\n", Put((0,), SELECTOR), "needs a block of its own"),
    "into a number": ("a: 1\n", Put(("a", "b"), 1), "a.b has no parent"),
    "nothing there": ("a: 1\n", Put(("b", "c"), 1), "b.c has no parent"),
}


@pytest.mark.parametrize(("text", "change", "reason"), STUCK.values(), ids=STUCK.keys())
def test_some_texts_are_left(text: str, change: Put | Remove, reason: FixObstacle | str) -> None:
    placed = locate_change(read_tree(text), change)

    assert isinstance(placed, FixObstacle)
    assert placed == reason if isinstance(reason, FixObstacle) else reason in placed.reason


def test_what_is_merged_is_overridden() -> None:
    text = "b: &b {x: 1}\na: {<<: *b}\n"

    placed = locate_change(read_tree(text), Put(("a", "x"), 2))

    assert isinstance(placed, Placement)
    assert edits.apply_edits(placed.edits, text) == "b: &b {x: 1}\na: {<<: *b, x: 2}\n"


def test_an_alias_adds_a_place() -> None:
    tree = read_tree("a: &x {y: 1}\nb: [*x, *x]\n")

    placed = locate_change(tree, Put(("b", 1, "y"), 2))
    replaced = locate_change(tree, Put(("b", 1), 2))

    assert isinstance(placed, Placement)
    assert isinstance(replaced, Placement)
    assert (placed.places, replaced.places) == (3, 1)


@given(st.data())
def test_whatever_is_changed_is_read_back_and_nothing_else_moves(data: st.DataObject) -> None:
    text = data.draw(manifests.texts(manifests.values))
    value = value_of(text)
    change = data.draw(manifests.changes(value))

    placed = locate_change(read_tree(text), change)

    if isinstance(placed, Placement):
        edited = edits.apply_edits(placed.edits, text)
        assert value_of(edited) == values.apply_changes([change], value)
        assert manifests.comments(edited) == manifests.comments(text)

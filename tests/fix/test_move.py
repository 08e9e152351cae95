import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.fix import manifests
from webhook.fix.changes import FixObstacle, Move, Wrap, apply_changes
from webhook.fix.locate import EXPLICIT, MERGED, MERGED_MEMBER, Placement
from webhook.fix.move import ANCHORED, ESCAPED, RARE_BREAKS, REPEATED, locate_move
from webhook.manifests import Document, edits, parse
from webhook.manifests.positions import read_tree
from webhook.policy.paths import find_value


def value_of(text: str) -> Any:
    (document,) = parse(text, "x")
    assert isinstance(document, Document)
    return document.value


def move(text: str, path: str, target: str) -> Move:
    steps, goal = tuple(path.split(".")), tuple(target.split("."))
    return Move(steps, goal, find_value(value_of(text), steps))


MOVED = {
    "a key": ("a: 1 # x\nb: 2\n", "a", "c", "c: 1 # x\nb: 2\n"),
    "a key in quotes": ("'a': 1\n", "a", "c", "'c': 1\n"),
    "a key of JSON": ('{"a": {"b": 1}}', "a.b", "a.c", '{"a": {"c": 1}}'),
    "the key of a block": ("a:\n  b:\n  - 1\n", "a.b", "a.c", "a:\n  c:\n  - 1\n"),
    "a block, with its comments": (
        "a: # one\n  - 1\n  # two\n  - x: 2\n\n    y: 3\nb:\n  c:\n    d: 1\n",
        "a",
        "b.c.e",
        "b:\n  c:\n    d: 1\n    e: # one\n      - 1\n      # two\n      - x: 2\n\n        y: 3\n",
    ),
    "a block to the root": (
        "a:\n  b:\n  - c: 1\n  d: 2\n",
        "a.b",
        "b",
        "a:\n  d: 2\nb:\n- c: 1\n",
    ),
    "the end of the block that it is moved to": (
        "a:\n  b: 1\n  c:\n    x: 0\n    d:\n    - 2\n",
        "a.c.d",
        "a.e",
        "a:\n  b: 1\n  c:\n    x: 0\n  e:\n  - 2\n",
    ),
    "the end of a text without a last break": (
        "a:\n  b: 1\nc:\n- 2",
        "c",
        "a.c",
        "a:\n  b: 1\n  c:\n  - 2",
    ),
    "lines that end as in Windows": (
        "a:\r\n  b: 1\r\nc:\r\n- 2\r\n",
        "c",
        "a.c",
        "a:\r\n  b: 1\r\n  c:\r\n  - 2\r\n",
    ),
    "a value in brackets": ("a: {b: 1, c: [2]}\nd: 3\n", "a.c", "c", "a: {b: 1}\nd: 3\nc:\n- 2\n"),
    "a value into brackets": ("a: {b: 1}\nc:\n- 2\n", "c", "a.c", "a: {b: 1, c: [2]}\n"),
    "a value of JSON": (
        '{"a": {"b": 1}, "c": [2]}',
        "c",
        "a.d",
        '{"a": {"b": 1, "d": [2]}}',
    ),
    "the only member of a block": (
        "a:\n  b: # x\n  - c: 1\n    # y\n    d: 2\n  # z\ne: 3\n",
        "a.b",
        "b",
        "a: {}\n  # z\ne: 3\nb: # x\n- c: 1\n  # y\n  d: 2\n",
    ),
    "the only member of the last block": (
        "a:\n  b:\n    c:\n    - 1",
        "a.b.c",
        "a.c",
        "a:\n  b: {}\n  c:\n  - 1",
    ),
    "the only member of a block below a comment": (
        "a:\n  b: # x:\n    c:\n    - 1\n",
        "a.b.c",
        "a.c",
        "a:\n  b: # x:\n    {}\n  c:\n  - 1\n",
    ),
    "the only member of a block, in brackets": (
        "a:\n  b: [1] # x\nc: 2\n",
        "a.b",
        "d",
        "a: {}\n  # x\nc: 2\nd:\n- 1\n",
    ),
    "a text over several lines": (
        "a:\n  b: 1\nc:\n  d: |\n    x\n     y\n",
        "c",
        "a.c",
        "a:\n  b: 1\n  c:\n    d: |\n      x\n       y\n",
    ),
}


@pytest.mark.parametrize(("text", "path", "target", "after"), MOVED.values(), ids=MOVED.keys())
def test_a_move_keeps_the_text(text: str, path: str, target: str, after: str) -> None:
    change = move(text, path, target)

    placed = locate_move(read_tree(text), change)

    assert isinstance(placed, Placement)
    assert edits.apply_edits(placed.edits, text) == after
    assert value_of(after) == apply_changes([change], value_of(text))


STUCK = {
    "a merged member": ("b: &b {x: 1}\na: {<<: *b}\n", "a.x", "a.y", MERGED_MEMBER),
    "a member of a merged object": ("b: &b {x: {y: 1}}\na: {<<: *b}\n", "a.x.y", "a.x.z", MERGED),
    "a key after a question mark": ("? a\n: 1\n", "a", "b", EXPLICIT),
    "a place beside a question mark": ("a:\n  ? b\n  : 1\nc:\n- 2\n", "c", "a.c", EXPLICIT),
    "a key with an escape": ('"\\x61": 1\n', "a", "b", ESCAPED),
    "a key that is written twice": ("a: 1\na: 2\n", "a", "b", REPEATED),
    "an anchor": ("a: &x [1]\nb: *x\nc: {d: 1}\n", "a", "c.a", ANCHORED),
    "an alias": ("a: &x [1]\nb: *x\nc: {d: 1}\n", "b", "c.a", ANCHORED),
    "an alias within": ("a: &x 1\nb: [*x]\nc: {d: 1}\n", "b", "c.a", ANCHORED),
    "nowhere to move to": ("a: [1]\nb: 2\n", "a", "c.d", "c.d has no parent"),
}


@pytest.mark.parametrize(("text", "path", "target", "reason"), STUCK.values(), ids=STUCK.keys())
def test_some_members_cannot_be_moved(
    text: str, path: str, target: str, reason: FixObstacle | str
) -> None:
    placed = locate_move(read_tree(text), move(text, path, target))

    assert isinstance(placed, FixObstacle)
    assert placed == reason if isinstance(reason, FixObstacle) else reason in placed.reason


def test_the_text_of_an_anchor_counts_for_all_its_aliases() -> None:
    text = "a: &x {y: 1}\nb: [*x, *x]\n"

    placed = locate_move(read_tree(text), move(text, "a.y", "a.z"))

    assert isinstance(placed, Placement)
    assert placed.places == 3


WRAPPED = {
    "a member of a block": ("a:\n  b: 1 # x\n", "a.b", "a:\n  w:\n    b: 1 # x\n"),
    "the first member of an item": (
        "a:\n- b:\n    # x\n    c: 1\n\n    d: 2\n  e: 3\n",
        "a.0.b",
        "a:\n- w:\n    b:\n      # x\n      c: 1\n\n      d: 2\n  e: 3\n",
    ),
    "a member of a block with other steps": (
        "a:\n    b: 1\n    c:\n    - 2\n",
        "a.c",
        "a:\n    b: 1\n    w:\n        c:\n        - 2\n",
    ),
    "a text over several lines": ("a: |\n  x\n   y\n", "a", "w:\n  a: |\n    x\n     y\n"),
    "lines that end as in Windows": ("a:\r\n- 1\r\n", "a", "w:\r\n  a:\r\n  - 1\r\n"),
    "a member in brackets": ("a: {b: 1, c: 2}\n", "a.b", "a: {w: {b: 1}, c: 2}\n"),
    "a member of JSON": ('{"a": {"b": [1]}}', "a.b", '{"a": {"w": {"b": [1]}}}'),
    "a value with an anchor": ("a: &x 1\nb: *x\n", "a", "w:\n  a: &x 1\nb: *x\n"),
    "below a null": ("- w:\n  a:\n    b: 1\n", "0.a", "- w:\n    a:\n      b: 1\n"),
    "below a null with a comment": ("w: # x\na: 1\n", "a", "# x\nw:\n  a: 1\n"),
    "above a null": ("b: 1\na:\n- 2\nw: ~\n", "a", "b: 1\nw:\n  a:\n  - 2\n"),
    "above a null at the end": ("a: 1\nw:", "a", "w:\n  a: 1"),
    "apart from a null": ("a: 1\nb: 2\nw: null\nc: 3\n", "a", "w:\n  a: 1\nb: 2\nc: 3\n"),
    "beside a null in brackets": ("{b: 1, w: , a: 2}\n", "a", "{b: 1, w: {a: 2}}\n"),
    "beside a null of JSON": ('{"a": 1, "w": null}', "a", '{"w": {"a": 1}}'),
}


def wrap(text: str, path: str) -> Wrap:
    steps = tuple(int(step) if step.isdigit() else step for step in path.split("."))
    return Wrap(steps, "w", find_value(value_of(text), steps))


@pytest.mark.parametrize(("text", "path", "after"), WRAPPED.values(), ids=WRAPPED.keys())
def test_a_wrap_keeps_the_text(text: str, path: str, after: str) -> None:
    change = wrap(text, path)

    placed = locate_move(read_tree(text), change)

    assert isinstance(placed, Placement)
    assert edits.apply_edits(placed.edits, text) == after
    assert value_of(after) == apply_changes([change], value_of(text))


NOT_WRAPPED = {
    "a key after a question mark": ("? a\n: 1\n", EXPLICIT),
    "a key that is written twice": ("a: 1\na: 2\n", REPEATED),
    "a line that ends as on old systems": ("a:\n  b: 1\x85  c: 2\n", RARE_BREAKS),
    "a null that is written twice": ("a: 1\nw:\nw:\n", REPEATED),
    "a null with an anchor": ("a: 1\nw: &x\nb: *x\n", ANCHORED),
    "a null after a question mark": ("a: 1\n? w\n", EXPLICIT),
}


@pytest.mark.parametrize(("text", "reason"), NOT_WRAPPED.values(), ids=NOT_WRAPPED.keys())
def test_some_members_cannot_be_wrapped(text: str, reason: FixObstacle) -> None:
    assert locate_move(read_tree(text), wrap(text, "a")) == reason


@given(st.data())
def test_whatever_is_wrapped_is_read_back(data: st.DataObject) -> None:
    null = data.draw(st.sampled_from([{}, {"new": None}]))
    inner = data.draw(st.permutations([("wrapped", 1), ("kept", 2), *null.items()]))
    value = {**null, "wrapped": data.draw(manifests.values), "inner": [dict(inner)]}
    text = data.draw(manifests.texts(st.just(value)))
    path = data.draw(st.sampled_from([("wrapped",), ("inner",), ("inner", 0, "wrapped")]))
    written = value_of(text)
    change = Wrap(path, "new", find_value(written, path))

    placed = locate_move(read_tree(text), change)

    assert isinstance(placed, Placement), text
    after = edits.apply_edits(placed.edits, text)
    assert value_of(after) == apply_changes([change], written), text


@given(st.data())
def test_whatever_is_moved_is_read_back(data: st.DataObject) -> None:
    outer = {"outer": data.draw(manifests.values), "moved": data.draw(manifests.values)}
    inner = {"inner": {"kept": 1}, "last": [{"kept": 2, "moved": data.draw(manifests.values)}]}
    text = data.draw(manifests.texts(st.just(outer | inner)))
    path, target = data.draw(
        st.sampled_from(
            [
                (("moved",), ("inner", "other")),
                (("moved",), ("renamed",)),
                (("outer",), ("last", 0, "other")),
                (("last", 0, "moved"), ("inner", "moved")),
                (("last", 0, "moved"), ("other",)),
            ]
        )
    )
    value = value_of(text)
    change = Move(path, target, find_value(value, path))

    placed = locate_move(read_tree(text), change)

    assert isinstance(placed, Placement), text
    after = edits.apply_edits(placed.edits, text)
    assert value_of(after) == apply_changes([change], value), text


def test_json_stays_json() -> None:
    text = json.dumps({"a": {"b": [1]}, "c": {"d": 1}}, indent=2)

    placed = locate_move(read_tree(text), move(text, "a.b", "c.b"))

    assert isinstance(placed, Placement)
    after = edits.apply_edits(placed.edits, text)
    assert json.loads(after) == {"a": {}, "c": {"d": 1, "b": [1]}} == yaml.safe_load(after)

"""Positions of YAML values in their text."""

import time

import pytest
import yaml

from webhook.manifests.events import UnsupportedYAMLError
from webhook.manifests.tree import TreeNode, read_yaml
from webhook.policy.paths import FieldPath

TEXT = """\
a: &x !!map
  b: 1  # one
c:
- *x
- - two
? d
: >
  text

"e": {f: [1, 2], "g": }
<<: *x
h: &y
- 3
i: !t
"""

# path, its text from the first character to the last
PARTS: dict[str, tuple[FieldPath, str]] = {
    "a block starts after its anchor and tag": (("a",), "b: 1"),
    "a scalar": (("a", "b"), "1"),
    "an alias has the text of its anchor": (("c", 0), "b: 1"),
    "a nested sequence": (("c", 1, 0), "two"),
    "a block scalar ends before its line break": (("d",), ">\n  text"),
    "a collection in brackets": (("e",), '{f: [1, 2], "g": }'),
    "an item in brackets": (("e", "f", 1), "2"),
    "a sequence that is not indented, after its anchor": (("h",), "- 3"),
    "a tag without a value": (("i",), ""),
}


def node_at(path: FieldPath) -> TreeNode:
    entries = read_yaml(TEXT).entries_along(path)
    assert len(entries) == len(path)
    return entries[-1].node


@pytest.mark.parametrize(("path", "part"), PARTS.values(), ids=PARTS.keys())
def test_a_value_has_its_characters(path: FieldPath, part: str) -> None:
    node = node_at(path)

    assert TEXT[node.start : node.end] == part


# path, the character at which its entry starts
POSITIONS: dict[str, tuple[FieldPath, str]] = {
    "a member starts at its key": (("e", "f"), "f: ["),
    "an item starts after its dash": (("c", 1), "- two"),
    "an unknown member is at its parent": (("a", "z"), "a: &x"),
    "an index beyond the end is at its parent": (("c", 2), "c:\n"),
    "a merge has no key": (("<<",), "a: &x"),
}


@pytest.mark.parametrize(("path", "start"), POSITIONS.values(), ids=POSITIONS.keys())
def test_a_path_has_a_position(path: FieldPath, start: str) -> None:
    assert TEXT[read_yaml(TEXT).find_position(path) :].startswith(start)


def test_a_node_has_the_properties_of_its_text() -> None:
    root = read_yaml(TEXT).root
    entries = {entry.step: entry for entry in root.entries}

    assert entries["d"].explicit
    assert not entries["a"].explicit
    assert entries["a"].node.tagged
    assert entries["a"].node.places == 3
    assert entries["e"].node.flow
    assert entries["d"].node.ends_literally
    assert not entries["c"].node.ends_literally
    assert entries[None].alias


# text, path, what the value at the path has
KEYS: dict[str, tuple[str, FieldPath, str]] = {
    "an anchor at the first key": ("&x a: b\n", ("a",), "b"),
    "a tag at the first key": ("!x a: !y b\n", ("a",), "b"),
    "an anchor at a key of an item": ("- &x a: b\n", (0, "a"), "b"),
    "an anchor at a key in braces": ("{&x a: [b]}", ("a",), "[b]"),
    "an anchor at a mapping and at its key": ("&x\n&y a: b\n", (), "&y a: b"),
    "an anchor at a value and at its key": ("c: &x\n  &y a: b\n", ("c",), "&y a: b"),
    "a key with an anchor behind another": ("c: &x d\n&y a: b\n", ("a",), "b"),
    "a quoted value without text": ("a: !x ''\n", ("a",), "''"),
}


@pytest.mark.parametrize(("text", "path", "part"), KEYS.values(), ids=KEYS.keys())
def test_a_key_may_have_an_anchor_or_a_tag(text: str, path: FieldPath, part: str) -> None:
    tree = read_yaml(text)
    node = tree.entries_along(path)[-1].node if path else tree.root

    assert text[node.start : node.end].startswith(part)


def test_an_empty_block_scalar_is_no_scalar_with_comments() -> None:
    assert read_yaml("a: | # c\n").scalars == ((0, 1),)


def test_an_empty_text_has_no_tree() -> None:
    with pytest.raises(yaml.YAMLError, match="no document"):
        read_yaml("# nothing\n")


@pytest.mark.parametrize("text", ["[" * 50_000, "- " * 50_000, "? " * 50_000, "{? " * 50_000])
def test_deep_text_costs_no_quadratic_time(text: str) -> None:
    started = time.process_time()

    with pytest.raises(UnsupportedYAMLError):
        read_yaml(text)

    assert time.process_time() - started < 5.0


def test_a_merged_member_has_no_place_where_it_is_overridden() -> None:
    root = read_yaml(
        "a: &a {x: 1, y: 1, z: 1}\nb: &b {x: 2, w: 2}\n"
        "c: {<<: *a, x: 3}\nd: {<<: [*a, *b], y: 3}\ne: &e {<<: *a, z: 4}\nf: {<<: *e}\n"
    ).root
    a, b, e = (root.find(name) for name in "abe")
    assert a
    assert b
    assert e

    assert [entry.node.places for entry in a.node.entries] == [4, 4, 3]
    assert [entry.node.places for entry in b.node.entries] == [1, 2]
    assert [entry.node.places for entry in e.node.entries if entry.step] == [2]
    assert e.node.merged is a.node
    assert a.node.merged is None


def test_several_merged_mappings_are_not_one() -> None:
    root = read_yaml("a: &a {x: 1}\nb: {<<: [*a, *a]}\n").root
    b = root.find("b")

    assert b
    assert b.node.merged is None

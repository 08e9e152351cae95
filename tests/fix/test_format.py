"""YAML and JSON of new values in the style of their neighbours."""

from typing import Any

import pytest

from webhook.fix.format import (
    FlowStyle,
    Layout,
    format_block,
    format_item,
    format_scalar,
    infer_indent,
    infer_layout,
)
from webhook.manifests.positions import read_tree

# text, its layout
LAYOUTS = {
    "a flat document": ("a: 1\n", Layout()),
    "four blanks": ("a:\n    b: 1\n", Layout(4, 0)),
    "indented dashes": ("a:\n  - b\n", Layout(2, 2)),
}


@pytest.mark.parametrize(("text", "layout"), LAYOUTS.values(), ids=LAYOUTS.keys())
def test_the_layout_is_that_of_the_document(text: str, layout: Layout) -> None:
    tree = read_tree(text)

    assert infer_layout(tree, [tree.root]) == layout


def test_a_block_has_the_layout_of_its_document() -> None:
    value = {"b": [1, {"c": "x", "d": []}], "e": {}}

    assert format_block("a", value, Layout(4, 2)) == [
        "a:",
        "    b:",
        "      - 1",
        "      - c: x",
        "        d: []",
        "    e: {}",
    ]
    assert format_item({"a": 1}, Layout()) == ["- a: 1"]


# value, replaced text, whether strings are quoted, result
SCALARS: dict[str, tuple[Any, str, bool, str]] = {
    "plain": ("web", "old", False, "web"),
    "double quotes are kept": ("web", '"old"', False, '"web"'),
    "single quotes are kept": ("it's", "'old'", False, "'it''s'"),
    "JSON": ("é", "old", True, '"é"'),
    "numbers have no quotes": (1, '"old"', False, "1"),
}


@pytest.mark.parametrize(
    ("value", "old", "quoted", "written"), SCALARS.values(), ids=SCALARS.keys()
)
def test_a_scalar_keeps_the_quotes_of_the_old_one(
    value: Any, old: str, quoted: bool, written: str
) -> None:
    assert format_scalar(value, old, quoted=quoted) == written


# collection, an entry added to it
ENTRIES: dict[str, tuple[str, str | int, str]] = {
    "an empty one": ("{}", "k", '"k": ["v"]'),
    "YAML": ("{a: 1}", "k", "k: [v]"),
    "an item of YAML": ("[a]", 1, "[v]"),
    "JSON": ('{"a": 1}', "k", '"k": ["v"]'),
    "JSON without blanks": ('{"a":1}', "k", '"k":["v"]'),
    "items without blanks": ("[1,2]", 2, '["v"]'),
    "an entry a line": ('{\n\t"a": 1\n}', "k", '"k": [\n\t\t"v"\n\t]'),
}


@pytest.mark.parametrize(("text", "step", "written"), ENTRIES.values(), ids=ENTRIES.keys())
def test_an_entry_has_the_style_of_its_collection(text: str, step: str | int, written: str) -> None:
    tree = read_tree(text)
    style = FlowStyle.infer(tree, tree.root)
    unit = infer_indent(tree, tree.root) if style.lines else ""

    assert style.format_entry(step, ["v"], unit, unit) == written

import re
from typing import Any

import pytest
from hypothesis import given

from tests.fix import manifests
from tests.fix.test_changes import json_values
from webhook.manifests.events import MOST_LEVELS
from webhook.manifests.jsontree import read_json
from webhook.manifests.positions import read_tree
from webhook.manifests.tree import Tree, TreeNode, read_yaml

# text, problem
BROKEN = {
    "nothing": ("", "no value at 0"),
    "an open brace": ("{", "no key at 1"),
    "a key that is no text": ("{1: 2}", "no key at 1"),
    "no colon": ('{"a" 1}', "no colon at 5"),
    "no value": ('{"a": }', "no value at 6"),
    "an open bracket": ("[1", "no ] at 2"),
    "no comma": ("[1 2]", "no ] at 3"),
    "a trailing comma": ("[1,]", "no value at 3"),
    "two values": ("1 2", "the document ends at 2, and the text does not"),
    "another bracket": ('{"a": 1]', "no } at 7"),
}


@pytest.mark.parametrize(("text", "problem"), BROKEN.values(), ids=BROKEN.keys())
def test_invalid_json_is_refused_with_its_position(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        read_json(text)


def shape(tree: Tree) -> Any:
    def of(node: TreeNode) -> Any:
        if not node.collection:
            return tree.text[node.start : node.end]
        return [(entry.step, entry.start, of(entry.node)) for entry in node.entries]

    return of(tree.root)


@pytest.mark.parametrize("levels", [MOST_LEVELS, MOST_LEVELS + 1, 9000])
def test_json_is_read_however_deep_it_is(levels: int) -> None:
    deep = "[" * levels + '"]"' + "]" * levels

    tree = read_json(f'{{"deep": {deep}, "kind": "Pod"}}')

    kind = tree.root.find("kind")
    assert kind is not None
    assert tree.text[kind.value : kind.end] == '"Pod"'


def test_a_deep_collection_without_its_end_is_refused() -> None:
    with pytest.raises(ValueError, match="no end of the collection"):
        read_json("[" * (MOST_LEVELS + 2))


@given(manifests.texts(json_values))
def test_both_readers_find_the_same(text: str) -> None:
    tree = read_tree(text)

    if tree.json and "\\ud83d" not in text:
        assert shape(tree) == shape(read_yaml(text))

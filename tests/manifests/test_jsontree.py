import re
from typing import Any

import pytest
from hypothesis import given

from tests.fix import manifests
from tests.fix.test_changes import json_values
from webhook.manifests.jsontree import read_json, read_tree
from webhook.manifests.tree import Node, Tree, read_yaml

# text, what is wrong with it
BROKEN = {
    "nothing": ("", "Expecting value"),
    "an open brace": ("{", "Expecting value"),
    "a key that is no text": ("{1: 2}", "no key at 1"),
    "no colon": ('{"a" 1}', "no key at 1"),
    "no value": ('{"a": }', "Expecting value"),
    "an open bracket": ("[1", "no ] at 2"),
    "no comma": ("[1 2]", "no ] at 3"),
    "a comma too much": ("[1,]", "Expecting value"),
    "two values": ("1 2", "stands behind the document"),
    "the wrong bracket": ('{"a": 1]', "no } at 7"),
}


@pytest.mark.parametrize(("text", "said"), BROKEN.values(), ids=BROKEN.keys())
def test_what_is_no_json_is_told(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        read_json(text)


def test_brackets_may_be_yaml() -> None:
    assert [read_tree(each).json for each in ('{"a": 1}', "{a: 1}", "a: 1")] == [True, False, False]


def shape(tree: Tree) -> Any:
    def of(node: Node) -> Any:
        if not node.collection:
            return tree.text[node.start : node.end]
        return [(each.step, each.start, of(each.node)) for each in node.entries]

    return of(tree.root)


@given(manifests.texts(json_values))
def test_both_readers_find_the_same(text: str) -> None:
    tree = read_tree(text)

    if tree.json and "\\ud83d" not in text:
        assert shape(tree) == shape(read_yaml(text))

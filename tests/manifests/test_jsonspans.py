"""Spans of members and items in JSON."""

import json
from typing import Any

import pytest
from hypothesis import given

from tests.fix.test_changes import json_values
from tests.manifests.values import walk
from webhook.manifests.jsonspans import find_position, read_items
from webhook.policy.paths import FieldPath

TEXT = ' {"é": {"b" :\n[1, {"c": 2}, []]}, "d\\n": "x"} '

# path, the rest of the text from there
POSITIONS: dict[str, tuple[FieldPath, str]] = {
    "the value": ((), '{"é"'),
    "a member": (("é",), '"é": '),
    "a member of a member": (("é", "b"), '"b" :'),
    "an item": (("é", "b", 0), "1, "),
    "a member of an item": (("é", "b", 1, "c"), '"c": 2'),
    "an empty item": (("é", "b", 2), "[]]"),
    "a key that is escaped": (("d\n",), '"d\\n"'),
    "what is absent stands at its container": (("é", "b", 2, 0), "[]]"),
    "what is below a scalar stands there too": (("d\n", "x"), '"d\\n"'),
    "an index of an object": (("é", 0), '"é": '),
}


@pytest.mark.parametrize(("path", "rest"), POSITIONS.values(), ids=POSITIONS.keys())
def test_a_value_has_its_position(path: FieldPath, rest: str) -> None:
    position = find_position(TEXT, path)

    assert position is not None
    assert TEXT[position:].startswith(rest)


# text, path
UNKNOWN: dict[str, tuple[str, FieldPath]] = {
    "no JSON": ("{a: 1}", ("a",)),
    "a repeated key": ('{"a": 1, "b": {}, "a": 2}', ("b",)),
    "a repeated key with a value of the same length": ('{"a": 1, "a": 2}', ("a",)),
    "a repeated key with the same value": ('{"a": 1, "a": 1}', ("a",)),
    "a repeated key whose values begin alike": ('{"a": 12, "b": 1, "a": 1}', ("b",)),
    "a repeated key right before another key": ('{"a": 1, "a": 1, "b": 2}', ("b",)),
    "a deep value": ('{"a": ' + "[" * 99_000 + "]" * 99_000 + "}", ("a",)),
}


@pytest.mark.parametrize(("text", "path"), UNKNOWN.values(), ids=UNKNOWN.keys())
def test_some_positions_need_a_tree(text: str, path: FieldPath) -> None:
    assert find_position(text, path) is None


LISTED = '{"apiVersion": "v1", "kind": %s, "items": [{"é": 1} ,\n "ü",3]}'


@pytest.mark.parametrize(
    ("kind", "shared"),
    [("PodList", {"apiVersion": "v1", "kind": "Pod"}), ("List", {})],
)
def test_items_of_a_list_have_spans(kind: str, shared: dict[str, str]) -> None:
    text = LISTED % json.dumps(kind)

    items = read_items(text)

    assert items is not None
    assert items.shared == shared
    assert [text[start:end] for start, end in items.spans] == ['{"é": 1}', '"ü"', "3"]
    assert [bytes(raw).decode() for raw in items.raw] == ['{"é": 1}', '"ü"', "3"]


NO_LISTS = {
    "no JSON": "{kind: List, items: []}",
    "a list without items": '{"kind": "List", "items": []}',
    "an array": "[1]",
    "another kind": LISTED % '"Pod"',
    "a kind that is no text": LISTED % "1",
    "no items": '{"kind": "List"}',
    "items that are null": '{"kind": "List", "items": null}',
    "items that are an object": '{"kind": "List", "items": {}}',
    "two lists of items": '{"kind": "List", "items": [1], "items": [2]}',
    "the first item occurs before": '{"a": [1], "kind": "List", "items": [1, 2]}',
    "and in no array": '{"a": 1, "kind": "List", "items": [1, 2]}',
    "deep items": '{"kind": "List", "items": ' + "[" * 99_000 + "]" * 99_000 + "}",
}


@pytest.mark.parametrize("text", NO_LISTS.values(), ids=NO_LISTS.keys())
def test_other_texts_are_read_as_a_whole(text: str) -> None:
    assert read_items(text) is None


@given(json_values)
def test_every_value_is_found_where_it_is(value: Any) -> None:
    text = json.dumps(value, indent=1)

    for path, inner in walk(value):
        position = find_position(text, path)
        assert position is not None
        start = position
        if path and isinstance(path[-1], str):
            start = text.index(":", position) + 2
        assert json.JSONDecoder().raw_decode(text, start)[0] == inner

"""Keys that an object contains more than once."""

import json
from typing import Any

import pytest
from hypothesis import given

from tests.fix.test_changes import json_values
from webhook.manifests.duplicates import list_duplicate_keys, repeats_key
from webhook.manifests.positions import read_tree

# text, the paths and the characters of its duplicate keys
DUPLICATES: dict[str, tuple[str, list[Any]]] = {
    "none": ('{"a": {"b": 1}, "b": {"b": 1}}', []),
    "of the value": ('{"a": 1, "a": 2}', [(("a",), (1, 9))]),
    "three times": ("a: 1\na: 2\na: 3", [(("a",), (0, 5, 10))]),
    "in an item": ('[1, {"b": 1, "b": 2}]', [((1, "b"), (5, 13))]),
    "of the one that counts": ('{"a": {"b": 1, "b": 2}, "a": {}}', [(("a",), (1, 24))]),
    "with blanks before a colon": ('{"a" : 1, "b": 1, "b": 2}', [(("b",), (10, 18))]),
    "beside an escaped quote": (
        '{"a": "\\u0022:", "b": 1, "b": 2}',
        [(("b",), (17, 25))],
    ),
    "beside an escaped colon": ('{"a": "\\u003A", "b": 1, "b": 2}', [(("b",), (16, 24))]),
    "an escaped key": ('{"a": 1, "\\u0061": 2}', [(("a",), (1, 9))]),
    "at an anchor once": ("a: &x {b: 1, b: 2}\nc: *x", [(("a", "b"), (7, 13))]),
    "merges may be repeated": ("a: &x {b: 1}\nc: {<<: *x, <<: *x}", []),
}


@pytest.mark.parametrize(("text", "expected"), DUPLICATES.values(), ids=DUPLICATES.keys())
def test_duplicate_keys_are_listed(text: str, expected: list[Any]) -> None:
    tree = read_tree(text)

    assert list(list_duplicate_keys(tree.root)) == expected
    assert not tree.json or repeats_key(text) or not expected


@given(json_values)
def test_json_that_a_library_writes_repeats_no_key(value: Any) -> None:
    assert not repeats_key(json.dumps(value))


@pytest.mark.parametrize(
    "text", ['{"a": "x\\": \\"y", ":b": "\\u00e9\\n", "c": [1e5, 1.0]}', '{"a":1}\n']
)
def test_strings_like_keys_are_none(text: str) -> None:
    assert not repeats_key(text)


@pytest.mark.parametrize("text", ["{", '{"a": NaN}', "[" * 99_000 + "]" * 99_000])
def test_what_cannot_be_decoded_is_searched(text: str) -> None:
    assert repeats_key(text)

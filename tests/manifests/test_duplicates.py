"""Keys that an object contains more than once."""

import json
import sys
from types import FrameType
from typing import Any, Self

import pytest
from hypothesis import given
from msgspec.json import encode

from tests.fix.test_changes import json_values
from webhook.manifests import Document, read_objects
from webhook.manifests.duplicates import list_duplicate_keys, repeats_key
from webhook.manifests.positions import read_tree

# text, the paths and the characters of its duplicate keys
DUPLICATES: dict[str, tuple[str, list[Any]]] = {
    "none": ('{"a": {"b": 1}, "b": {"b": 1}}', []),
    "of the value": ('{"a": 1, "a": 2}', [(("a",), (1, 9))]),
    "three times": ("a: 1\na: 2\na: 3", [(("a",), (0, 5, 10))]),
    "in an item": ('[1, {"b": 1, "b": 2}]', [((1, "b"), (5, 13))]),
    "in a value that is replaced": (
        '{"a": {"b": 1, "b": 2}, "a": {}}',
        [(("a",), (1, 24)), (("a", "b"), (7, 15))],
    ),
    "in both values": (
        '{"a": {"b": 1, "b": 2}, "a": {"b": 1, "b": 2}}',
        [(("a",), (1, 24)), (("a", "b"), (7, 15)), (("a", "b"), (30, 38))],
    ),
    "of YAML in a value that is replaced": (
        "a:\n- b: 1\n  b: 2\na: []\n",
        [(("a",), (0, 17)), (("a", 0, "b"), (5, 12))],
    ),
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
    assert not tree.json or repeats_key(text, encode(json.loads(text))) or not expected


@given(json_values)
def test_json_that_a_library_writes_repeats_no_key(value: Any) -> None:
    assert not repeats_key(json.dumps(value), encode(value))


@given(json_values, json_values)
def test_a_repeated_key_at_any_depth_is_noticed(value: Any, dropped: Any) -> None:
    repeated = f'{{"a": [{json.dumps(value)}, {{"b": {json.dumps(dropped)}, "b": 1}}]}}'

    assert repeats_key(repeated, encode(json.loads(repeated)))


@pytest.mark.parametrize(
    "text",
    [
        '{"a": "x\\": \\"y", ":b": "\\u00e9\\n", "c": [1e5, 1.0]}',
        '{"a":1}\n',
        '{"a" : 1, "b"\n: "\\u003cb\\u003e"}',
    ],
)
def test_strings_like_keys_are_none(text: str) -> None:
    assert not repeats_key(text, encode(json.loads(text)))


@pytest.mark.parametrize("encoded", [None, b'{"a":null}', b"{}"])
def test_a_value_that_differs_from_its_text_is_searched(encoded: bytes | None) -> None:
    """The reader replaces what is too deep by null."""
    assert repeats_key('{"a": {"b": 1}}', encoded)


def test_only_a_part_of_the_text_is_searched() -> None:
    text = '[{"a": 1}, {"a": 1, "a": 2}]'

    assert not repeats_key(text, b'{"a":1}', 1, 9)
    assert repeats_key(text, b'{"a":2}', 11, 27)


@pytest.mark.parametrize("kind", ["List", "PodList"])
def test_each_object_is_decoded_once(kind: str) -> None:
    """Also if keys are searched: a dump has thousands of objects."""
    item = {"metadata": {"name": "a"}} | ({"kind": "Pod"} if kind == "List" else {})

    def count_decodings(objects: int) -> int:
        text = json.dumps({"kind": kind, "apiVersion": "v1", "items": [item] * objects})
        with _CallCounter("decode") as calls:
            for document in read_objects(text, "x"):
                assert isinstance(document, Document)
                assert list(document.find_duplicate_keys()) == []
        return calls.count

    assert count_decodings(300) - count_decodings(100) == 200


class _CallCounter:
    """Counts the calls of functions of msgspec that have a word in their names."""

    def __init__(self, word: str) -> None:
        self._word = word
        self.count = 0

    def __enter__(self) -> Self:
        sys.setprofile(self._count)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _count(self, _: FrameType, event: str, called: Any) -> None:
        if event == "c_call":
            owner = f"{called.__module__} {type(called.__self__).__module__}"
            self.count += "msgspec" in owner and self._word in called.__name__

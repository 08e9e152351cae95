"""Positions of values in the text of one document."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fix import manifests
from tests.manifests.values import walk
from webhook.manifests import Document, parse, read_objects
from webhook.manifests.positions import DocumentText, read_tree
from webhook.policy.paths import FieldPath

LONG = 100_000  # characters; longer than what is searched for a line


def read(text: str) -> DocumentText:
    (document,) = parse(text, "x")
    assert isinstance(document, Document)
    return document.text


def paths(value: Any) -> list[FieldPath]:
    found = [path for path, _ in walk(value)]
    return [*found, *((*path, "absent") for path in found), *((*path, 99) for path in found)]


lists = st.fixed_dictionaries(
    {"kind": st.sampled_from(["List", "Pod"]), "items": st.lists(manifests.values, max_size=3)}
)


@given(manifests.texts(manifests.values | lists))
def test_a_position_is_that_of_the_tree(text: str) -> None:
    document = next(iter(parse(text, "x")))
    assert isinstance(document, Document)

    for path in paths(document.value):
        assert document.text.find_position(path) == read_tree(text).find_position(path)


@pytest.mark.parametrize(
    "text",
    [
        "kind: List\nitems:\n- &x {a: 1}\n- *x\n-   b: [*x,\n    2]\n    c: *x\n- d: |\n    e\n",
        "# c\n\nitems: [{a: 1}, {b: {c:\n 1}}]\nkind: List\n",
        "items: 1\n? items\n:\n  - a: 1\n    b: 2\n  # c\n  - c\n",
        "a: &x\n- b: 1\nitems: *x\n",
        "items:\n- - - a: 1\n      b: 2\n-\n",
        "- items:\n  - a: 1\n",
        '{"items": [1, {"a": 1, "b": 2, "a": 3}], "kind": "List"}',
    ],
)  # fmt: skip
def test_a_position_in_a_list_is_that_of_the_tree(text: str) -> None:
    (document,) = parse(text, "x")
    assert isinstance(document, Document)

    for path in paths(document.value):
        assert document.text.find_position(path) == read_tree(text).find_position(path), path


def test_only_the_item_of_a_list_that_contains_the_value_is_read() -> None:
    text = "kind: List\nitems:\n" + "- a: 1\n  b: 2\n" * 5000

    lines = read(text)

    assert [lines.line(("items", index, "b")) for index in (4999, 2, 3)] == [10_002, 8, 10]
    assert "tree" not in vars(lines)


def test_json_is_not_read_for_the_position_of_an_object() -> None:
    text = '{"kind": "List", "items": [' + '{"a": 1,\n"b": 2},\n' * 5000 + "{}]}"

    objects = [item for item in read_objects(text, "x") if isinstance(item, Document)]

    assert [item.line() for item in objects] == list(range(1, 10_003, 2))
    assert objects[7].line(("b",)) == 16
    assert "tree" not in vars(objects[0].text)


def test_lines_are_counted_in_any_order() -> None:
    lines = DocumentText("a\nb\r\nc", 7, 0)

    assert [lines.line_at(position) for position in (5, 0, 2, 1, 4)] == [9, 7, 8, 7, 8]


@given(st.lists(st.integers(0, 3 * LONG), min_size=1, max_size=5))
def test_lines_of_a_long_text_are_counted_in_any_order(positions: list[int]) -> None:
    text = ("x" * 999 + "\n") * (3 * LONG // 1_000) + "\n" * LONG
    lines = DocumentText(text, 1, 0)

    found = [lines.line_at(position) for position in positions]

    assert found == [1 + text[:position].count("\n") for position in positions]


# text, path, duplicate keys
DUPLICATES: dict[str, tuple[str, FieldPath, list[Any]]] = {
    "none": ("a: 1\nb: 1\n", (), []),
    "of YAML": ("a: 1\n\na: 1\n", (), [(("a",), (1, 3))]),
    "of JSON": ('{"a": 1,\n"a": 1}', (), [(("a",), (1, 2))]),
    "below a path": ("b:\n  a: 1\n  a: 1\nc: 1\nc: 1\n", ("b",), [(("a",), (2, 3))]),
    "elsewhere": ('{"b": {"a": 1, "a": 1}, "c": 1}', ("c",), []),
    "below no path": ("a: 1\na: 1\n", ("b",), []),
    "of an item": ("items:\n- a: 1\n- a: 1\n  a: 1\n", ("items", 1), [(("a",), (3, 4))]),
    "of another item": ("items:\n- a: 1\n- a: 1\n  a: 1\n", ("items", 0), []),
    "of an item in JSON": (
        '{"kind": "List",\n"items": [{"a": 1},\n{"a": 1,\n"a": 1}]}',
        ("items", 1),
        [(("a",), (3, 4))],
    ),
}


@pytest.mark.parametrize(("text", "path", "found"), DUPLICATES.values(), ids=DUPLICATES.keys())
def test_duplicate_keys_have_lines(text: str, path: FieldPath, found: list[Any]) -> None:
    assert list(read(text).find_duplicate_keys(path)) == found


def test_brackets_may_be_yaml() -> None:
    texts = ('{"a": 1}', "{a: 1}", "a: 1")

    assert [read_tree(text).json for text in texts] == [True, False, False]

"""Documents of a text, and the objects of a List."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.errors import ManifestError
from webhook.manifests import Document, expand, parse, read_objects
from webhook.manifests.events import MOST_LEVELS, TOO_DEEP
from webhook.policy.model import GroupKind


def values(text: str, *, unique_keys: bool = False) -> list[Any]:
    read = list(parse(text, "x.yaml", unique_keys=unique_keys))
    return [item.value if isinstance(item, Document) else str(item) for item in read]


# text, its documents and errors
TEXTS: dict[str, tuple[str, list[Any]]] = {
    "an empty text has no document": ("", []),
    "a comment is no document": ("# nothing\n", []),
    "empty documents are left out": ("---\n---\na: 1\n---\n# x\n---\n", [{"a": 1}]),
    "documents stand between lines of dashes": ("a: 1\n---\nb: 2\n", [{"a": 1}, {"b": 2}]),
    "a comment may follow the dashes": ("--- # first\na: 1\n", [{"a": 1}]),
    "a document may follow the dashes": ("--- {a: 1}\n--- [2]\n", [{"a": 1}, [2]]),
    "a block may follow the dashes": ("--- |\n  a\n---\nb\n", ["a\n", "b"]),
    "dashes in a line separate nothing": ("a: b --- c\n", [{"a": "b --- c"}]),
    "dots end a document": ("a: 1\n...\n---\nb: 2\n", [{"a": 1}, {"b": 2}]),
    "directives are no document": ("%YAML 1.1\n---\na: 1\n", [{"a": 1}]),
    "lines may end as on Windows": ("a: 1\r\n---\r\nb: x\r\n", [{"a": 1}, {"b": "x"}]),
    "keys become strings": (
        "{1: a, yes: b, 1.50: c, 'd': e}",
        [{"1": "a", "true": "b", "1.5": "c", "d": "e"}],
    ),
    "of equal keys the last counts": ("a: 1\na: 2\n", [{"a": 2}]),
    "quoted scalars are strings": ("['1', \"yes\", '']", [["1", "yes", ""]]),
    "tags of the core say how to read": ("[!!str 1, !!int '3', !!null x]", [["1", 3, "x"]]),
    "other tags are ignored": ("[!Ref a, ! 2, !!python/name:os.system x]", [["a", "2", "x"]]),
    "a tagged mapping stays a mapping": ("!!python/object:os.x {a: 1}", [{"a": 1}]),
    "aliases repeat a value": ("a: &x {b: 1}\nc: *x\n", [{"a": {"b": 1}, "c": {"b": 1}}]),
    "merged keys give way to those beside them": (
        "a: &x {b: 1, c: 1}\nd: {c: 2, <<: *x}\n",
        [{"a": {"b": 1, "c": 1}, "d": {"b": 1, "c": 2}}],
    ),
    "of merged mappings the first counts": (
        "a: {<<: [{b: 1}, {b: 2, c: 2}]}",
        [{"a": {"b": 1, "c": 2}}],
    ),
    "a quoted << is a key": ("{'<<': 1}", [{"<<": 1}]),
    "JSON": ('{"a": [1, 1.0, null]}', [{"a": [1, 1.0, None]}]),
    "JSON with characters beyond the plane": ('{"a": "\\ud83d\\ude00"}', [{"a": "😀"}]),
    "JSON and YAML together": ('{"a": 1}\n---\nb: 2\n', [{"a": 1}, {"b": 2}]),
    "JSON with a comment is YAML": ('{"a": 1} # one\n', [{"a": 1}]),
    "JSON with words without quotes is YAML": ('{"a": b}\n', [{"a": "b"}]),
    "JSON objects, one a line": ('{"a": 1}\n{"b": 2}\n', [{"a": 1}, {"b": 2}]),
    "JSON objects, one after the other": ('{"a": 1}{"b":\n2} ', [{"a": 1}, {"b": 2}]),
}


@pytest.mark.parametrize(("text", "expected"), TEXTS.values(), ids=TEXTS.keys())
def test_a_text_holds_documents(text: str, expected: list[Any]) -> None:
    assert values(text) == expected


# text, what is read of it
BROKEN_TEXTS: dict[str, tuple[str, list[Any]]] = {
    "a broken document between others": (
        "a: 1\n---\nb: [\n---\nc: 3\n",
        [{"a": 1}, "x.yaml:4: invalid YAML: ", {"c": 3}],
    ),
    "a template of a chart": (
        "kind: {{ .Values.kind }}\nname: x\n",
        ["x.yaml:1: a key must be a string, not an object: render a chart with helm"],
    ),
    "an action of a template": (
        "a: 1\n{{- if .Values.b }}\nb: 2\n",
        ["x.yaml:3: invalid YAML: "],
    ),
    "a tab": (
        "a:\n\tb: 1\n",
        ["x.yaml:2: invalid YAML: while scanning for the next token, found character"],
    ),
    "a control character": (
        "a: 1\nb: \x01\n",
        ["x.yaml:2: invalid YAML: it contains a control character"],
    ),
    "an unknown alias": ("a: 1\nb: *c\n", ["x.yaml:2: *c is an alias of no earlier anchor"]),
    "an alias of what is around it": (
        "a: &a\n  b: *a\n",
        ["x.yaml:2: *a is an alias of no earlier anchor"],
    ),
    "a null key": ("a: 1\n~: 2\n", ["x.yaml:2: a key must be a string: write it in quotes"]),
    "a merged scalar": ("a:\n  <<: 1\n", ["x.yaml:2: << merges mappings"]),
    "a merged null": ("a:\n  <<:\n", ["x.yaml:2: << merges mappings"]),
    "no number of JSON": ("a: 1\nb: .inf\n", ["x.yaml:2: .inf is no JSON number"]),
    "deep nesting of YAML": (
        "a: " + "[" * MOST_LEVELS + "]" * MOST_LEVELS,
        [f"x.yaml:1: {TOO_DEEP}"],
    ),
    "broken JSON": ('{"a": 1,\n"b": ]}\n', ["x.yaml:2: invalid JSON: Expecting value"]),
    "a broken line between others": (
        '{"a": 1}\n{"b": ]}\n{"c": 3}\n',
        [{"a": 1}, "x.yaml:2: invalid JSON: Expecting value", {"c": 3}],
    ),
    "a number that JSON has not": (
        '{"a": 1}\n{"a": NaN}\n{"b": 2}',
        [{"a": 1}, "x.yaml:2: invalid JSON: invalid character at column 7", {"b": 2}],
    ),
    "an error in a line after its first characters": (
        '{"a": 1}\n{"é": [1, x]}\n',
        [{"a": 1}, "x.yaml:2: invalid JSON: Expecting value at column 11"],
    ),
    "a JSON text without its end": (
        '{"a": 1,\n "b": "c',
        ["x.yaml:2: invalid JSON: Unterminated string starting at column 7"],
    ),
    "an integer of many digits among others": (
        '{"a": %s}\n{"b": 2}' % ("1" * 5000),
        ["x.yaml:1: invalid JSON: Integer value out of range at column 1", {"b": 2}],
    ),
}


@pytest.mark.parametrize(("text", "expected"), BROKEN_TEXTS.values(), ids=BROKEN_TEXTS.keys())
def test_a_broken_document_is_reported_and_others_are_read(text: str, expected: list[Any]) -> None:
    read = values(text)

    assert len(read) == len(expected)
    for item, wanted in zip(read, expected, strict=True):
        assert item.startswith(wanted) if isinstance(wanted, str) else item == wanted


@pytest.mark.parametrize("levels", [MOST_LEVELS - 2, MOST_LEVELS, 900, 990, 5000, 10_000])
def test_values_that_are_not_deep_are_read_from_deep_json(levels: int) -> None:
    deep = "[" * levels + "]" * levels

    (value,) = values(f'{{"kind": "Pod", "x": {deep}, "spec": {{"nodeName": "a"}}}}')

    assert (value["kind"], value["spec"]) == ("Pod", {"nodeName": "a"})


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: not x.is_integer())
    | st.text(st.characters(exclude_categories=["Cs", "Cc"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(st.characters(exclude_categories=["Cs", "Cc"])), inner, max_size=4
        )
    ),
)


@given(st.lists(st.dictionaries(st.text("abc"), JSON_VALUES, max_size=3), max_size=3))
def test_json_is_read_back_one_document_after_the_other(objects: list[Any]) -> None:
    text = "\n".join(msgspec.json.encode(item).decode() for item in objects)

    assert values(text) == objects


@given(st.lists(JSON_VALUES.filter(lambda value: value is not None), max_size=3))
def test_json_is_yaml_too(objects: list[Any]) -> None:
    text = "".join(f"---\n- {msgspec.json.encode(item).decode()}\n" for item in objects)

    assert values(text) == [[item] for item in objects]


@given(st.text(max_size=200))
def test_no_text_makes_the_reader_raise(text: str) -> None:
    for item in parse(text, "x"):
        if isinstance(item, Document):
            assert 1 <= item.line() <= 1 + text.count("\n")
        else:
            assert 1 <= item.line <= 1 + text.count("\n")


# a list, what is in it
LISTS: dict[str, tuple[Any, list[str]]] = {
    "an object is no list": ({"kind": "Pod", "items": []}, ["Pod"]),
    "a List": ({"kind": "List", "items": [{"kind": "A"}, {"kind": "B"}]}, ["A", "B"]),
    "an empty List": ({"kind": "List", "items": []}, []),
    "a List of null": ({"kind": "List", "items": None}, []),
    "a List in a List": (
        {"kind": "List", "items": [{"kind": "List", "items": [{"kind": "A"}]}, {"kind": "B"}]},
        ["A", "B"],
    ),
    "items of a typed list have its kind": ({"kind": "PodList", "items": [{}]}, ["Pod"]),
    "unless they have their own": ({"kind": "PodList", "items": [{"kind": "A"}]}, ["A"]),
    "a kind that ends in List but holds none": ({"kind": "AllowList", "spec": 1}, ["AllowList"]),
    "items that are no array": ({"kind": "AllowList", "items": 1}, ["AllowList"]),
    "an item that is no object": ({"kind": "List", "items": [1]}, [""]),
}


@pytest.mark.parametrize(("value", "kinds"), LISTS.values(), ids=LISTS.keys())
def test_a_list_is_expanded(value: Any, kinds: list[str]) -> None:
    (document,) = parse(msgspec.json.encode(value).decode(), "x")

    assert isinstance(document, Document)
    assert [inner.kind for inner in expand(document)] == kinds


def test_a_document_has_the_kind_and_the_name_of_its_object() -> None:
    (document,) = parse("{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: b}}", "x")

    assert isinstance(document, Document)
    assert (document.api_version, document.kind) == ("v1", "Pod")
    assert (document.name, document.namespace) == ("a", "b")


# text, its kind without the version
GROUP_KINDS: dict[str, tuple[str, GroupKind]] = {
    "the core API has no group": ("{apiVersion: v1, kind: Pod}", GroupKind("", "Pod")),
    "a group without its version": (
        "{apiVersion: apps/v1, kind: Deployment}",
        GroupKind("apps", "Deployment"),
    ),
    "missing names are empty": ("{a: 1}", GroupKind("", "")),
}


@pytest.mark.parametrize(("text", "expected"), GROUP_KINDS.values(), ids=GROUP_KINDS.keys())
def test_a_document_has_a_kind_without_its_version(text: str, expected: GroupKind) -> None:
    (document,) = parse(text, "x")

    assert isinstance(document, Document)
    assert document.group_kind == expected


def test_a_kind_or_a_name_of_another_type_is_ignored() -> None:
    (document,) = parse("{apiVersion: 1, metadata: []}", "x")

    assert isinstance(document, Document)
    assert (document.api_version, document.kind) == ("", "")
    assert (document.name, document.namespace) == ("", "")


def test_a_document_has_its_position_in_the_whole_text() -> None:
    text = "# é\r\na: 1\r\n---\r\n- b\n--- {c: 1}\n---\n"
    streamed = '  {"a": 1} \n\n{"b": "é"}\n{"c": 3}'

    for whole in (text, streamed):
        for document in parse(whole, "x"):
            assert isinstance(document, Document)
            lines = document.text
            assert whole[lines.start :].startswith(lines.content)
            assert [document.value] == values(lines.content)


def objects_of(text: str) -> list[tuple[Any, Any, int]]:
    """Value, path and line of each object; message and line of an error."""
    return [
        (str(item), None, item.line)
        if isinstance(item, ManifestError)
        else (item.value, item.path, item.line())
        for item in read_objects(text, "x.json")
    ]


POD_LIST = """\
{
  "items": [
    {"é": 1}, {
      "kind": "List", "items": [{"kind": "A"}]
    },
    {"kind": "B", "n": 1e999},
    {"kind": "C", "n": "\\ud83d\\ude00", "m": 1e999}
  ],
  "kind": "PodList", "apiVersion": "v1"
}
"""


def test_the_objects_of_a_list_in_json_are_read_one_by_one() -> None:
    problem = "while parsing a quoted scalar, found invalid Unicode character escape code"

    assert objects_of(POD_LIST) == [
        ({"apiVersion": "v1", "kind": "Pod", "é": 1}, ("items", 0), 3),
        ({"kind": "A"}, ("items", 1, "items", 0), 4),
        ({"kind": "B", "n": "1e999"}, ("items", 2), 6),
        (f"x.json:7: invalid YAML: {problem}", None, 7),
    ]


def test_lists_in_json_may_stand_between_lines_of_dashes() -> None:
    text = '{"kind": "List", "items": [\n{"kind": "A"}]}\n'

    assert objects_of(f"{text}---\n{text}---\nkind: B\n") == [
        ({"kind": "A"}, ("items", 0), 2),
        ({"kind": "A"}, ("items", 0), 5),
        ({"kind": "B"}, (), 7),
    ]


@pytest.mark.parametrize("count", [0, 1, 10_000])
def test_a_list_of_any_length_has_lines(count: int) -> None:
    items = ",\n".join(f'{{"kind": "Pod", "metadata":\n {{"name": "{i}"}}}}' for i in range(count))
    name = ("metadata", "name")

    objects = list(read_objects(f'{{"kind": "List", "items": [\n{items}]}}', "x"))

    assert [item.line(name) for item in objects if isinstance(item, Document)] == list(
        range(3, 2 * count + 3, 2)
    )


@given(st.text(max_size=200) | st.sampled_from(["[" * 9000, '{"kind":"List","items":[' * 2000]))
def test_objects_are_those_of_the_documents(text: str) -> None:
    expanded = [
        inner
        for item in parse(text, "x")
        for inner in (expand(item) if isinstance(item, Document) else (item,))
    ]

    assert [str(item) for item in read_objects(text, "x")] == [str(item) for item in expanded]


@pytest.mark.parametrize("levels", [250, 900, 10_000])
def test_an_item_of_a_list_may_be_deep(levels: int) -> None:
    deep = "[" * levels + "]" * levels
    text = f'{{"kind": "List", "items": [\n{{"kind": "A", "x": {deep}}},\n{{"kind": "B"}}]}}'

    read = [item for item in read_objects(text, "x") if isinstance(item, Document)]

    assert [(item.kind, item.line(("kind",))) for item in read] == [("A", 2), ("B", 3)]


def test_duplicate_keys_are_found_with_their_lines() -> None:
    text = '{"kind": "List", "items": [{"kind": "A"},\n{"b": {"c": 1,\n"c": 2,\n "c": 3}}]}'

    first, second = (item for item in read_objects(text, "x") if isinstance(item, Document))

    assert list(first.find_duplicate_keys()) == []
    assert list(second.find_duplicate_keys()) == [(("b", "c"), (2, 3, 4))]

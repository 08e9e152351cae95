import io
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml as pyyaml
from hypothesis import given
from hypothesis import strategies as st

from webhook.errors import ManifestError, SourceError
from webhook.manifests import (
    Document,
    SkippedSource,
    decode,
    encode,
    expand,
    files,
    parse,
    read_documents,
    read_file,
)
from webhook.manifests.document import MOST_BROKEN_DOCUMENTS
from webhook.manifests.events import MOST_ALIASED_VALUES, MOST_LEVELS, TOO_DEEP
from webhook.manifests.files import CHART_TEMPLATE, NO_FILE, NO_OBJECT
from webhook.manifests.scalars import resolve

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\n"


def values(text: str, *, unique_keys: bool = False) -> list[Any]:
    read = list(parse(text, "x.yaml", unique_keys=unique_keys))
    return [item.value if isinstance(item, Document) else str(item) for item in read]


def summaries(items: Iterable[Document | SkippedSource | SourceError]) -> list[str]:
    return [
        f"{item.kind}/{item.name}"
        if isinstance(item, Document)
        else f"skipped {Path(item.source).name}"
        if isinstance(item, SkippedSource)
        else f"error {str(item).rpartition('/')[2]}"
        for item in items
    ]


def names(*paths: Path, strict: bool = False) -> list[str]:
    return summaries(read_documents(map(str, paths), strict=strict))


# plain scalar, its value
SCALARS: dict[str, tuple[str, Any]] = {
    "a word is a string": ("abc", "abc"),
    "nothing is null": ("", None),
    "a tilde is null": ("~", None),
    "yes is a boolean": ("yes", True),
    "y is a boolean": ("y", True),
    "off is a boolean": ("off", False),
    "nope is a string": ("nope", "nope"),
    "an integer": ("42", 42),
    "more digits than any number has are a string": ("1" * 5000, "1" * 5000),
    "a negative integer": ("-1", -1),
    "a positive integer": ("+1", 1),
    "underscores are left out": ("1_000", 1000),
    "a leading zero is octal": ("0755", 0o755),
    "a leading zero before an eight is decimal": ("08", 8),
    "0o is octal": ("0o17", 15),
    "0x is hexadecimal": ("-0x1F", -31),
    "0b is binary": ("0b11", 3),
    "the largest integer of Go": ("18446744073709551615", 2**64 - 1),
    "a larger hexadecimal integer": ("0x10000000000000000", 2**64),
    "a larger decimal integer is a float": ("9223372036854775807000", 9.223372036854776e21),
    "a float": ("1.5", 1.5),
    "a float that starts with its point": (".5", 0.5),
    "an exponent makes a float": ("15e-1", 1.5),
    "a whole float is an integer": ("1.0", 1),
    "a whole float with an exponent is one too": ("1e3", 1000),
    "a huge float stays one": ("1e21", 1e21),
    "a float beyond all bounds is a string": ("1e999", "1e999"),
    "a date is a string": ("2001-12-14", "2001-12-14"),
    "base 60 is a string": ("22:30", "22:30"),
    "a version is a string": ("1.2.3", "1.2.3"),
    "a sign is a string": ("-", "-"),
    "a quantity is a string": ("500m", "500m"),
}


@pytest.mark.parametrize(("text", "value"), SCALARS.values(), ids=SCALARS.keys())
def test_a_plain_scalar_means_what_it_means_to_kubectl(text: str, value: Any) -> None:
    assert resolve(text) == value
    assert type(resolve(text)) is type(value)


# text, its documents or what is said of them
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
        [{"a": 1}, "x.yaml:2: invalid JSON: JSON is malformed", {"b": 2}],
    ),
}


@pytest.mark.parametrize(("text", "expected"), BROKEN_TEXTS.values(), ids=BROKEN_TEXTS.keys())
def test_a_broken_document_is_told_and_others_are_read(text: str, expected: list[Any]) -> None:
    read = values(text)

    assert len(read) == len(expected)
    for item, wanted in zip(read, expected, strict=True):
        assert item.startswith(wanted) if isinstance(wanted, str) else item == wanted


@pytest.mark.parametrize("levels", [MOST_LEVELS - 2, MOST_LEVELS, 900, 990, 5000, 10_000])
def test_of_deep_json_is_read_what_is_not_deep(levels: int) -> None:
    deep = "[" * levels + "]" * levels

    (value,) = values(f'{{"kind": "Pod", "x": {deep}, "spec": {{"nodeName": "a"}}}}')

    assert (value["kind"], value["spec"]) == ("Pod", {"nodeName": "a"})


def test_helm_is_named_where_its_braces_stand() -> None:
    (said,) = values("a: 1\n{{- if .Values.b }}\nb: 2\n")

    assert said.endswith("; render a chart with helm template first")


def test_a_tab_is_named_where_it_indents() -> None:
    (said,) = values("a:\n\tb: 1\n")

    assert said.endswith("; indent with spaces, not with a tab")


def test_a_key_may_be_asked_to_stand_once() -> None:
    text = "a: 1\nb:\n  c: 1\n  c: 2\n"

    assert values(text) == [{"a": 1, "b": {"c": 2}}]
    assert values(text, unique_keys=True) == ["x.yaml:4: duplicate key 'c': remove one of the two"]


def test_a_stream_that_is_hardly_json_is_given_up() -> None:
    read = values('{"a": 1}\n' + '{"b": ]}\n' * 2 * MOST_BROKEN_DOCUMENTS)

    assert len(read) == 1 + MOST_BROKEN_DOCUMENTS + 1
    assert read[-1] == "x.yaml:101: 100 invalid JSON documents: the rest is not read"


def test_lines_of_a_long_stream_are_counted() -> None:
    read = list(parse('{"a": 1}\n{\n"b": 2\n}\n\n{"c": ]}\n{"d": 4}\n{"e": 1e999}\n', "x"))

    assert [item.line() if isinstance(item, Document) else item.line for item in read] == [
        1,
        2,
        6,
        7,
        8,
    ]


def test_nesting_of_yaml_has_a_bound() -> None:
    depth = MOST_LEVELS - 1
    text = "[" * depth + "1" + "]" * depth

    assert not isinstance(values(f"- {text}")[0], str)
    assert isinstance(values(f"- [{text}]")[0], str)


def test_aliases_of_aliases_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 9)]

    (said,) = values("\n".join(lines))

    assert said == f"x.yaml:6: aliases add more than {MOST_ALIASED_VALUES} values: write them out"


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


MANIFEST = """\
# two documents
apiVersion: v1
kind: Pod
metadata:
  name: a
spec:
  topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: zone
  - &second
    maxSkew: 2
    topologyKey:
      host
  - *second
---

apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Pod,
   metadata: {name: b}}
-
  apiVersion: v1
  kind: Pod
"""

CONSTRAINTS = ("spec", "topologySpreadConstraints")

# index of the object, path, line
LINES: dict[str, tuple[int, tuple[str | int, ...], int]] = {
    "a document starts after its comments": (0, (), 2),
    "a member stands at its key": (0, CONSTRAINTS, 7),
    "an item stands where it starts": (0, (*CONSTRAINTS, 0), 8),
    "a member of an item": (0, (*CONSTRAINTS, 0, "topologyKey"), 9),
    "a value below its key": (0, (*CONSTRAINTS, 1, "topologyKey"), 12),
    "a member that is not there stands at its parent": (0, (*CONSTRAINTS, 0, "minDomains"), 8),
    "a member below a scalar stands there too": (0, ("kind", "x", 1), 3),
    "an alias stands where it is written": (0, (*CONSTRAINTS, 2), 14),
    "what an alias holds stands where it was named": (0, (*CONSTRAINTS, 2, "maxSkew"), 11),
    "an object of a list": (1, (), 20),
    "a member of an object of a list": (1, ("metadata", "name"), 21),
    "another object of a list": (2, (), 23),
}


@pytest.mark.parametrize(("index", "path", "line"), LINES.values(), ids=LINES.keys())
def test_each_value_has_a_line(index: int, path: tuple[str | int, ...], line: int) -> None:
    read = [item for item in parse(MANIFEST, "x.yaml") if isinstance(item, Document)]
    objects = [document for item in read for document in expand(item)]

    assert objects[index].line(path) == line
    assert objects[index].place(path) == f"x.yaml:{line}"
    assert str(objects[index].error("wrong", path)) == f"x.yaml:{line}: wrong"


def test_values_of_json_have_lines() -> None:
    first, second = parse('{"a": 1}\n{"b": [\n  1,\n  2\n]}\n', "x.json")

    assert isinstance(first, Document)
    assert isinstance(second, Document)
    assert first.line(("a",)) == 1
    assert second.line(("b", 1)) == 4


def test_json_that_libyaml_cannot_read_has_lines() -> None:
    (document,) = parse('\n{"a":\n "\\ud83d\\ude00"}', "x.json")

    assert isinstance(document, Document)
    assert document.line(("a",)) == 2


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
def test_a_list_is_taken_apart(value: Any, kinds: list[str]) -> None:
    (document,) = parse(msgspec.json.encode(value).decode(), "x")

    assert isinstance(document, Document)
    assert [inner.kind for inner in expand(document)] == kinds


def test_a_document_tells_what_it_is() -> None:
    (document,) = parse("{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: b}}", "x")

    assert isinstance(document, Document)
    assert (document.api_version, document.kind) == ("v1", "Pod")
    assert (document.name, document.namespace) == ("a", "b")


def test_what_is_not_a_string_tells_nothing() -> None:
    (document,) = parse("{apiVersion: 1, metadata: []}", "x")

    assert isinstance(document, Document)
    assert (document.api_version, document.kind) == ("", "")
    assert (document.name, document.namespace) == ("", "")


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


# files of a folder, what is read of it
FOLDERS: dict[str, tuple[dict[str, str], list[str]]] = {
    "in the order of names": (
        {"b.yaml": POD % "b", "a/z.yml": POD % "z", "c.json": '{"apiVersion": "v1", "kind": "X"}'},
        ["Pod/z", "Pod/b", "X/"],
    ),
    "other names are not read": ({"README.md": POD % "a", "b.yaml": POD % "b"}, ["Pod/b"]),
    "hidden names are not read": (
        {".git/a.yaml": POD % "a", ".b.yaml": POD % "b", "c.yaml": POD % "c"},
        ["Pod/c"],
    ),
    "values of a chart are skipped": (
        {"values.yaml": "replicas: 3\n", "a.yaml": POD % "a"},
        ["Pod/a", "skipped values.yaml"],
    ),
    "an empty file is skipped": ({"a.yaml": ""}, ["skipped a.yaml"]),
    "templates of a chart are skipped": (
        {
            "chart/Chart.yaml": "apiVersion: v2\nname: x\n",
            "chart/templates/deep/a.yaml": "{{ nothing }}",
            "chart/crds/b.yaml": POD % "b",
        },
        ["skipped Chart.yaml", "Pod/b", "skipped a.yaml"],
    ),
    "templates of no chart are read": ({"templates/a.yaml": POD % "a"}, ["Pod/a"]),
    "among objects, others are errors": (
        {"a.yaml": "a: 1\n---\n" + POD % "a" + "---\n- 1\n"},
        [
            "Pod/a",
            "error a.yaml:1: not an object: add apiVersion and kind, or remove it",
            "error a.yaml:7: not an object: add apiVersion and kind, or remove it",
        ],
    ),
    "a broken file among others": (
        {"a.yaml": POD % "a", "b.yaml": "a: 1\nb: *c\n", "c.yaml": POD % "c"},
        [
            "Pod/a",
            "error b.yaml:2: *c is an alias of no earlier anchor",
            "Pod/c",
        ],
    ),
}


@pytest.mark.parametrize(("files", "expected"), FOLDERS.values(), ids=FOLDERS.keys())
def test_a_folder_is_read(tmp_path: Path, files: dict[str, str], expected: list[str]) -> None:
    write(tmp_path, files)

    assert names(tmp_path) == expected


def test_strictly_nothing_is_skipped(tmp_path: Path) -> None:
    write(
        tmp_path, {"values.yaml": "a: 1", "templates/a.yaml": "x: {{", "Chart.yaml": "a: 1\na: 2"}
    )

    assert names(tmp_path, strict=True) == [
        "error Chart.yaml:2: duplicate key 'a': remove one of the two",
        f"error a.yaml: {CHART_TEMPLATE}",
        f"error values.yaml: {NO_OBJECT}",
    ]


def test_a_template_that_is_named_is_skipped_too(tmp_path: Path) -> None:
    write(tmp_path, {"Chart.yaml": "a: 1", "templates/a.yaml": "x: {{"})

    assert names(tmp_path / "templates") == ["skipped a.yaml"]
    assert names(tmp_path / "templates" / "a.yaml") == ["skipped a.yaml"]


def test_a_file_that_is_named_is_read_whatever_its_name(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": POD % "a"})

    assert names(tmp_path / "a.txt", tmp_path / "a.txt") == ["Pod/a", "Pod/a"]


def test_one_broken_document_among_hundreds(tmp_path: Path) -> None:
    write(tmp_path, {f"{i:03}.yaml": POD % i for i in range(300)} | {"150.yaml": "a: 1\nb: ]\n"})

    read = list(read_documents([str(tmp_path)]))

    (error,) = (item for item in read if isinstance(item, ManifestError))
    assert (error.source, error.line) == (str(tmp_path / "150.yaml"), 2)
    assert len(read) == 300


def test_links_are_followed_but_not_around(tmp_path: Path) -> None:
    write(tmp_path, {"a/x.yaml": POD % "x"})
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    (tmp_path / "b").symlink_to(tmp_path / "a")
    (tmp_path / "c.yaml").symlink_to(tmp_path / "a" / "x.yaml")
    (tmp_path / "d.yaml").symlink_to(tmp_path / "d.yaml")
    (tmp_path / "e.yaml").symlink_to(tmp_path / "nowhere")

    assert names(tmp_path) == [
        "Pod/x",
        "Pod/x",
        "error d.yaml: cannot be read: Too many levels of symbolic links",
        "error e.yaml: cannot be read: No such file or directory",
    ]


def test_a_mounted_config_map_is_read_once(tmp_path: Path) -> None:
    write(tmp_path, {"..2026_11_21/a.yaml": POD % "a"})
    (tmp_path / "..data").symlink_to("..2026_11_21")
    (tmp_path / "a.yaml").symlink_to("..data/a.yaml")

    assert names(tmp_path) == ["Pod/a"]


def test_pipes_of_a_folder_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.yaml")
    write(tmp_path, {"b.yaml": POD % "b"})

    assert names(tmp_path) == ["Pod/b"]


def test_a_folder_without_files_is_skipped_too(tmp_path: Path) -> None:
    write(tmp_path, {"manifests/deep/README.md": "", "manifests/.a.yaml": POD % "a"})

    assert names(tmp_path / "manifests") == ["skipped manifests"]
    assert names(tmp_path / "manifests", strict=True) == [f"error manifests: {NO_FILE}"]


def test_what_is_not_there_is_an_error(tmp_path: Path) -> None:
    assert names(tmp_path / "a.yaml") == ["error a.yaml: cannot be read: No such file or directory"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": POD % "a", "b/c.yaml": POD % "c", "d.yaml": POD % "d"})
    (tmp_path / "a.yaml").chmod(0)
    (tmp_path / "b").chmod(0)

    read = names(tmp_path)

    (tmp_path / "b").chmod(0o700)
    assert read == [
        "error a.yaml: cannot be read: Permission denied",
        "error b: cannot be read: Permission denied",
        "Pod/d",
    ]


# bytes of a file, what is read of it
BYTES: dict[str, tuple[bytes, list[str]]] = {
    "UTF-8 with a byte order mark": (b"\xef\xbb\xbf" + (POD % "a").encode(), ["Pod/a"]),
    "UTF-16 with a byte order mark": ((POD % "a").encode("utf-16"), ["Pod/a"]),
    "other texts": (b"a: 1\nb: \xe4\n", ["error x.yaml:2: not text: save it as UTF-8"]),
    "binary files": (
        b"\x7fELF\0\0",
        ["error x.yaml: a binary file: manifests are YAML or JSON"],
    ),
}


@pytest.mark.parametrize(("data", "expected"), BYTES.values(), ids=BYTES.keys())
def test_bytes_become_text(tmp_path: Path, data: bytes, expected: list[str]) -> None:
    (tmp_path / "x.yaml").write_bytes(data)

    assert names(tmp_path / "x.yaml") == expected


def test_the_standard_input_is_read() -> None:
    stdin = io.BytesIO((POD % "a").encode() + b"---\nb\n")

    read = list(read_documents(["-"], stdin=stdin))

    assert summaries(read[:1]) == ["Pod/a"]
    assert str(read[1]) == "stdin:5: not an object: add apiVersion and kind, or remove it"


def test_a_stream_without_end_is_refused() -> None:
    with pytest.raises(SourceError, match="stdin: larger than 2 MiB: split it"):
        files._read_bounded(io.BytesIO(bytes(2**21 + 1)), "stdin", most=2**21)


def test_a_file_of_any_documents_is_read(tmp_path: Path) -> None:
    write(tmp_path, {"a": "a: 1\n---\n{kind: List, items: [1]}\n"})

    read = read_file(str(tmp_path / "a"))

    assert [document.value for document in read] == [{"a": 1}, {"kind": "List", "items": [1]}]


def test_a_file_with_an_error_raises_it(tmp_path: Path) -> None:
    write(tmp_path, {"a": "a: 1\na: 2\n"})

    with pytest.raises(ManifestError, match=":2: duplicate key 'a'"):
        read_file(str(tmp_path / "a"), unique_keys=True)


def test_a_file_that_is_not_there_raises(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be read"):
        read_file(str(tmp_path / "a"))


def test_what_kubectl_prints_is_read_as_it_was(tmp_path: Path) -> None:
    pods = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"a{i}"}} for i in range(9)]
    dump = {"apiVersion": "v1", "items": pods, "kind": "List", "metadata": {"resourceVersion": ""}}
    write(
        tmp_path,
        {"a.json": msgspec.json.encode(dump).decode(), "b.yaml": pyyaml.safe_dump(dump)},
    )

    read = [item for item in read_documents([str(tmp_path)]) if isinstance(item, Document)]

    assert [document.value for document in read] == pods * 2


def test_what_holds_objects_may_be_unpacked_otherwise(tmp_path: Path) -> None:
    (tmp_path / "held.yaml").write_text("held: {apiVersion: v1, kind: Pod, metadata: {name: a}}")

    def unpack(document: Document) -> Iterable[Document]:
        return [msgspec.structs.replace(document, value=document.value["held"])]

    assert summaries(read_documents([str(tmp_path)], unpack=unpack)) == ["Pod/a"]


def test_a_document_knows_where_in_its_text_it_starts() -> None:
    text = "# é\r\na: 1\r\n---\r\n- b\n--- {c: 1}\n---\n"
    streamed = '  {"a": 1} \n\n{"b": "é"}\n{"c": 3}'

    for each in (text, streamed):
        for document in parse(each, "x"):
            assert isinstance(document, Document)
            lines = document.text
            assert each[lines.start :].startswith(lines.content)
            assert [document.value] == values(lines.content)


ENCODED = {
    "UTF-8": "é: 1\n".encode(),
    "UTF-8 with a byte order mark": "é: 1\n".encode("utf-8-sig"),
    "UTF-16, little end first": b"\xff\xfe" + "é: 1\n".encode("utf-16-le"),
    "UTF-16, big end first": b"\xfe\xff" + "é: 1\n".encode("utf-16-be"),
}


@pytest.mark.parametrize("data", ENCODED.values(), ids=ENCODED.keys())
def test_a_text_is_written_as_it_was_read(data: bytes) -> None:
    text = decode(data, "x")

    assert text == "é: 1\n"
    assert encode(text, data) == data

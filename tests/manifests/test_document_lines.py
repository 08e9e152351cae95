"""Lines of documents and of their values."""

import pytest

from webhook.manifests import Document, expand, parse


def test_lines_of_a_long_stream_are_counted() -> None:
    read = list(parse('{"a": 1}\n{\n"b": 2\n}\n\n{"c": ]}\n{"d": 4}\n{"e": 1e999}\n', "x"))

    assert [item.line() if isinstance(item, Document) else item.line for item in read] == [
        1,
        2,
        6,
        7,
        8,
    ]


def test_a_document_names_the_place_of_a_value() -> None:
    (document,) = parse("a: 1\nb: 2\n", "web.yaml")

    assert isinstance(document, Document)
    assert document.place(("b",)) == "web.yaml:2"
    assert str(document.error("is 2", ("b",))) == "web.yaml:2: is 2"


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
def test_every_value_has_a_line(index: int, path: tuple[str | int, ...], line: int) -> None:
    read = [item for item in parse(MANIFEST, "x.yaml") if isinstance(item, Document)]
    objects = [document for item in read for document in expand(item)]

    assert objects[index].line(path) == line
    assert objects[index].place(path) == f"x.yaml:{line}"
    assert str(objects[index].error("is 2", path)) == f"x.yaml:{line}: is 2"


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

"""Lines of values in the text of a document."""

from typing import Any

import pytest

from webhook.manifests import Document, expand, parse
from webhook.manifests.text import read_tree


def values(text: str, *, unique_keys: bool = False) -> list[Any]:
    read = list(parse(text, "x.yaml", unique_keys=unique_keys))
    return [item.value if isinstance(item, Document) else str(item) for item in read]


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


def test_brackets_may_be_yaml() -> None:
    texts = ('{"a": 1}', "{a: 1}", "a: 1")

    assert [read_tree(text).json for text in texts] == [True, False, False]


def test_a_document_has_its_position_in_the_whole_text() -> None:
    text = "# é\r\na: 1\r\n---\r\n- b\n--- {c: 1}\n---\n"
    streamed = '  {"a": 1} \n\n{"b": "é"}\n{"c": 3}'

    for whole in (text, streamed):
        for document in parse(whole, "x"):
            assert isinstance(document, Document)
            lines = document.text
            assert whole[lines.start :].startswith(lines.content)
            assert [document.value] == values(lines.content)

"""
Where each value of a document of JSON stands in its text, to the character.

libyaml reads most JSON, but neither surrogate pairs nor keys longer than 1024 characters.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from webhook.manifests.tree import Entry, Node, Tree, count_places, read_yaml

_blanks = re.compile(r"[ \t\r\n]*").match
_scanner = json.JSONDecoder()


def read_tree(text: str) -> Tree:
    """Read the places of one document of either form, which could be read as a value before."""
    if text.lstrip().startswith(("{", "[")):
        try:
            return read_json(text)
        except ValueError:
            pass  # YAML has brackets, too
    return read_yaml(text)


def read_json(text: str) -> Tree:
    """
    Read the places of one document.

    Raises:
        ValueError: It is no JSON.
    """
    root = _value(text, _skip(text, 0))
    if _skip(text, root.end) != len(text):
        raise ValueError("something stands behind the document")
    count_places(root)
    return Tree(text, json=True, root=root)


def _value(text: str, start: int) -> Node:
    match text[start : start + 1]:
        case "{":
            return _collection(text, start, "}", members=True)
        case "[":
            return _collection(text, start, "]", members=False)
        case _:
            return Node(start, start, _scalar(text, start)[1])


def _collection(text: str, start: int, close: str, *, members: bool) -> Node:
    node = Node(start, start, start + 1, collection=True, flow=True)
    node.entries += _members(text, node) if members else _items(text, node)
    node.end = _skip(text, node.end)
    if text[node.end : node.end + 1] != close:
        raise ValueError(f"no {close} at {node.end}")
    node.end += 1
    return node


def _members(text: str, node: Node) -> Iterator[Entry]:
    for start in _starts(text, node, "}"):
        key, end = _scalar(text, start)
        colon = _skip(text, end)
        if text[colon : colon + 1] != ":" or not isinstance(key, str):
            raise ValueError(f"no key at {start}")
        yield _entry(key, start, _value(text, _skip(text, colon + 1)), node)


def _items(text: str, node: Node) -> Iterator[Entry]:
    for index, start in enumerate(_starts(text, node, "]")):
        yield _entry(index, start, _value(text, start), node)


def _starts(text: str, node: Node, close: str) -> Iterator[int]:
    """Find where the next entry starts, after a comma; ``node.end`` is where the last one ended."""
    start = _skip(text, node.end)
    if text[start : start + 1] == close:
        return
    yield start
    while text[(comma := _skip(text, node.end)) : comma + 1] == ",":
        yield _skip(text, comma + 1)


def _entry(step: str | int, start: int, value: Node, within: Node) -> Entry:
    within.end = value.end
    return Entry(step, start, value.start, value.end, value)


def _scalar(text: str, start: int) -> tuple[Any, int]:
    return _scanner.raw_decode(text, start)


def _skip(text: str, start: int) -> int:
    found = _blanks(text, start)
    assert found is not None, "it matches nothing, too"
    return found.end()

"""
Positions of a JSON document's values in its text, to the character.

``read_json`` is the entry point. libyaml reads most JSON, but neither surrogate pairs nor keys
longer than 1024 characters.
"""

import json
import re

from webhook.manifests.events import MOST_LEVELS
from webhook.manifests.tree import Tree, TreeEntry, TreeNode, count_places

_blanks = re.compile(r"[ \t\r\n]*").match
_literal = re.compile(
    r"(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null)\b"
).match
_brackets = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', re.DOTALL).finditer
_scanner = json.JSONDecoder()

_CLOSING = {"{": "}", "[": "]"}


def read_json(text: str) -> Tree:
    """
    Read the positions of one document.

    Collections nested more than ``MOST_LEVELS`` deep have no entries in the tree.

    Raises:
        ValueError: The text is not JSON.
    """
    return _Reader(text).tree()


class _Reader:
    """Reads one document from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0  # the next character

    def tree(self) -> Tree:
        root = self._value(MOST_LEVELS)
        self._skip_blanks()
        if self._at != len(self._text):
            raise ValueError(f"the document ends at {self._at}, and the text does not")
        count_places(root)
        return Tree(self._text, json=True, root=root)

    def _value(self, depth: int) -> TreeNode:
        start = self._skip_blanks()
        close = _CLOSING.get(self._text[start : start + 1])
        if close is None:
            self._skip_scalar()
            return TreeNode(start, start, self._at)
        entries: list[TreeEntry] = []
        if depth == 0:  # recursion ends here, however deep the text is
            self._skip_collection()
        else:
            self._at += 1
            self._read_entries(entries, close, depth - 1)
        return TreeNode(start, start, self._at, collection=True, flow=True, entries=entries)

    def _read_entries(self, entries: list[TreeEntry], close: str, depth: int) -> None:
        while not self._take(close):
            if entries and not self._take(","):
                raise ValueError(f"no {close} at {self._at}")
            entry = self._member(depth) if close == "}" else self._item(len(entries), depth)
            entries.append(entry)

    def _member(self, depth: int) -> TreeEntry:
        start = self._skip_blanks()
        if self._text[start : start + 1] != '"':
            raise ValueError(f"no key at {start}")
        key: str
        key, self._at = _scanner.raw_decode(self._text, start)
        if not self._take(":"):
            raise ValueError(f"no colon at {self._at}")
        node = self._value(depth)
        return TreeEntry(key, start, node.start, node.end, node)

    def _item(self, index: int, depth: int) -> TreeEntry:
        node = self._value(depth)
        return TreeEntry(index, node.start, node.start, node.end, node)

    def _skip_scalar(self) -> None:
        if self._text[self._at : self._at + 1] == '"':
            _, self._at = _scanner.raw_decode(self._text, self._at)
        elif found := _literal(self._text, self._at):
            self._at = found.end()
        else:
            raise ValueError(f"no value at {self._at}")

    def _skip_collection(self) -> None:
        depth = 0
        for token in _brackets(self._text, self._at):
            depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(token[0], 0)
            if depth == 0:
                self._at = token.end()
                return
        raise ValueError(f"no end of the collection at {self._at}")

    def _take(self, character: str) -> bool:
        """Skip blanks, and a character if it follows."""
        start = self._skip_blanks()
        found = self._text.startswith(character, start)
        self._at += found
        return found

    def _skip_blanks(self) -> int:
        found = _blanks(self._text, self._at)
        assert found is not None, "it matches the empty string, too"
        self._at = found.end()
        return self._at

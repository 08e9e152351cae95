"""
The text of one document, and the positions of its values, read when they are first requested.

``DocumentText`` is the entry point. It reads as little of the text as a position needs: of a
``List``, only the item that contains the value.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import yaml

from webhook.manifests.duplicates import DuplicateKey, list_duplicate_keys
from webhook.manifests.edits import Span, line_start
from webhook.manifests.jsonspans import find_position, read_items
from webhook.manifests.jsontree import read_json
from webhook.manifests.tree import Tree, read_yaml
from webhook.manifests.yaml import ITEMS, Outline
from webhook.policy.paths import FieldPath

_BRACKETS = ("{", "[")

_BLOCK = 4 * 1024
"""Characters between places whose lines are known: to find a line, fewer than that are searched."""

_content = re.compile(r"\S").search


def read_tree(text: str) -> Tree:
    """
    Read the positions of one document of YAML or JSON.

    Raises:
        yaml.YAMLError: The text is neither YAML nor JSON.
    """
    if text.lstrip().startswith(_BRACKETS):
        try:
            return read_json(text)
        except ValueError:
            pass  # YAML has brackets, too
    return read_yaml(text)


@dataclass(eq=False)
class DocumentText:
    """
    The text of one document.

    Attributes:
        content: YAML or JSON.
        first: The line at which the text starts in its file, from 1.
        start: The character at which the text starts in its file, from 0.
        outline: The outline of a YAML document; None for JSON.
        items: The items of a ``List`` in JSON, if they are known already.
    """

    content: str
    first: int
    start: int
    outline: Outline | None = None
    items: Sequence[Span] | None = None
    _item: tuple[Span, Tree, int] | None = None  # the last item of a List that was read

    def line(self, path: FieldPath) -> int:
        """Return the line of a value's key, else of the nearest value that contains it, from 1."""
        return self.line_at(self.find_position(path))

    def line_at(self, position: int) -> int:
        """Return the line of a character, as editors and ``grep -n`` count: by line feeds."""
        block = position // _BLOCK
        for number in range(len(self._breaks), block + 1):
            start = (number - 1) * _BLOCK
            self._breaks.append(self._breaks[-1] + self.content.count("\n", start, start + _BLOCK))
        inside = self.content.count("\n", block * _BLOCK, position)
        return self.first + self._breaks[block] + inside

    def find_position(self, path: FieldPath) -> int:
        """Find the first character of a member's key or of an item, else of what contains it."""
        item, rest = self._split(path)
        if not rest:
            return item.start if item else self._opening
        if self.outline is None:
            start, end = item or (0, len(self.content))
            found = find_position(self.content[start:end], rest)
            if found is not None:
                return start + found
        tree, offset, rest = self._read(path)
        return offset + tree.find_position(rest)

    def find_duplicate_keys(self, path: FieldPath) -> Iterator[DuplicateKey]:
        """Find the keys that objects in the value at a path contain more than once, by lines."""
        tree, offset, rest = self._read(path)
        entries = tree.entries_along(rest)
        if len(entries) == len(rest):
            node = entries[-1].node if entries else tree.root
            for inner, places in list_duplicate_keys(node):
                yield DuplicateKey(inner, tuple(self.line_at(offset + place) for place in places))

    @cached_property
    def _breaks(self) -> list[int]:
        """The number of line breaks before each block, as far as it was needed."""
        return [0]

    @cached_property
    def tree(self) -> Tree:
        """The positions of all values, read at once."""
        return read_tree(self.content)

    @cached_property
    def _opening(self) -> int:
        """The first character of the value."""
        if self.outline is not None:
            return self.outline.opening
        found = _content(self.content)
        return found.start() if found else 0

    @cached_property
    def _items(self) -> Sequence[Span]:
        """The items of a ``List``; empty if they are unknown."""
        if self.outline is not None:
            return self.outline.items
        if self.items is not None:
            return self.items
        found = read_items(self.content)
        return found.spans if found else ()

    def _split(self, path: FieldPath) -> tuple[Span | None, FieldPath]:
        """Split a path after the item of a ``List``; None if it does not lead into one."""
        if len(path) > 1 and path[0] == ITEMS:
            index, items = path[1], self._items
            if isinstance(index, int) and index < len(items):
                return items[index], path[2:]
        return None, path

    def _read(self, path: FieldPath) -> tuple[Tree, int, FieldPath]:
        """
        Read the positions of the item of a ``List`` that contains a value.

        Returns:
            The tree, the character at which its text starts, and the rest of the path; the tree of
            the document if the item cannot be read by itself, or the path leads to none.
        """
        item, rest = self._split(path)
        if item is None:
            return self.tree, 0, path
        if self._item is None or self._item[0] != item:
            try:
                self._item = item, *self._read_item(item)
            except yaml.YAMLError:  # it has an alias of a value outside
                return self.tree, 0, path
        return *self._item[1:], rest

    def _read_item(self, item: Span) -> tuple[Tree, int]:
        start, content = item.start, self.content[slice(*item)]
        if self.outline is None or content.startswith(_BRACKETS):
            return read_tree(content), start
        column = start - line_start(self.content, start)  # of a block, whose next lines have it too
        return read_tree(" " * column + content), start - column

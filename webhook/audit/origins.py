"""
Where the object of an audit was read, and on which lines its fields stand.

A document finds the line of a field when it is asked. A snapshot cannot hold all documents, so it
holds the lines that findings can be about: of the constraints, and of all that they stand in.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Self

import msgspec

from webhook.manifests import Document, is_object
from webhook.policy.paths import FieldPath, find_value, is_array, parse_path, walk_path

_METADATA: FieldPath = ("metadata", "annotations")


class StoredOrigin(msgspec.Struct, frozen=True):
    """An origin as a snapshot holds it: the file, and the line of each path that is known."""

    source: str
    lines: tuple[tuple[FieldPath, int], ...]


class Origin:
    """
    A file, or the standard input, and the lines of an object in it.

    Attributes:
        source: The file as it was named.
        document: The object as it was read; None if it comes from a snapshot.
    """

    def __init__(
        self, source: str, lines: Mapping[FieldPath, int], document: Document | None = None
    ) -> None:
        """
        Know the lines, or whom to ask for them.

        Args:
            lines: Of the paths that are known; that of the object itself among them.
            document: Asked instead, if there is one.
        """
        self.source = source
        self._lines = lines
        self.document = document

    @classmethod
    def of(cls, document: Document) -> Self:
        """Take the place of a document."""
        return cls(document.source, {}, document)

    @classmethod
    def restore(cls, stored: StoredOrigin) -> Self:
        """Take what a snapshot says."""
        return cls(stored.source, dict(stored.lines))

    def line(self, field: str = "") -> int:
        """
        Give the line of a field, or of the nearest one around it that is known; from 1.

        Args:
            field: As findings name it, as ``spec.topologySpreadConstraints[0].maxSkew``; empty for
                the object itself.
        """
        path = parse_path(field)
        if self.document is not None:
            return self.document.line(path)
        known = (path[:end] for end in range(len(path), -1, -1))
        return next((self._lines[each] for each in known if each in self._lines), 1)

    def store(self, constraints: FieldPath) -> StoredOrigin:
        """
        Make what a snapshot holds.

        Args:
            constraints: Where the object holds its constraints.
        """
        if self.document is None:
            return StoredOrigin(self.source, tuple(self._lines.items()))
        paths = _paths(self.document.value, constraints)
        return StoredOrigin(self.source, tuple((path, self.document.line(path)) for path in paths))


def _paths(value: Any, constraints: FieldPath) -> Iterator[FieldPath]:
    """Name what exists on the way to metadata and constraints, and all below the constraints."""
    yield ()
    yield from _way(value, _METADATA)
    yield from _way(value, constraints)
    yield from _below(find_value(value, constraints), constraints)


def _way(value: Any, path: FieldPath) -> Iterator[FieldPath]:
    for length, _ in enumerate(walk_path(value, path)):
        if length:
            yield path[:length]


def _below(value: Any, path: FieldPath) -> Iterator[FieldPath]:
    members: Any = value.items() if is_object(value) else ()
    if is_array(value):
        members = enumerate(value)
    for step, inner in members:
        yield (*path, step)
        yield from _below(inner, (*path, step))

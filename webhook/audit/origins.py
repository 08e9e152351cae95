"""
Origins of objects: the file, and the lines of their fields.

A document finds the line of any field. A snapshot stores no documents, so it stores the lines that
findings may need: those of the constraints, of the annotations, and of their parents.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Self

import msgspec

from webhook.manifests import Document, is_object
from webhook.policy.paths import FieldPath, find_value, is_array, parse_path, walk_path

_METADATA: FieldPath = ("metadata", "annotations")


class StoredOrigin(msgspec.Struct, frozen=True):
    """An origin as a snapshot stores it: the file, and the line of each known path."""

    source: str
    lines: tuple[tuple[FieldPath, int], ...]


class Origin:
    """
    A file or the standard input, and the lines of one object in it.

    Attributes:
        source: The file as the user named it.
        document: The object with its positions; None if it comes from a snapshot.
    """

    def __init__(
        self, source: str, lines: Mapping[FieldPath, int], document: Document | None = None
    ) -> None:
        """
        Create an origin.

        Args:
            source: The file as the user named it.
            lines: Path -> line, with the empty path for the object itself.
            document: Used instead of ``lines`` if given.
        """
        self.source = source
        self._lines = lines
        self.document = document

    @classmethod
    def of(cls, document: Document) -> Self:
        """Create the origin of a document."""
        return cls(document.source, {}, document)

    @classmethod
    def restore(cls, stored: StoredOrigin) -> Self:
        """Restore an origin from a snapshot."""
        return cls(stored.source, dict(stored.lines))

    def line(self, field: str = "") -> int:
        """
        Return the line of a field, or of its nearest known parent, from 1.

        Args:
            field: Path as in findings, such as ``spec.topologySpreadConstraints[0].maxSkew``; empty
                for the object itself.
        """
        path = parse_path(field)
        if self.document is not None:
            return self.document.line(path)
        parents = (path[:end] for end in range(len(path), -1, -1))
        return next((self._lines[parent] for parent in parents if parent in self._lines), 1)

    def store(self, constraints: FieldPath) -> StoredOrigin:
        """
        Convert the origin to what a snapshot stores.

        Args:
            constraints: Path of the constraints in the object.
        """
        if self.document is None:
            return StoredOrigin(self.source, tuple(self._lines.items()))
        paths = _list_stored_paths(self.document.value, constraints)
        return StoredOrigin(self.source, tuple((path, self.document.line(path)) for path in paths))


def _list_stored_paths(value: Any, constraints: FieldPath) -> Iterator[FieldPath]:
    """Yield the existing paths up to annotations and constraints, and all below the constraints."""
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

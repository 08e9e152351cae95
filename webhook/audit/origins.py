"""
Origins of objects: the file, and the lines of their fields.

A document finds the line of any field. A snapshot stores no documents, so it stores the lines that
findings may need: those of the constraints, of the annotations, and of their parents.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Self

import msgspec

from webhook.manifests import Document
from webhook.policy.paths import (
    FieldPath,
    constraints_path,
    find_value,
    is_array,
    is_object,
    parse_path,
    walk_path,
)

_ANNOTATIONS: FieldPath = ("metadata", "annotations")


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

    def __init__(self, source: str, lines: Mapping[FieldPath, int]) -> None:
        """Create an origin from a path -> line, with the empty path for the object itself."""
        self.source = source
        self._lines = lines
        self.document: Document | None = None
        self._template: FieldPath = ()

    @classmethod
    def of(cls, document: Document, template: FieldPath = ()) -> Self:
        """Create the origin of a document, whose pod template has this path."""
        origin = cls(document.source, {})
        origin.document, origin._template = document, template
        return origin

    def within(self, template: FieldPath) -> "Origin":
        """Return the origin of the pod template at this path of the same document."""
        return self if self.document is None else Origin.of(self.document, template)

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
        return self._find_line(parse_path(field)) if field else self._own_line

    @cached_property
    def _own_line(self) -> int:
        """The line of the object, which sorts the objects and is in their reports."""
        return self._find_line(())

    def _find_line(self, path: FieldPath) -> int:
        if self.document is not None:
            return self.document.line(path)
        parents = (path[:end] for end in range(len(path), -1, -1))
        return next((self._lines[parent] for parent in parents if parent in self._lines), 1)

    def store(self) -> StoredOrigin:
        """Convert the origin to what a snapshot stores."""
        if self.document is None:
            return StoredOrigin(self.source, tuple(self._lines.items()))
        paths = _list_stored_paths(self.document.value, constraints_path(self._template))
        return StoredOrigin(self.source, tuple((path, self.document.line(path)) for path in paths))


def _list_stored_paths(value: Any, constraints: FieldPath) -> Iterator[FieldPath]:
    """Yield the existing paths up to annotations and constraints, and all below the constraints."""
    yield ()
    for path in (_ANNOTATIONS, constraints):
        for length, _ in enumerate(walk_path(value, path)):
            if length:
                yield path[:length]
    yield from _list_paths_below(find_value(value, constraints), constraints)


def _list_paths_below(value: Any, path: FieldPath) -> Iterator[FieldPath]:
    members: Any = value.items() if is_object(value) else ()
    if is_array(value):
        members = enumerate(value)
    for step, inner in members:
        yield (*path, step)
        yield from _list_paths_below(inner, (*path, step))

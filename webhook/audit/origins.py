"""
Where the object of an audit was read, and on which lines its fields stand.

A document finds the line of a field when it is asked. A snapshot cannot hold all documents, so it
holds the lines that findings can be about: of the constraints, and of all that they stand in.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Self

import msgspec

from webhook.manifests import Document, Path, is_object
from webhook.manifests.yaml import is_array

_step = re.compile(r"\.?([^.\[\]{}]+)|\[(\d+)\]").match
_METADATA: Path = ("metadata", "annotations")


class StoredOrigin(msgspec.Struct, frozen=True):
    """An origin as a snapshot holds it: the file, and the line of each path that is known."""

    source: str
    lines: tuple[tuple[Path, int], ...]


class Origin:
    """
    A file, or the standard input, and the lines of an object in it.

    Attributes:
        source: The file as it was named.
        document: The object as it was read; None if it comes from a snapshot.
    """

    def __init__(
        self, source: str, lines: Mapping[Path, int], document: Document | None = None
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
        path = path_of(field)
        if self.document is not None:
            return self.document.line(path)
        known = (path[:end] for end in range(len(path), -1, -1))
        return next((self._lines[each] for each in known if each in self._lines), 1)

    def store(self, constraints: Path) -> StoredOrigin:
        """
        Make what a snapshot holds.

        Args:
            constraints: Where the object holds its constraints.
        """
        if self.document is None:
            return StoredOrigin(self.source, tuple(self._lines.items()))
        paths = _paths(self.document.value, constraints)
        return StoredOrigin(self.source, tuple((path, self.document.line(path)) for path in paths))


def path_of(field: str) -> Path:
    """Read a path as far as it can be one: an error about two members names them in braces."""
    return tuple(_steps(field))


def _steps(field: str) -> Iterator[str | int]:
    position = 0
    while step := _step(field, position):
        yield step[1] if step[2] is None else int(step[2])
        position = step.end()


def _paths(value: Any, constraints: Path) -> Iterator[Path]:
    """Name what exists on the way to metadata and constraints, and all below the constraints."""
    yield ()
    yield from _way(value, _METADATA)
    yield from _way(value, constraints)
    inner: Any = value
    for step in constraints:
        inner = inner.get(str(step)) if is_object(inner) else None
    yield from _below(inner, constraints)


def _way(value: Any, path: Path) -> Iterator[Path]:
    for end, step in enumerate(path, start=1):
        if not is_object(value) or step not in value:
            return
        value = value[str(step)]
        yield path[:end]


def _below(value: Any, path: Path) -> Iterator[Path]:
    members: Any = value.items() if is_object(value) else ()
    if is_array(value):
        members = enumerate(value)
    for step, inner in members:
        yield (*path, step)
        yield from _below(inner, (*path, step))

"""
Manifests in files and folders, and on the standard input; what is no manifest is told apart.

A folder is read as a whole, in the order of names. Names that start with a dot are not, nor is a
folder twice, however it is reached. What cannot be read is reported, and the rest still read.
"""

import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, TypeAlias

import msgspec

from webhook.errors import ManifestError, SourceError
from webhook.manifests.document import Document, expand, parse
from webhook.manifests.encoding import decode

FILE_BYTES = 512 * 2**20
"""Largest file read: 100 000 ReplicaSets as kubectl prints them."""

SUFFIXES = frozenset({".json", ".yaml", ".yml"})
"""What is read of a folder, as in kubectl. A file that is named is read whatever its name."""

STDIN = "-"

Unpack: TypeAlias = Callable[[Document], Iterable[Document]]
"""Takes the objects out of a document that holds several."""

_CHUNK_BYTES = 2**20  # read at a time

_CHART = "Chart.yaml"
_TEMPLATES = "templates"


class Skipped(msgspec.Struct, frozen=True):
    """
    A file, or a whole folder, that holds no manifests and need not.

    Attributes:
        reason: Why, and what to do if it should hold some; a sentence without its full stop.
    """

    source: str
    reason: str


NO_OBJECT = "nothing in it is an object with apiVersion and kind"
NO_FILE = "no file in it ends in .yaml, .yml or .json"
CHART_TEMPLATE = "a chart's template is no manifest: pipe the output of helm template to -f -"


def read_documents(
    paths: Iterable[str],
    *,
    strict: bool = False,
    stdin: BinaryIO | None = None,
    unpack: Unpack = expand,
) -> Iterator[Document | Skipped | SourceError]:
    """
    Read all objects of files and folders.

    Args:
        paths: Files and folders; ``-`` is the standard input.
        strict: Whether what would be skipped is an error, and a key that stands twice in YAML too.
        stdin: Instead of the process's own.
        unpack: Takes the objects out of what is no object itself.

    Yields:
        Objects, each with non-empty ``apiVersion`` and ``kind``, lists taken apart, in the order in
        which they were found; among them what could not be read (``ManifestError`` where a line is
        known), and what was skipped. Nothing is raised.
    """
    for path in paths:
        for item in _read_path(path, stdin, unpack, unique_keys=strict):
            if strict and isinstance(item, Skipped):
                yield SourceError(item.source, item.reason)
            else:
                yield item


def read_file(
    path: str, *, unique_keys: bool = False, stdin: BinaryIO | None = None
) -> list[Document]:
    """
    Read all documents of one file, whatever they hold, lists as they are.

    Args:
        path: ``-`` is the standard input.
        unique_keys: Whether a key that stands twice in YAML is an error.
        stdin: Instead of the process's own.

    Raises:
        SourceError: The file cannot be read; ``ManifestError`` if a document in it cannot be.
    """
    documents: list[Document] = []
    for item in parse(read_text(path, stdin), source_of(path), unique_keys=unique_keys):
        if isinstance(item, ManifestError):
            raise item
        documents.append(item)
    return documents


def _read_path(
    path: str, stdin: BinaryIO | None, unpack: Unpack, *, unique_keys: bool
) -> Iterator[Document | Skipped | SourceError]:
    for found in (STDIN,) if path == STDIN else walk(Path(path)):
        if not isinstance(found, str):
            yield found
            continue
        try:
            text = read_text(found, stdin)
        except SourceError as error:
            yield error
        else:
            source = source_of(found)
            yield from objects_of(parse(text, source, unique_keys=unique_keys), source, unpack)


def objects_of(
    parsed: Iterable[Document | ManifestError], source: str, unpack: Unpack
) -> Iterator[Document | Skipped | SourceError]:
    """
    Tell the objects of a text from other documents.

    Args:
        parsed: Its documents, and what is wrong with others.
        source: For messages.
        unpack: Takes the objects out of what is no object itself.

    Yields:
        Objects; other documents are errors among these, else the text is skipped.
    """
    others: list[Document] = []
    read = False
    for item in parsed:
        for document in (item,) if isinstance(item, ManifestError) else unpack(item):
            if isinstance(document, Document) and not (document.api_version and document.kind):
                others.append(document)
                continue
            read = True
            yield document
    if not read:
        yield Skipped(source, NO_OBJECT)
        return
    for document in others:
        yield document.error("no object: give it apiVersion and kind, or take it out")


def walk(root: Path) -> Iterator[str | Skipped | SourceError]:
    """
    Find the files to read.

    Args:
        root: A folder; or a file, which is read whatever its name.

    Yields:
        Paths, in the order of names; what is not to be read, and folders that cannot be.
    """
    seen: set[tuple[int, int]] = set()
    pending = [(root, _is_template(root))]
    found = False
    while pending:
        path, is_template = pending.pop()
        if not _is_dir(path):
            found = True
            yield Skipped(str(path), CHART_TEMPLATE) if is_template else str(path)
            continue
        try:
            names = _names_once(path, seen)
        except OSError as error:
            found = True
            yield _unreadable(str(path), error)
            continue
        pending.extend(
            (path / name, is_template or (name == _TEMPLATES and _CHART in names))
            for name in reversed(names)
            if _is_dir(path / name) or _may_hold_manifests(path / name)
        )
    if not found:
        yield Skipped(str(root), NO_FILE)


def _names_once(folder: Path, seen: set[tuple[int, int]]) -> list[str]:
    """List a folder that was not seen before; links may lead to it again, or around in a loop."""
    status = folder.stat()
    identity = (status.st_dev, status.st_ino)
    if identity in seen:
        return []
    seen.add(identity)
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def _is_dir(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False  # reading it as a file says why it cannot be read


def _may_hold_manifests(path: Path) -> bool:
    if path.suffix not in SUFFIXES:
        return False
    try:
        return stat.S_ISREG(path.stat().st_mode)  # a pipe would be waited for
    except OSError:
        return True


def _is_template(path: Path) -> bool:
    absolute = path.absolute()
    return any(
        folder.name == _TEMPLATES and (folder.parent / _CHART).is_file()
        for folder in (absolute, *absolute.parents)
    )


def source_of(path: str) -> str:
    """How messages name a file, or the standard input."""
    return "stdin" if path == STDIN else path


def read_text(path: str, stdin: BinaryIO | None = None) -> str:
    """
    Read a file as a text.

    Args:
        path: ``-`` is the standard input.
        stdin: Instead of the process's own.

    Raises:
        SourceError: It cannot be read, is too large, or is no text.
    """
    return decode(read_data(path, stdin), source_of(path))


def read_data(path: str, stdin: BinaryIO | None = None) -> bytes:
    """
    Read the bytes of a file.

    Args:
        path: ``-`` is the standard input.
        stdin: Instead of the process's own.

    Raises:
        SourceError: It cannot be read, or is too large.
    """
    try:
        if path == STDIN:
            return _read_bounded(stdin or sys.stdin.buffer, "stdin")
        with Path(path).open("rb") as stream:
            return _read_bounded(stream, path)
    except OSError as error:
        raise _unreadable(source_of(path), error) from error


def _unreadable(source: str, error: OSError) -> SourceError:
    return SourceError(source, f"cannot be read: {error.strerror or error}")


def _read_bounded(stream: BinaryIO, source: str, most: int = FILE_BYTES) -> bytes:
    data = bytearray()
    while chunk := stream.read(_CHUNK_BYTES):
        data += chunk
        if len(data) > most:
            raise SourceError(source, f"larger than {most >> 20} MiB: split it")
    return bytes(data)

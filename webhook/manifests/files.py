"""
Manifests in files, in folders and on the standard input, and the encoding of their text.

``read_documents`` is the entry point. It reads a folder recursively, sorted by name, without
names that start with a dot, and only once if links lead to it again. It reports what it cannot
read, and continues. The path ``-`` is the standard input; ``stdin`` replaces that of the process.
"""

import os
import re
import shlex
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, TypeAlias

import msgspec

from webhook.errors import ManifestError, SourceError
from webhook.manifests.document import Document, expand, parse, read_objects
from webhook.manifests.pathfilter import NO_FILTER, PathFilter

MANIFEST_BYTES = 512 * 2**20  # largest file read: 100 000 ReplicaSets as kubectl prints them

SUFFIXES = frozenset({".json", ".yaml", ".yml"})
"""Files read in a folder, as by kubectl. A file given by name is read whatever its suffix."""

STDIN = "-"

Unpacker: TypeAlias = Callable[[Document], Iterable[Document]]
"""Yields the objects of a document that contains several."""

_CHUNK_BYTES = 2**20  # read at a time

_ENCODINGS = {  # by byte order mark
    b"\xef\xbb\xbf": "utf-8",
    b"\xff\xfe": "utf-16-le",
    b"\xfe\xff": "utf-16-be",
}

_is_url = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://").match

_CHART = "Chart.yaml"
_GZIP = b"\x1f\x8b"  # RFC 1952, 2.3.1
_KUSTOMIZATIONS = frozenset({"kustomization.yaml", "kustomization.yml", "Kustomization"})
_TEMPLATES = "templates"


class SkippedSource(msgspec.Struct, frozen=True):
    """
    A file, or a whole folder, that contains no manifests, which is not an error.

    Attributes:
        reason: Why it has no manifests, and what to do if it should; without a full stop.
    """

    source: str
    reason: str


NO_OBJECT = "it contains no object with apiVersion and kind"
NO_FILE = "it contains no file that ends in .yaml, .yml or .json"
KUSTOMIZATION = "a kustomization is not a manifest: -k FOLDER reads what kustomize builds from it"
COMPRESSED = "unpack it; a snapshot is read with --snapshot in place of -f"
CHART_TEMPLATE = "a Helm template is not a manifest: pipe the output of helm template to -f -"


def read_documents(
    paths: Iterable[str],
    *,
    strict: bool = False,
    stdin: BinaryIO | None = None,
    unpack: Unpacker = expand,
    path_filter: PathFilter = NO_FILTER,
) -> Iterator[Document | SkippedSource | SourceError]:
    """
    Read all objects of files and folders.

    Args:
        paths: Files and folders.
        strict: Whether a source that would be skipped is an error.
        path_filter: Leaves out files and folders that are found in a folder.

    Yields:
        Objects with non-empty ``apiVersion`` and ``kind``, in the order in which they are found,
        those of a ``List`` one by one; among them errors (``ManifestError`` where the line is
        known) and skipped sources. Nothing is raised.
    """
    for path in paths:
        for item in _read_path(path, stdin, unpack, path_filter):
            if strict and isinstance(item, SkippedSource):
                yield SourceError(item.source, item.reason)
            else:
                yield item


def read_file(path: str) -> list[Document]:
    """
    Read all documents of one file, of any value; a ``List`` is one document.

    Raises:
        SourceError: The file cannot be read; ``ManifestError`` if a document in it is invalid.
    """
    documents: list[Document] = []
    for item in parse(read_text(path), source_of(path)):
        if isinstance(item, ManifestError):
            raise item
        documents.append(item)
    return documents


def _read_path(
    path: str, stdin: BinaryIO | None, unpack: Unpacker, path_filter: PathFilter
) -> Iterator[Document | SkippedSource | SourceError]:
    for found in (STDIN,) if path == STDIN else find_files(path, path_filter):
        if not isinstance(found, str):
            yield found
            continue
        source = source_of(found)
        try:
            data = read_data(found, stdin)
            text = decode(data, source)
            is_ascii = len(data) == len(text)  # in UTF-8, and without a byte order mark
            parsed = read_objects(text, source, data=data if is_ascii else None)
        except SourceError as error:
            yield error
        else:
            yield from select_objects(parsed, source, unpack)


def select_objects(
    parsed: Iterable[Document | ManifestError], source: str, unpack: Unpacker
) -> Iterator[Document | SkippedSource | SourceError]:
    """
    Select the objects among the documents of a text.

    Yields:
        Objects and errors. A document without apiVersion and kind is an error beside objects; if
        there are only such documents, the source is skipped.
    """
    others: list[Document] = []
    has_objects = False
    for item in parsed:
        for document in (item,) if isinstance(item, ManifestError) else unpack(item):
            if isinstance(document, Document) and not (document.api_version and document.kind):
                others.append(document)
                continue
            has_objects = True
            yield document
    if not has_objects:
        is_kustomization = Path(source).name in _KUSTOMIZATIONS
        yield SkippedSource(source, KUSTOMIZATION if is_kustomization else NO_OBJECT)
        return
    for document in others:
        yield document.error(f"not an object: add {_name_missing(document)}, or remove it")


def _name_missing(document: Document) -> str:
    members = (("apiVersion", document.api_version), ("kind", document.kind))
    return " and ".join(name for name, value in members if not value)


def find_files(
    named: str, path_filter: PathFilter = NO_FILTER
) -> Iterator[str | SkippedSource | SourceError]:
    """
    Find the files to read in a folder, or the file itself, which is read whatever its suffix.

    Args:
        named: The folder or file, as the user named it.
        path_filter: Leaves out files and folders that are found in the folder.

    Yields:
        Paths, in the order of names; templates of charts, folders that cannot be listed, and URLs.
    """
    root = Path(named)
    if _is_url(named) and not os.path.exists(named):  # noqa: PTH110  # it does not raise
        yield SourceError(source_of(named), f"a URL, which is not read: {_pipe(named)}")
        return
    seen: set[tuple[int, int]] = set()
    pending = [(root, _is_template(root))]
    found = False
    while pending:
        path, is_template = pending.pop()
        if not _is_dir(path):
            found = True
            yield SkippedSource(str(path), CHART_TEMPLATE) if is_template else str(path)
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
            if (_is_dir(path / name) or _may_hold_manifests(path / name))
            and not path_filter.excludes(path / name)
        )
    if not found:
        yield SkippedSource(str(root), NO_FILE)


def _pipe(url: str) -> str:
    """Say how to read a URL."""
    return f"pipe it, as in curl -sL {shlex.quote(url)} | evenspread audit -f -"


def _names_once(folder: Path, seen: set[tuple[int, int]]) -> list[str]:
    """List a folder on its first visit only; links may lead to it again, or in a loop."""
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
        return False  # reading it as a file reports why it cannot be read


def _may_hold_manifests(path: Path) -> bool:
    if path.suffix not in SUFFIXES:
        return False
    try:
        return stat.S_ISREG(path.stat().st_mode)  # reading a pipe would block
    except OSError:
        return True


def _is_template(path: Path) -> bool:
    absolute = path.absolute()
    return any(
        folder.name == _TEMPLATES and (folder.parent / _CHART).is_file()
        for folder in (absolute, *absolute.parents)
    )


def identify(path: str) -> str:
    """Return the path that links lead to; also for a loop of links, which cannot be read."""
    return os.path.realpath(path)  # Path.resolve raises for a loop before Python 3.13


def source_of(path: str) -> str:
    """Return the name of a file, or of the standard input, in messages."""
    return "stdin" if path == STDIN else encodable(path)


def encodable(path: str) -> str:
    """Replace the bytes of a path that are not UTF-8, which no output can contain, by escapes."""
    return os.fsencode(path).decode(errors="backslashreplace")


def read_text(path: str, stdin: BinaryIO | None = None) -> str:
    """
    Read a file as text.

    Raises:
        SourceError: The file cannot be read, is too large, or is not text.
    """
    return decode(read_data(path, stdin), source_of(path))


def read_data(path: str, stdin: BinaryIO | None = None, *, most: int = MANIFEST_BYTES) -> bytes:
    """
    Read a file of at most ``most`` bytes.

    Raises:
        SourceError: The file cannot be read, or is too large.
    """
    try:
        if path == STDIN:
            return _read_bounded(stdin or sys.stdin.buffer, "stdin", most)
        with Path(path).open("rb") as stream:
            size = os.fstat(stream.fileno()).st_size  # 0 for a pipe
            return _read_bounded(stream, path, most, first=min(size, most) + 1)
    except OSError as error:
        raise _unreadable(source_of(path), error) from error


def _unreadable(source: str, error: OSError) -> SourceError:
    return SourceError(source, f"cannot be read: {error.strerror or error}")


def _read_bounded(stream: BinaryIO, source: str, most: int, first: int = 0) -> bytes:
    """Read a stream to its end; a ``first`` chunk of the size of the file needs no copy."""
    chunks: list[bytes] = []
    length = 0
    while chunk := stream.read(_CHUNK_BYTES if chunks else max(first, _CHUNK_BYTES)):
        chunks.append(chunk)
        length += len(chunk)
        if length > most:
            raise SourceError(source, f"larger than {most >> 20} MiB: split it")
    return b"".join(chunks)


def decode(data: bytes | bytearray, source: str) -> str:
    """
    Decode UTF-8, or the UTF-16 that PowerShell's ``>`` writes; leave out the byte order mark.

    Raises:
        SourceError: The bytes are not text; ``ManifestError`` if the line is known.
    """
    mark, encoding = _encoding(data)
    try:
        text = data[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        if data.startswith(_GZIP):
            raise SourceError(source, f"compressed: {COMPRESSED}") from error
        line = 1 + data.count(b"\n", 0, len(mark) + error.start)
        raise ManifestError(source, line, "not text: save it as UTF-8") from error
    if "\0" in text:
        raise SourceError(source, "a binary file: manifests are YAML or JSON")
    return text


def encode(text: str, like: bytes) -> bytes:
    """Encode a text as other bytes are encoded, with the same byte order mark."""
    mark, encoding = _encoding(like)
    return mark + text.encode(encoding)


def _encoding(data: bytes | bytearray) -> tuple[bytes, str]:
    marked = ((mark, name) for mark, name in _ENCODINGS.items() if data.startswith(mark))
    return next(marked, (b"", "utf-8"))

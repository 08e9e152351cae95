"""
Documents of a text with their positions.

Entry points: ``parse`` splits a text into documents, ``expand`` a ``List`` into its objects. A text
contains YAML documents between ``---`` lines, or JSON documents in sequence, or both. This module
must not interpret the content of a document.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from webhook.errors import ManifestError
from webhook.manifests.edits import find_line_starts
from webhook.manifests.events import MOST_LEVELS, TOO_DEEP
from webhook.manifests.jsontree import read_json
from webhook.manifests.tree import Tree, read_yaml
from webhook.manifests.yaml import load
from webhook.policy.nesting import decode_nested, prune
from webhook.policy.paths import FieldPath, is_array, is_object

MOST_BROKEN_DOCUMENTS = 100
"""Number of invalid documents after which a JSON stream is abandoned as another format."""

_separator = re.compile(r"^---(?=\s|\Z)", re.MULTILINE)
_content_line = re.compile(r"^(?![%#])[ \t]*\S", re.MULTILINE).search
_starts_as_json = re.compile(r"\s*(\{\s*[\"}]|\[)").match
_content = re.compile(r"\S").search
_scanner = json.JSONDecoder()


def read_tree(text: str) -> Tree:
    """
    Read the positions of one document of YAML or JSON.

    Raises:
        yaml.YAMLError: The text is neither YAML nor JSON.
    """
    if text.lstrip().startswith(("{", "[")):
        try:
            return read_json(text)
        except ValueError:
            pass  # YAML has brackets, too
    return read_yaml(text)


@dataclass(eq=False)
class DocumentText:
    """
    The text of one document; its positions are read when they are first requested.

    Attributes:
        content: YAML or JSON.
        first: The line at which the text starts in its file, from 1.
        start: The character at which the text starts in its file, from 0.
    """

    content: str
    first: int
    start: int

    def line(self, path: FieldPath) -> int:
        """Return the line of a value's key, else of the nearest value that contains it, from 1."""
        return self.first - 1 + bisect_right(self._line_starts, self.tree.find_position(path))

    @cached_property
    def tree(self) -> Tree:
        """The positions of the document's values."""
        return read_tree(self.content)

    @cached_property
    def _line_starts(self) -> list[int]:
        return find_line_starts(self.content)


class Document(msgspec.Struct, frozen=True):
    """
    One document, or one object of a ``List``, with its position.

    Attributes:
        source: The path of the file, or ``stdin``.
        value: Of JSON's types; do not change it, since aliases share parts of it.
        text: The text of the whole document.
        path: From the whole document to the object; empty unless it is an item of a ``List``.
    """

    source: str
    value: Any
    text: DocumentText
    path: FieldPath = ()

    @property
    def api_version(self) -> str:
        """Its ``apiVersion``; empty unless that is a string."""
        return _text(self.value, "apiVersion")

    @property
    def kind(self) -> str:
        """Its ``kind``; empty unless that is a string."""
        return _text(self.value, "kind")

    @property
    def name(self) -> str:
        """Its ``metadata.name``; empty unless that is a string."""
        return _text(_member(self.value, "metadata"), "name")

    @property
    def namespace(self) -> str:
        """Its ``metadata.namespace``; empty unless that is a string."""
        return _text(_member(self.value, "metadata"), "namespace")

    def line(self, path: FieldPath = ()) -> int:
        """Return the line of a value, else of the nearest value that contains it, from 1."""
        return self.text.line(self.path + path)

    def place(self, path: FieldPath = ()) -> str:
        """Format file and line as compilers do: ``web.yaml:7``."""
        return f"{self.source}:{self.line(path)}"

    def error(self, problem: str, path: FieldPath = ()) -> ManifestError:
        """Create the error for a value."""
        return ManifestError(self.source, self.line(path), problem)


def parse(
    text: str, source: str, *, unique_keys: bool = False
) -> Iterator[Document | ManifestError]:
    """
    Read the documents of a text.

    Args:
        source: The file's name, for messages.
        unique_keys: Whether a duplicate key in YAML is an error; otherwise, and in JSON always,
            the last one counts.

    Yields:
        Documents of any value, and errors in place of invalid ones. Empty documents are left out.
    """
    for chunk in _chunks(text):
        if _starts_as_json(chunk.content):
            yield from _json(chunk, source, unique_keys=unique_keys)
            continue
        read = _yaml(chunk, source, unique_keys=unique_keys)
        if isinstance(read, ManifestError) or read.value is not None:
            yield read


def expand(document: Document) -> Iterator[Document]:
    """
    Yield the objects of a ``List``, also of nested ones; any other document as it is.

    The items of a typed list, such as ``PodList``, get their kind from the list, since the API
    omits it.
    """
    pending = [iter((document,))]
    while pending:
        inner = next(pending[-1], None)
        if inner is None:
            pending.pop()
        elif _is_list(inner.value):
            pending.append(_items(inner))
        else:
            yield inner


def _is_list(value: Any) -> bool:
    return (
        _text(value, "kind").endswith("List")
        and "items" in value
        and isinstance(value["items"], list | None)
    )


def _items(document: Document) -> Iterator[Document]:
    shared: dict[str, Any] = {}
    if kind := document.kind.removesuffix("List"):
        shared = {"apiVersion": document.api_version, "kind": kind}
    for index, item in enumerate(document.value["items"] or ()):
        value = shared | item if is_object(item) and "kind" not in item else item
        yield Document(document.source, value, document.text, (*document.path, "items", index))


def _chunks(text: str) -> Iterator[DocumentText]:
    """Split at ``---``, which starts a line only between documents, and count lines."""
    start, first = 0, 1
    for found in _separator.finditer(text):
        chunk = text[start : found.start()]
        if _content_line(chunk):  # otherwise it has only comments and directives
            yield DocumentText(chunk, first, start)
        first += text.count("\n", start, found.end())
        start = found.end()
    yield DocumentText(text[start:] if start else text, first, start)


def _yaml(chunk: DocumentText, source: str, *, unique_keys: bool) -> Document | ManifestError:
    try:
        value = load(chunk.content, source, chunk.first, unique_keys=unique_keys)
    except ManifestError as error:
        return error
    return Document(source, value, chunk)


def _json(
    chunk: DocumentText, source: str, *, unique_keys: bool
) -> Iterator[Document | ManifestError]:
    try:
        yield Document(source, _decode(chunk.content), chunk)
    except (msgspec.DecodeError, RecursionError):
        read = _yaml(chunk, source, unique_keys=unique_keys)
        if isinstance(read, Document):
            yield read
        else:
            yield from _json_stream(chunk, source)


def _json_stream(chunk: DocumentText, source: str) -> Iterator[Document | ManifestError]:
    """Read JSON documents in sequence; after an invalid one, resume at the next {."""
    text = chunk.content
    end, line, broken = 0, chunk.first, 0
    while broken < MOST_BROKEN_DOCUMENTS and (found := _content(text, end)):
        start = found.start()
        line += text.count("\n", end, start)
        try:
            _, end = _scanner.raw_decode(text, start)
            part = text[start:end]
            yield Document(source, _decode(part), DocumentText(part, line, chunk.start + start))
        except (json.JSONDecodeError, msgspec.DecodeError, RecursionError) as error:
            broken += 1
            yield _broken(error, source, chunk.first, line)
            end = text.find("\n{", max(getattr(error, "pos", start), start + 1))
            if end < 0:
                end = len(text)
        line += text.count("\n", start, end)
    if broken == MOST_BROKEN_DOCUMENTS:
        yield ManifestError(
            source, line, f"{MOST_BROKEN_DOCUMENTS} invalid JSON documents: the rest is not read"
        )


def _broken(error: Exception, source: str, first: int, line: int) -> ManifestError:
    if isinstance(error, json.JSONDecodeError):
        return ManifestError(source, first + error.lineno - 1, f"invalid JSON: {error.msg}")
    problem = TOO_DEEP if isinstance(error, RecursionError) else str(error)
    return ManifestError(source, line, f"invalid JSON: {problem}")


def _decode(text: str) -> Any:
    """Decode JSON; replace values nested deeper than any rule reads with null."""
    data = text.encode()
    value = decode_nested(msgspec.json.decode, data)
    return value if _is_shallow(value) else msgspec.json.decode(prune(data))


def _is_shallow(value: Any) -> bool:
    level = [value]
    for _ in range(MOST_LEVELS):
        level = [inner for outer in level for inner in _containers(outer)]
        if not level:
            return True
    return False


def _containers(outer: Any) -> list[Any]:
    inner: Any = outer.values() if is_object(outer) else outer if is_array(outer) else ()
    return [value for value in inner if isinstance(value, dict | list)]


def _member(value: Any, key: str) -> Any:
    return value.get(key) if is_object(value) else None


def _text(value: Any, key: str) -> str:
    member = _member(value, key)
    return member if isinstance(member, str) else ""

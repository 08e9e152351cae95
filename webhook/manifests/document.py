"""
Documents and their places: a text becomes documents, a ``List`` becomes its objects.

A text holds YAML documents between ``---`` lines, or JSON documents one after the other, or both.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from webhook.errors import ManifestError
from webhook.manifests.lines import Lines
from webhook.manifests.yaml import DEPTH, TOO_DEEP, load
from webhook.policy.nesting import prune
from webhook.policy.paths import FieldPath, is_array, is_object

BROKEN = 100
"""Most broken documents of one JSON stream; if there are more, it is something else."""

_separator = re.compile(r"^---(?=\s|\Z)", re.MULTILINE)
_content_line = re.compile(r"^(?![%#])[ \t]*\S", re.MULTILINE).search
_starts_as_json = re.compile(r"\s*(\{\s*[\"}]|\[)").match
_content = re.compile(r"\S").search
_scanner = json.JSONDecoder()


class _Chunk(NamedTuple):
    """A part of a text, and the line and the character at which it starts there."""

    text: str
    first: int
    start: int


class Document(msgspec.Struct, frozen=True):
    """
    One document, or one object of a ``List``, and its place.

    Attributes:
        source: The file as it was found, or ``stdin``.
        value: Of JSON's types; not to be changed, since parts of it may be shared.
        path: Where it stands in its document; empty unless a ``List`` holds it.
    """

    source: str
    value: Any
    lines: Lines
    path: FieldPath = ()

    @property
    def api_version(self) -> str:
        """Its ``apiVersion``; empty if it has none that is a string."""
        return _text(self.value, "apiVersion")

    @property
    def kind(self) -> str:
        """Its ``kind``; empty if it has none that is a string."""
        return _text(self.value, "kind")

    @property
    def name(self) -> str:
        """Its ``metadata.name``; empty if it has none that is a string."""
        return _text(_member(self.value, "metadata"), "name")

    @property
    def namespace(self) -> str:
        """Its ``metadata.namespace``; empty if it has none that is a string."""
        return _text(_member(self.value, "metadata"), "namespace")

    def line(self, path: FieldPath = ()) -> int:
        """Give the line of a value in it, or of the nearest one around that, from 1."""
        return self.lines.line(self.path + path)

    def place(self, path: FieldPath = ()) -> str:
        """Write file and line as compilers do."""
        return f"{self.source}:{self.line(path)}"

    def error(self, problem: str, path: FieldPath = ()) -> ManifestError:
        """Say what is wrong with a value in it."""
        return ManifestError(self.source, self.line(path), problem)


def parse(
    text: str, source: str, *, unique_keys: bool = False
) -> Iterator[Document | ManifestError]:
    """
    Read every document of a text that can be read.

    Args:
        source: For places.
        unique_keys: Whether a key that stands twice in YAML is an error; else, and in JSON always,
            the last one counts.

    Yields:
        Documents of any value, and what is wrong with the others. Empty ones are left out.
    """
    for chunk in _chunks(text):
        if _starts_as_json(chunk.text):
            yield from _json(chunk, source, unique_keys=unique_keys)
            continue
        read = _yaml(chunk, source, unique_keys=unique_keys)
        if isinstance(read, ManifestError) or read.value is not None:
            yield read


def expand(document: Document) -> Iterator[Document]:
    """
    Take the objects out of a ``List``, also out of lists in lists; leave anything else as it is.

    An item of a typed list, as ``PodList``, has no kind of its own in the API; it gets that of the
    list.
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
        yield Document(document.source, value, document.lines, (*document.path, "items", index))


def _chunks(text: str) -> Iterator[_Chunk]:
    """Split at ``---``, which starts a line nowhere but between documents, and count lines."""
    start, first = 0, 1
    for found in _separator.finditer(text):
        chunk = text[start : found.start()]
        if _content_line(chunk):  # else there are but comments and directives
            yield _Chunk(chunk, first, start)
        first += text.count("\n", start, found.end())
        start = found.end()
    yield _Chunk(text[start:] if start else text, first, start)


def _yaml(chunk: _Chunk, source: str, *, unique_keys: bool) -> Document | ManifestError:
    try:
        value = load(chunk.text, source, chunk.first, unique_keys=unique_keys)
    except ManifestError as error:
        return error
    return Document(source, value, Lines(*chunk))


def _json(chunk: _Chunk, source: str, *, unique_keys: bool) -> Iterator[Document | ManifestError]:
    try:
        yield Document(source, _decode(chunk.text), Lines(*chunk))
    except msgspec.DecodeError:
        read = _yaml(chunk, source, unique_keys=unique_keys)
        if isinstance(read, Document):
            yield read
        else:
            yield from _json_stream(chunk, source)


def _json_stream(chunk: _Chunk, source: str) -> Iterator[Document | ManifestError]:
    """Read one JSON document after the other; after a broken one go on where a line starts one."""
    text, first, offset = chunk
    end, line, broken = 0, first, 0
    while broken < BROKEN and (found := _content(text, end)):
        start = found.start()
        line += text.count("\n", end, start)
        try:
            _, end = _scanner.raw_decode(text, start)
            part = text[start:end]
            yield Document(source, _decode(part), Lines(part, line, offset + start))
        except (json.JSONDecodeError, msgspec.DecodeError, RecursionError) as error:
            broken += 1
            yield _broken(error, source, first, line)
            end = _next_object(text, max(getattr(error, "pos", start), start + 1))
        line += text.count("\n", start, end)
    if broken == BROKEN:
        yield ManifestError(
            source, line, f"{BROKEN} broken documents of JSON: the rest is not read"
        )


def _broken(error: Exception, source: str, first: int, line: int) -> ManifestError:
    if isinstance(error, json.JSONDecodeError):
        return ManifestError(source, first + error.lineno - 1, f"no valid JSON: {error.msg}")
    problem = TOO_DEEP if isinstance(error, RecursionError) else str(error)
    return ManifestError(source, line, f"no valid JSON: {problem}")


def _decode(text: str) -> Any:
    """Decode JSON; what is nested more deeply than any rule reads becomes null."""
    try:
        value = msgspec.json.decode(text)
    except RecursionError:
        return msgspec.json.decode(prune(text.encode()))
    return value if _is_shallow(value) else msgspec.json.decode(prune(text.encode()))


def _is_shallow(value: Any) -> bool:
    level = [value]
    for _ in range(DEPTH):
        level = [inner for outer in level for inner in _containers(outer)]
        if not level:
            return True
    return False


def _containers(outer: Any) -> list[Any]:
    inner: Any = outer.values() if is_object(outer) else outer if is_array(outer) else ()
    return [each for each in inner if isinstance(each, dict | list)]


def _next_object(text: str, start: int) -> int:
    found = text.find("\n{", start)
    return len(text) if found < 0 else found


def _member(value: Any, key: str) -> Any:
    return value.get(key) if is_object(value) else None


def _text(value: Any, key: str) -> str:
    member = _member(value, key)
    return member if isinstance(member, str) else ""

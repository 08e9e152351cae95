"""
Documents of a text with their positions.

Entry points: ``parse`` splits a text into documents, ``expand`` a ``List`` into its objects, and
``read_objects`` does both without holding a whole ``List`` in memory. A text contains YAML
documents between ``---`` lines, or JSON documents in sequence, or both. This module must not
interpret the content of a document.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec
from msgspec.structs import replace

from webhook.errors import ManifestError
from webhook.manifests.duplicates import DuplicateKey, repeats_key
from webhook.manifests.edits import Span
from webhook.manifests.jsonspans import JsonItems, read_items
from webhook.manifests.jsonstream import (
    DECODE_FAULTS,
    DecodedJson,
    decode_json,
    encode_again,
    read_stream,
)
from webhook.manifests.positions import DocumentText
from webhook.manifests.yaml import ITEMS, load_outlined
from webhook.policy.model import GroupKind, group_of
from webhook.policy.paths import FieldPath, is_object

_separator = re.compile(r"^---(?=\s|\Z)", re.MULTILINE)
_content_line = re.compile(r"^(?![%#])[ \t]*\S", re.MULTILINE).search
_starts_as_json = re.compile(r"\s*(\{\s*[\"}]|\[)").match


class Document(msgspec.Struct, frozen=True):
    """
    One document, or one object of a ``List``, with its position.

    Attributes:
        source: The path of the file, or ``stdin``.
        value: Of JSON's types; do not change it, since aliases share parts of it.
        text: The text of the whole document.
        path: From the whole document to the object; empty unless it is an item of a ``List``.
        repeats_keys: Whether an object in its text may contain a key more than once.
    """

    source: str
    value: Any
    text: DocumentText
    path: FieldPath = ()
    repeats_keys: bool = False

    @property
    def api_version(self) -> str:
        """Its ``apiVersion``; empty unless that is a string."""
        return _text(self.value, "apiVersion")

    @property
    def kind(self) -> str:
        """Its ``kind``; empty unless that is a string."""
        return _text(self.value, "kind")

    @property
    def group_kind(self) -> GroupKind:
        """Its kind without the version; both names are empty if they are missing."""
        return _read_kind(self.api_version, self.kind)

    @property
    def name(self) -> str:
        """Its ``metadata.name``; empty unless that is a string."""
        return _text(self._metadata, "name")

    @property
    def namespace(self) -> str:
        """Its ``metadata.namespace``; empty unless that is a string."""
        return _text(self._metadata, "namespace")

    @property
    def _metadata(self) -> Any:
        return self.value.get("metadata") if is_object(self.value) else None

    def line(self, path: FieldPath = ()) -> int:
        """Return the line of a value, else of the nearest value that contains it, from 1."""
        return self.text.line(self.path + path)

    def place(self, path: FieldPath = ()) -> str:
        """Format file and line as compilers do: ``web.yaml:7``."""
        return f"{self.source}:{self.line(path)}"

    def find_duplicate_keys(self) -> Iterator[DuplicateKey]:
        """Find the keys that objects in it contain more than once, with their lines."""
        return self.text.find_duplicate_keys(self.path) if self.repeats_keys else iter(())

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
        yield from _parse_chunk(chunk, source, unique_keys=unique_keys)


def read_objects(
    text: str, source: str, *, unique_keys: bool = False, data: bytes | None = None
) -> Iterator[Document | ManifestError]:
    """
    Read the documents of a text, those of a ``List`` one by one; arguments as for ``parse``.

    The items of a ``List`` in JSON are decoded when they are reached: memory is bounded by the text
    and the largest item. An invalid item is an error in its place.

    Args:
        data: The text in UTF-8, if it is known, which saves time.
    """
    whole = DocumentText(text, 1, 0)
    items = _read_list(whole, data)
    if items is not None:  # JSON has no line that starts with a separator
        yield from _json_items(whole, items, source)
        return
    for chunk in _chunks(text):
        items = None if chunk.content is text else _read_list(chunk)
        if items is not None:
            yield from _json_items(chunk, items, source)
            continue
        for item in _parse_chunk(chunk, source, unique_keys=unique_keys):
            yield from expand(item) if isinstance(item, Document) else (item,)


def _read_list(chunk: DocumentText, data: bytes | None = None) -> JsonItems | None:
    """Find the items of a ``List`` in JSON; None for any other text."""
    if not _starts_as_json(chunk.content):
        return None
    items = read_items(chunk.content, data)
    chunk.items = items.spans if items else None
    return items


def _parse_chunk(
    chunk: DocumentText, source: str, *, unique_keys: bool
) -> Iterator[Document | ManifestError]:
    if _starts_as_json(chunk.content):
        yield from _json(chunk, source, unique_keys=unique_keys)
        return
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
        and ITEMS in value
        and isinstance(value[ITEMS], list | None)
    )


def _items(document: Document) -> Iterator[Document]:
    shared: dict[str, str] = {}
    if kind := document.kind.removesuffix("List"):
        shared = {"apiVersion": document.api_version, "kind": kind}
    for index, item in enumerate(document.value[ITEMS] or ()):
        path = (*document.path, ITEMS, index)
        yield replace(document, value=_complete(item, shared), path=path)


def _chunks(text: str) -> Iterator[DocumentText]:
    """Split at ``---``, which starts a line only between documents, and count lines."""
    start, first = 0, 1
    for found in _separator.finditer(text) if "---" in text else ():
        chunk = text[start : found.start()]
        if _content_line(chunk):  # otherwise it has only comments and directives
            yield DocumentText(chunk, first, start)
        first += text.count("\n", start, found.end())
        start = found.end()
    yield DocumentText(text[start:] if start else text, first, start)


def _yaml(chunk: DocumentText, source: str, *, unique_keys: bool) -> Document | ManifestError:
    try:
        loaded = load_outlined(chunk.content, source, chunk.first, unique_keys=unique_keys)
    except ManifestError as error:
        return error
    value, chunk.outline = loaded
    return Document(source, value, chunk, repeats_keys=chunk.outline.repeats_keys)


def _json(
    chunk: DocumentText, source: str, *, unique_keys: bool
) -> Iterator[Document | ManifestError]:
    try:
        yield _build_json(source, decode_json(chunk.content.encode()), chunk)
    except DECODE_FAULTS:
        read = _yaml(chunk, source, unique_keys=unique_keys)
        if isinstance(read, Document):
            yield read
            return
        for item in read_stream(chunk, source):
            yield item if isinstance(item, ManifestError) else _build_json(source, *item)


def _build_json(source: str, decoded: DecodedJson, text: DocumentText) -> Document:
    repeats = repeats_key(text.content, decoded.encoded)
    return Document(source, decoded.value, text, repeats_keys=repeats)


def _json_items(
    chunk: DocumentText, items: JsonItems, source: str
) -> Iterator[Document | ManifestError]:
    """Decode the items of a ``List`` one by one, so that only one of them is in memory."""
    for index, (span, raw) in enumerate(zip(items.spans, items.raw, strict=True)):
        try:
            value, encoded = _decode_item(chunk, span, raw, source)
        except ManifestError as error:
            yield error
        else:
            repeats = repeats_key(chunk.content, encoded, *span)
            item = _complete(value, items.shared)
            yield from expand(Document(source, item, chunk, (ITEMS, index), repeats))


def _decode_item(chunk: DocumentText, span: Span, raw: msgspec.Raw, source: str) -> DecodedJson:
    try:
        return decode_json(raw)
    except DECODE_FAULTS:  # YAML may read it, as it may read a whole document
        first = chunk.line_at(span.start)
        return encode_again(load_outlined(chunk.content[slice(*span)], source, first)[0])


def _complete(item: Any, shared: dict[str, str]) -> Any:
    """Add to an item of a typed list, such as ``PodList``, what the API omits."""
    return shared | item if is_object(item) and "kind" not in item else item


@lru_cache(maxsize=64)  # kinds in one run; the objects of a dump have a few
def _read_kind(api_version: str, kind: str) -> GroupKind:
    return GroupKind(group_of(api_version), kind)


def _text(value: Any, key: str) -> str:
    member: Any = value.get(key) if is_object(value) else None
    return member if isinstance(member, str) else ""

"""
Spans of members and items in a JSON text, without a tree of the whole text.

msgspec skips values at 2 GB/s, so a position is found by the spans of the few collections that
contain it. Entry points: ``find_position``, and ``read_items`` for the items of a ``List``.
``jsontree`` has the positions of all values, which edits of the text need.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from webhook.manifests.edits import Span
from webhook.manifests.yaml import ITEMS
from webhook.policy.paths import FieldPath

_LIST = "List"  # the end of its kind
_SOUGHT = 1024  # bytes of the first item by which items are found in a text
_AFTER_VALUE = (b",", b"}", b"]")

_blanks = re.compile(rb"[ \t\r\n]*").match
_key = re.compile(rb'("[^"\\]*(?:\\.[^"\\]*)*")[ \t\r\n]*:[ \t\r\n]*', re.DOTALL).match
_read_array = msgspec.json.Decoder(list[msgspec.Raw]).decode
_read_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_read_string = msgspec.json.Decoder(str).decode


class MemberSpan(NamedTuple):
    """
    A member of an object, or an item of an array; positions in bytes.

    Attributes:
        step: The key, or the index.
        start: The first byte, of the key or of the item.
        value: The first byte of the value.
        raw: The value as it is written.
    """

    step: str | int
    start: int
    value: int
    raw: msgspec.Raw


class JsonItems(msgspec.Struct, frozen=True):
    """
    The items of a ``List``.

    Attributes:
        shared: The ``apiVersion`` and ``kind`` of items without their own; empty if unknown.
        spans: Their positions in the text.
        raw: The items as they are written.
    """

    shared: dict[str, str]
    spans: Sequence[Span]
    raw: Sequence[msgspec.Raw]


class _Listed(msgspec.Struct):
    items: list[msgspec.Raw]


_read_listed = msgspec.json.Decoder(_Listed).decode


def find_position(text: str, path: FieldPath) -> int | None:
    """
    Find the start of a member's key or of an item; if it is absent, of its container.

    Returns:
        The character, from 0. None if the text is not JSON, is too deep to skip values in it, or
        repeats a key on the way.
    """
    data = text.encode()
    position = value = _skip_blanks(data, 0)
    raw: msgspec.Raw | bytes = data
    for step in path:
        members = _read_members(data, value, raw)
        if members is None:
            return None
        found = next((member for member in members if member.step == step), None)
        if found is None:
            break
        position, value, raw = found.start, found.value, found.raw
    return position if text.isascii() else len(data[:position].decode())


def read_items(text: str, data: bytes | None = None) -> JsonItems | None:
    """
    Read where the items of a ``List`` are, without reading them.

    Args:
        data: The text in UTF-8, if it is known.

    Returns:
        None if the text is no ``List`` in JSON, or must be read as a whole: it repeats a key, has
        no items, or is too deep to skip values in it.
    """
    data = text.encode() if data is None else data
    found = _find_items(data)
    kind = _text(found.members.get("kind")) if found else ""
    if found is None or not kind.endswith(_LIST):
        return None
    shared: dict[str, str] = {}
    if kind := kind.removesuffix(_LIST):
        shared = {"apiVersion": _text(found.members.get("apiVersion")), "kind": kind}
    parts = ((item.value, _end_of(item)) for item in found.items)
    spans = tuple(itertools.starmap(Span, parts) if text.isascii() else _as_spans(data, parts))
    return JsonItems(shared, spans, tuple(item.raw for item in found.items))


class _FoundItems(NamedTuple):
    """The members of a ``List`` without its items, and its items."""

    members: Mapping[str | int, MemberSpan]
    items: Sequence[MemberSpan]


def _find_items(data: bytes) -> _FoundItems | None:
    """
    Find the items of a value, and its members, in one pass over the text.

    The items are sought by the text of the first one. They are those of the value if it has an
    empty array in their place when they are cut out.
    """
    try:
        raw = _read_listed(data).items
        opening = data.rfind(b"[", 0, data.find(bytes(raw[0])[:_SOUGHT])) if raw else -1
        if opening < 0:
            return None
        items = list(_locate_items(data, opening + 1, raw))
    except (msgspec.DecodeError, RecursionError, _MisplacedError):
        return None
    rest = b"%b[]%b" % (data[:opening], data[_skip_blanks(data, _end_of(items[-1])) + 1 :])
    members = {member.step: member for member in _read_root(rest)}
    cut = members.get(ITEMS)
    is_cut = cut is not None and cut.value == opening and bytes(cut.raw) == b"[]"
    return _FoundItems(members, items) if is_cut else None


def _end_of(item: MemberSpan) -> int:
    return item.value + memoryview(item.raw).nbytes


def _read_root(data: bytes) -> list[MemberSpan]:
    return _read_members(data, _skip_blanks(data, 0), data) or []


def _read_members(data: bytes, value: int, raw: msgspec.Raw | bytes) -> list[MemberSpan] | None:
    """
    Read the members of the value that starts at a byte; a scalar has none.

    Returns:
        None if their positions cannot be found; see ``find_position``.
    """
    opening = data[value : value + 1]
    members: list[MemberSpan] = []
    try:
        if opening == b"{":
            members.extend(_locate_members(data, value + 1, _read_object(raw)))
        elif opening == b"[":
            members.extend(_locate_items(data, value + 1, _read_array(raw)))
    except (msgspec.DecodeError, RecursionError, _MisplacedError):
        return None
    return members


def _locate_members(data: bytes, at: int, values: dict[str, msgspec.Raw]) -> Iterator[MemberSpan]:
    """Follow the members in the text. A repeated key is found, since its place is another one."""
    for key, raw in values.items():
        start = _skip_blanks(data, at)
        written = _key(data, start)
        if written is None or _read_string(written[1]) != key:
            raise _MisplacedError
        yield MemberSpan(key, start, written.end(), raw)
        at = _skip_value(data, written.end(), raw)
    if values and data[at - 1 : at] != b"}":
        raise _MisplacedError  # more members follow


def _locate_items(data: bytes, at: int, values: list[msgspec.Raw]) -> Iterator[MemberSpan]:
    for index, raw in enumerate(values):
        start = _skip_blanks(data, at)
        yield MemberSpan(index, start, start, raw)
        at = _skip_value(data, start, raw)


def _skip_value(data: bytes, start: int, raw: msgspec.Raw) -> int:
    """Return where the next member may start, after a comma or the end of the collection."""
    if not data.startswith(raw, start):
        raise _MisplacedError
    end = _skip_blanks(data, start + memoryview(raw).nbytes)
    if not data.startswith(_AFTER_VALUE, end):
        raise _MisplacedError
    return end + 1


def _skip_blanks(data: bytes, at: int) -> int:
    found = _blanks(data, at)
    assert found is not None, "it matches the empty string, too"
    return found.end()


def _text(member: MemberSpan | None) -> str:
    try:
        return _read_string(member.raw) if member else ""
    except msgspec.DecodeError:
        return ""


def _as_spans(data: bytes, parts: Iterable[tuple[int, int]]) -> Iterator[Span]:
    """Convert positions in bytes, in their order, to positions in characters."""
    done = characters = 0
    for start, end in parts:
        begin = characters + len(data[done:start].decode())
        done, characters = end, begin + len(data[start:end].decode())
        yield Span(begin, characters)


class _MisplacedError(Exception):
    """A value is not where it should be, since its object repeats a key."""

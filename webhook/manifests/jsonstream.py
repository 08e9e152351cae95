"""
JSON in a text: one document, or several in sequence.

Entry points: ``decode_json``, and ``read_stream`` for a text that is not one document. This module
must not interpret the content of a document.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import msgspec

from webhook.errors import ManifestError
from webhook.manifests.events import MOST_LEVELS, TOO_DEEP
from webhook.manifests.positions import DocumentText
from webhook.policy.nesting import decode_nested, prune
from webhook.policy.paths import is_object

MOST_BROKEN_DOCUMENTS = 100
"""Number of invalid documents after which a JSON stream is abandoned as another format."""

DECODE_FAULTS = (msgspec.DecodeError, RecursionError)
"""What ``decode_json`` raises for a text that is not one document of JSON."""


class DecodedJson(NamedTuple):
    """
    A value of JSON's types.

    Attributes:
        value: The value.
        encoded: The value as JSON without blanks; None if it cannot be encoded.
    """

    value: Any
    encoded: bytes | None


ReadJson: TypeAlias = tuple[DecodedJson, DocumentText]
"""A document and its text."""

_content = re.compile(r"\S").search
_byte = re.compile(r" \(byte ([0-9]+)\)$").search
_scanner = json.JSONDecoder(parse_int=len, parse_float=len)  # msgspec decodes the numbers

_encode = msgspec.json.Encoder().encode

_COLLECTIONS = (dict, list)
_MALFORMED = "JSON is malformed: "


def decode_json(data: bytes | msgspec.Raw) -> DecodedJson:
    """
    Decode JSON; replace values nested deeper than any rule reads with null.

    Raises:
        msgspec.DecodeError: It is not one document of JSON, or a number is out of range.
        RecursionError: It is too deep to find out.
    """
    decoded = encode_again(decode_nested(msgspec.json.decode, data))
    if _is_shallow(decoded):
        return decoded
    return encode_again(msgspec.json.decode(prune(bytes(data))))


def encode_again(value: Any) -> DecodedJson:
    """Encode a value of JSON's types, as far as that is possible."""
    try:
        return DecodedJson(value, _encode(value))
    except (msgspec.MsgspecError, OverflowError, RecursionError, ValueError):
        return DecodedJson(value, None)


def read_stream(chunk: DocumentText, source: str) -> Iterator[ReadJson | ManifestError]:
    """Read JSON documents in sequence; after an invalid one, resume at the next {."""
    text = chunk.content
    end = broken = 0
    while broken < MOST_BROKEN_DOCUMENTS and (found := _content(text, end)):
        start = found.start()
        try:
            decoded, end = _read_next(text, start)
        except (*DECODE_FAULTS, json.JSONDecodeError) as error:
            broken += 1
            at = _find_fault(error, text, start)
            yield _build_error(error, chunk, source, at)
            end = text.find("\n{", max(at, start + 1))
            if end < 0:
                end = len(text)
        else:
            yield decoded, DocumentText(text[start:end], chunk.line_at(start), chunk.start + start)
    if broken == MOST_BROKEN_DOCUMENTS:
        problem = f"{MOST_BROKEN_DOCUMENTS} invalid JSON documents: the rest is not read"
        yield ManifestError(source, chunk.line_at(end), problem)


def _read_next(text: str, start: int) -> tuple[DecodedJson, int]:
    """Read the document that starts at a character; return its value and its end."""
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    try:
        return decode_json(text[start:end].encode()), end  # one document in each line
    except DECODE_FAULTS:
        _, end = _scanner.raw_decode(text, start)
        return decode_json(text[start:end].encode()), end


def _find_fault(error: Exception, text: str, start: int) -> int:
    """Find the character of an error in the document that starts at a character."""
    if isinstance(error, json.JSONDecodeError):
        return error.pos
    found = _byte(str(error))
    if found is None:
        return start
    length = int(found[1])
    return start + len(text[start : start + length].encode()[:length].decode(errors="ignore"))


def _build_error(
    error: Exception, chunk: DocumentText, source: str, position: int
) -> ManifestError:
    if isinstance(error, RecursionError):
        problem = TOO_DEEP
    else:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        words = reason.removeprefix(_MALFORMED).removesuffix(" at").partition(" (byte ")[0]
        column = position - chunk.content.rfind("\n", 0, position)
        problem = f"{words.partition(' - at `')[0]} at column {column}"
    return ManifestError(source, chunk.line_at(position), f"invalid JSON: {problem}")


def _is_shallow(decoded: DecodedJson) -> bool:
    value, encoded = decoded
    if encoded is not None and encoded.count(b"[") + encoded.count(b"{") < MOST_LEVELS:
        return True  # most objects have fewer collections in all
    level = [value]
    for _ in range(MOST_LEVELS):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if is_object(outer) else outer)
            if inner.__class__ in _COLLECTIONS
        ]
        if not level:
            return True
    return False

"""
Field paths and the field errors of the API, worded as kube-apiserver words them.

Source: apimachinery pkg/util/validation/field errors.go and path.go.
"""

import json
from collections.abc import Iterable, Sequence

import msgspec

INVALID = "FieldValueInvalid"
REQUIRED = "FieldValueRequired"
NOT_SUPPORTED = "FieldValueNotSupported"
DUPLICATE = "FieldValueDuplicate"
FORBIDDEN = "FieldValueForbidden"
TOO_MANY = "FieldValueTooMany"

_GO_ESCAPES = {
    "\a": r"\a",
    "\b": r"\b",
    "\f": r"\f",
    "\n": r"\n",
    "\r": r"\r",
    "\t": r"\t",
    "\v": r"\v",
    "\\": r"\\",
    '"': r"\"",
}
_JSON_ESCAPES = {ord(each): f"\\u{ord(each):04x}" for each in "<>&\u2028\u2029"}
"""What Go escapes in JSON besides what everybody does: it may stand in HTML or JavaScript."""

_LAST_ASCII = 0x7F  # Go writes \xNN up to here, \uNNNN beyond
_LAST_OF_PLANE_0 = 0xFFFF  # Go writes \uNNNN up to here, \UNNNNNNNN beyond


class FieldError(msgspec.Struct, frozen=True, order=True, gc=False):
    """
    One thing that is wrong with one field.

    Attributes:
        field: Its path in the object, as ``spec.topologySpreadConstraints[0].maxSkew``.
        reason: One of the six reasons above.
        message: What is wrong, without the path, as in ``causes[].message`` of a Status.
    """

    field: str
    reason: str
    message: str

    def __str__(self) -> str:
        """Write path and message as kube-apiserver does."""
        return f"{self.field}: {self.message}"


def invalid(field: str, value: str | int, problem: str, *, named: bool = False) -> FieldError:
    """
    Say that a value is not allowed here, and why.

    Args:
        named: Whether the value has a named type in Go: such texts are written as JSON.
    """
    write = _marshal if named else quote
    shown = write(value) if isinstance(value, str) else str(value)
    return FieldError(field, INVALID, f"Invalid value: {shown}: {problem}")


def required(field: str, problem: str) -> FieldError:
    """Say that a value is missing."""
    return FieldError(field, REQUIRED, f"Required value: {problem}")


def not_supported(field: str, value: str, supported: Iterable[str]) -> FieldError:
    """Say that a value, of a named type in Go, is none of those there are."""
    names = ", ".join(quote(name) for name in supported)
    message = f"Unsupported value: {_marshal(value)}: supported values: {names}"
    return FieldError(field, NOT_SUPPORTED, message)


def duplicate(field: str, value: str) -> FieldError:
    """Say that a value stands in the list more than once."""
    return FieldError(field, DUPLICATE, f"Duplicate value: {quote(value)}")


def forbidden(field: str, problem: str) -> FieldError:
    """Say that a field must not be set here."""
    return FieldError(field, FORBIDDEN, f"Forbidden: {problem}")


def too_many(field: str, count: int, most: int) -> FieldError:
    """Say that a list is longer than it may be."""
    return FieldError(field, TOO_MANY, f"Too many: {count}: must have at most {most} items")


def aggregate(errors: Sequence[FieldError]) -> str:
    """
    Several errors as one text: one stands alone, more are ``[a, b]``, without repeats.

    Source: apimachinery pkg/util/errors ``aggregate.Error``.
    """
    texts = list(dict.fromkeys(str(error) for error in errors))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def quote(text: str) -> str:
    """
    Quote a text as Go's ``%q`` does.

    Source: Go strconv ``Quote``; what is printable is decided by the same Unicode categories.
    """
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{"".join(map(_escape, text))}"'


def _marshal(text: str) -> str:
    """Write a text as Go's ``json.Marshal`` does."""
    return json.dumps(text, ensure_ascii=False).translate(_JSON_ESCAPES)


def _escape(character: str) -> str:
    if character in _GO_ESCAPES:
        return _GO_ESCAPES[character]
    if character.isprintable():
        return character
    point = ord(character)
    if point <= _LAST_ASCII:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point <= _LAST_OF_PLANE_0 else f"\\U{point:08x}"

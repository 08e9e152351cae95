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

MOST_CAUSES = 100
"""Causes in one answer of a hook: nobody reads more, and 500 000 made an answer of 408 MB."""

LONGEST_VALUE = 256
"""Characters of a value in an answer of a hook; the longest valid label key has 317."""

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
    One thing that is wrong with one field; its words are written only when they are read.

    Attributes:
        field: Its path in the object, as ``spec.topologySpreadConstraints[0].maxSkew``.
        reason: One of the six reasons above.
        problem: What is wrong; empty for a duplicate.
        value: What the field holds; None for reasons that do not show it.
        named: Whether the value has a named type in Go: such texts are written as JSON.
    """

    field: str
    reason: str
    problem: str
    value: str | int | None = None
    named: bool = False

    @property
    def message(self) -> str:
        """What is wrong, without the path, as in ``causes[].message`` of a Status."""
        return self.words()

    def words(self, longest: int | None = None) -> str:
        """
        Write the message.

        Args:
            longest: Characters of the value to show; None shows all of them.
        """
        shown = "" if self.value is None else self._shown(self.value, longest)
        return ": ".join(filter(None, (_TITLES[self.reason], shown, self.problem)))

    def _shown(self, value: str | int, longest: int | None) -> str:
        if isinstance(value, int):
            return str(value)
        if longest is not None and len(value) > longest:
            value = f"{value[:longest]}..."
        return _marshal(value) if self.named else quote(value)

    def __str__(self) -> str:
        """Write path and message as kube-apiserver does."""
        return f"{self.field}: {self.message}"


_TITLES = {
    INVALID: "Invalid value",
    REQUIRED: "Required value",
    NOT_SUPPORTED: "Unsupported value",
    DUPLICATE: "Duplicate value",
    FORBIDDEN: "Forbidden",
    TOO_MANY: "Too many",
}
"""How the message of each reason begins."""


def invalid(field: str, value: str | int, problem: str, *, named: bool = False) -> FieldError:
    """
    Say that a value is not allowed here, and why.

    Args:
        named: Whether the value has a named type in Go: such texts are written as JSON.
    """
    return FieldError(field, INVALID, problem, value, named)


def required(field: str, problem: str) -> FieldError:
    """Say that a value is missing."""
    return FieldError(field, REQUIRED, problem)


def not_supported(field: str, value: str, supported: Iterable[str]) -> FieldError:
    """Say that a value, of a named type in Go, is none of those there are."""
    names = ", ".join(quote(name) for name in supported)
    return FieldError(field, NOT_SUPPORTED, f"supported values: {names}", value, named=True)


def duplicate(field: str, value: str) -> FieldError:
    """Say that a value stands in the list more than once."""
    return FieldError(field, DUPLICATE, "", value)


def forbidden(field: str, problem: str) -> FieldError:
    """Say that a field must not be set here."""
    return FieldError(field, FORBIDDEN, problem)


def too_many(field: str, count: int, most: int) -> FieldError:
    """Say that a list is longer than it may be."""
    return FieldError(field, TOO_MANY, f"must have at most {most} items", count)


def aggregate(errors: Sequence[FieldError]) -> str:
    """
    Several errors as one text: one stands alone, more are ``[a, b]``, without repeats.

    Source: apimachinery pkg/util/errors ``aggregate.Error``.
    """
    return _joined(map(str, errors))


def summarize(errors: Sequence[FieldError]) -> str:
    """Write errors as ``aggregate`` does, but at most ``MOST_CAUSES``, and of each value a part."""
    shown = (f"{error.field}: {error.words(LONGEST_VALUE)}" for error in errors[:MOST_CAUSES])
    left_out = len(errors) - MOST_CAUSES
    return _joined(shown) + (f" and at least {left_out} more" if left_out > 0 else "")


def _joined(sentences: Iterable[str]) -> str:
    texts = list(dict.fromkeys(sentences))
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

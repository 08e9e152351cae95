"""
The field errors of the API, in the exact wording of kube-apiserver.

The functions named for a reason (``invalid``, ``required``, ...) build errors; ``aggregate`` and
``summarize`` format them. No rule is in this module.

Source: apimachinery pkg/util/validation/field errors.go and path.go.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from webhook.policy.escape import quote

INVALID = "FieldValueInvalid"
REQUIRED = "FieldValueRequired"
NOT_SUPPORTED = "FieldValueNotSupported"
DUPLICATE = "FieldValueDuplicate"
FORBIDDEN = "FieldValueForbidden"
TOO_MANY = "FieldValueTooMany"

UNPROCESSABLE = 422  # with reason Invalid, kube-apiserver's reply to field errors
BAD_REQUEST = 400  # with reason BadRequest, its reply to values of the wrong type

MOST_CAUSES = 100
"""Causes in one response of a hook; 500 000 causes would make a response of 408 MB."""

LONGEST_VALUE = 256
"""Characters of a value in a response of a hook; the longest valid label key has 317."""

_JSON_ESCAPES = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}
"""Characters that Go escapes beyond the JSON standard, for embedding in HTML or JavaScript."""


class FieldError(msgspec.Struct, frozen=True, order=True, gc=False):
    """
    An error about one field; its message is formatted only when it is read.

    Attributes:
        field: The path in the object, as ``spec.topologySpreadConstraints[0].maxSkew``.
        reason: One of the six constants above.
        problem: The description of the error; empty for a duplicate.
        value: The value of the field; None for reasons whose message omits it.
        named: Whether the value has a named type in Go; such texts are formatted as JSON.
    """

    field: str
    reason: str
    problem: str
    value: str | int | None = None
    named: bool = False

    @property
    def message(self) -> str:
        """The message without the path, as in ``causes[].message`` of a Status."""
        return self.words()

    def words(self, longest: int | None = None) -> str:
        """Format the message with at most ``longest`` characters of the value; None shows all."""
        shown = "" if self.value is None else self._format_value(self.value, longest)
        return ": ".join(filter(None, (_TITLES[self.reason], shown, self.problem)))

    def _format_value(self, value: str | int, longest: int | None) -> str:
        if isinstance(value, int):
            return str(value)
        if longest is not None and len(value) > longest:
            value = f"{value[:longest]}..."
        if self.named:
            return format_object(value)
        return quote(value)

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


_TITLES = {
    INVALID: "Invalid value",
    REQUIRED: "Required value",
    NOT_SUPPORTED: "Unsupported value",
    DUPLICATE: "Duplicate value",
    FORBIDDEN: "Forbidden",
    TOO_MANY: "Too many",
}
"""Reason -> the beginning of its message."""


def invalid(field: str, value: str | int, problem: str, *, named: bool = False) -> FieldError:
    """Report a value that is not allowed."""
    return FieldError(field, INVALID, problem, value, named)


def required(field: str, problem: str) -> FieldError:
    """Report a missing value."""
    return FieldError(field, REQUIRED, problem)


def not_supported(field: str, value: str, supported: Iterable[str]) -> FieldError:
    """Report a value, of a named type in Go, that is not among the supported ones."""
    names = ", ".join(quote(name) for name in supported)
    return FieldError(field, NOT_SUPPORTED, f"supported values: {names}", value, named=True)


def duplicate(field: str, value: str) -> FieldError:
    """Report a value that occurs in a list more than once."""
    return FieldError(field, DUPLICATE, "", value)


def forbidden(field: str, problem: str) -> FieldError:
    """Report a field that must not be set."""
    return FieldError(field, FORBIDDEN, problem)


def too_many(field: str, count: int, most: int) -> FieldError:
    """Report a list that is too long."""
    return FieldError(field, TOO_MANY, f"must have at most {most} items", count)


def format_object(value: Any) -> str:
    """Format a value of JSON's types as Go's ``json.Marshal`` does."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text.translate(_JSON_ESCAPES)


def aggregate(errors: Sequence[FieldError]) -> str:
    """
    Format errors as one text: a single error alone, several as ``[a, b]``, without duplicates.

    Source: apimachinery pkg/util/errors ``aggregate.Error``.
    """
    return _join(map(str, errors))


def summarize(errors: Sequence[FieldError]) -> str:
    """Format errors as ``aggregate`` does, but at most ``MOST_CAUSES``, with shortened values."""
    shown = (f"{error.field}: {error.words(LONGEST_VALUE)}" for error in errors[:MOST_CAUSES])
    left_out = len(errors) - MOST_CAUSES
    return _join(shown) + (f" and at least {left_out} more" if left_out > 0 else "")


def _join(sentences: Iterable[str]) -> str:
    texts = list(dict.fromkeys(sentences))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"

"""An independent reading of JSON, with Python's json module, and of the values in it."""

import json
from collections.abc import Iterable
from typing import Any


class AmbiguousError(Exception):
    """Readers of JSON may differ about the text, and none of them is wrong."""


def read(data: bytes) -> Any:
    """
    Read a text that all readers understand alike.

    Raises:
        AmbiguousError: A key is duplicate or no Unicode, or a number is out of range.
        ValueError: It is no JSON.
        RecursionError: It is too deep for this reader.
    """
    return json.loads(
        data.decode("utf-8"),
        object_pairs_hook=_unique,
        parse_constant=_constant,
        parse_int=_whole,
        parse_float=_fraction,
    )


def _unique(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    written = list(pairs)
    found = dict(written)
    if len(found) != len(written):
        raise AmbiguousError("a duplicate key")
    for key, value in written:
        for text in (key, value):
            if isinstance(text, str) and not text.isascii() and _has_surrogate(text):
                raise AmbiguousError("half of a surrogate pair")
    return found


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _whole(digits: str) -> int:
    if len(digits) > len("-9223372036854775808"):
        raise AmbiguousError("an integer of more than 64 bits")
    return int(digits)


def _fraction(digits: str) -> float:
    number = float(digits)
    if number.is_integer() or abs(number) == float("inf"):
        raise AmbiguousError("1.0 is an integer for some readers")
    return number


def member(value: Any, *path: str | int) -> Any:
    """Return the value at a path of names and indexes; None if there is none."""
    for step in path:
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and step < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value

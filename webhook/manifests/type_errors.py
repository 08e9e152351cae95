"""What is wrong with the type of a value in a document, and where, in words for people."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from webhook.policy.paths import FieldPath, is_object

_WORDS = {
    "str": "a string",
    "int": "an integer",
    "float": "a number",
    "bool": "a boolean",
    "object": "an object",
    "array": "a list",
}

_parts = re.compile(r"(.*?)(?: - at `\$(.*)`)?", re.DOTALL).fullmatch
_steps = re.compile(r"\.([^.\[]+)|\[([0-9]+)\]").finditer
_quoted = re.compile(r"`(.*?)(?: \| null)?`").sub
_SOME_KEY = "[...]"  # what msgspec writes for a key of a mapping


class TypeMismatch(NamedTuple):
    """
    A value of the wrong type.

    Attributes:
        problem: What was expected and what is there, as ``expected an integer, got a string``.
        path: Where.
    """

    problem: str
    path: FieldPath


def find_type_mismatch(error: msgspec.ValidationError, value: Any) -> TypeMismatch:
    """
    Read what msgspec says when a value does not fit a type.

    Args:
        error: What it raised.
        value: What it was given, which tells the keys that it leaves out.
    """
    found = _parts(str(error))
    said, where = found.groups() if found else (str(error), None)
    problem = _quoted(lambda word: _WORDS.get(word[1], word[1]), said)
    return TypeMismatch(f"{problem[:1].lower()}{problem[1:]}", tuple(_path(where or "", value)))


def _path(where: str, value: Any) -> Iterator[str | int]:
    shown, some_key, _ = where.partition(_SOME_KEY)
    for step in _steps(shown):
        member = step[1] if step[1] is not None else int(step[2])
        yield member
        value = value[member]
    if some_key and is_object(value):
        yield next(key for key, inner in value.items() if not isinstance(inner, str | None))

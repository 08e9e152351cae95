"""Messages about values of the wrong type, from the errors of msgspec."""

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

_steps = re.compile(r"\.([^.\[]+)|\[([0-9]+)\]").finditer
_quoted = re.compile(r"`(.*?)(?: \| null)?`").sub
_SOME_KEY = "[...]"  # what msgspec writes for a key of a mapping


class TypeMismatch(NamedTuple):
    """A value of the wrong type, as ``expected an integer, got a string``, and its path."""

    problem: str
    path: FieldPath


def find_type_mismatch(error: msgspec.ValidationError, value: Any) -> TypeMismatch:
    """Find the type and the path in an error of msgspec, which omits the keys of mappings."""
    message, _, where = str(error).partition(" - at `$")
    problem = _quoted(lambda word: _WORDS.get(word[1], word[1]), message)
    path = tuple(_parse_path(where.removesuffix("`"), value))
    return TypeMismatch(f"{problem[:1].lower()}{problem[1:]}", path)


def _parse_path(where: str, value: Any) -> Iterator[str | int]:
    shown, some_key, _ = where.partition(_SOME_KEY)
    for step in _steps(shown):
        member = step[1] if step[1] is not None else int(step[2])
        yield member
        value = value[member]
    if some_key and is_object(value):
        yield next(key for key, inner in value.items() if not isinstance(inner, str | None))

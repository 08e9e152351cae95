"""Messages about values of the wrong type, from the errors of msgspec."""

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from webhook.policy.paths import FieldPath, is_object, replace_value

_WORDS = {
    "str": "a string",
    "int": "an integer",
    "float": "a number",
    "bool": "a boolean",
    "object": "an object",
    "array": "a list",
}

MOST_MISMATCHES = 50  # of one object; a person corrects the first few and tries again

_steps = re.compile(r"\.([^.\[]+)|\[([0-9]+)\]").finditer
_quoted = re.compile(r"`(.*?)(?: \| null)?`").sub
_ticked = re.compile(r"`(.*?)`").finditer
_SOME_KEY = "[...]"  # what msgspec writes for a key of a mapping


class TypeMismatch(NamedTuple):
    """A value of the wrong type, as ``expected an integer, got a string``, and its path."""

    problem: str
    path: FieldPath


def find_type_mismatch(error: msgspec.ValidationError, value: Any) -> TypeMismatch:
    """
    Find the type and the path in an error of msgspec, which omits the keys of mappings.

    A model that raises an error itself ends its text with `` - in `` and the rest of the path,
    every step in backticks.
    """
    text, _, where = str(error).partition(" - at `$")
    message, _, rest = text.partition(" - in ")
    problem = _quoted(lambda word: _WORDS.get(word[1], word[1]), message)
    inside = (step[1] for step in _ticked(rest))
    path = (*_parse_path(where.removesuffix("`"), value), *inside)
    return TypeMismatch(f"{problem[:1].lower()}{problem[1:]}", path)


def find_type_mismatches(value: Any, decode: Callable[[Any], None]) -> list[TypeMismatch]:
    """
    Find the values of wrong types in a value, at most ``MOST_MISMATCHES``.

    Args:
        value: Of JSON's types; it stays unchanged.
        decode: Raises msgspec.ValidationError with the path of a value of a wrong type; accepts
            null in its place, as the model does.
    """
    return list(islice(_find_type_mismatches(value, decode), MOST_MISMATCHES))


def _find_type_mismatches(value: Any, decode: Callable[[Any], None]) -> Iterator[TypeMismatch]:
    found: set[FieldPath] = set()
    while True:
        try:
            decode(value)
        except msgspec.ValidationError as error:
            mismatch = find_type_mismatch(error, value)
            if mismatch.path in found:  # null is wrong here too
                return
            yield mismatch
            found.add(mismatch.path)
            value = replace_value(value, mismatch.path, None)  # msgspec reports one error at a time
        else:
            return


def _parse_path(where: str, value: Any) -> Iterator[str | int]:
    shown, some_key, _ = where.partition(_SOME_KEY)
    for step in _steps(shown):
        member = step[1] if step[1] is not None else int(step[2])
        yield member
        value = value[member]
    if some_key and is_object(value):
        wrong = [key for key, inner in value.items() if not isinstance(inner, str)]
        # null is wrong only if nothing else is, and a number only if no list is: mappings of
        # quantities accept both
        yield from sorted(wrong, key=lambda key: _rank_wrong(value[key]))[:1]


def _rank_wrong(value: Any) -> int:
    return 2 if value is None else 0 if isinstance(value, list | dict) else 1

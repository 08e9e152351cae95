"""
Error messages for configuration values: what the error is, and what to write instead.

``describe_failure`` translates an error of pydantic. Pydantic's own messages, written for
programmers, must never reach a user.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

from pydantic import AfterValidator, BaseModel

from webhook.policy.escape import printable
from webhook.policy.paths import FieldPath, format_path, is_object

T = TypeVar("T")

MISSING = "missing"

SHOWN_CHARS = 40  # characters of a value that a message repeats: enough to find it

_CLOSE = 0.7
"""
Minimum similarity, from 0 to 1, of a suggested word: three letters of ten may differ. Difflib's
default of 0.6 suggests unrelated words.
"""


class RefusalError(ValueError):
    """
    The problems that a model validator found; unlike a pydantic error, it can hold several.

    Attributes:
        problems: Path below the validated value, and a sentence without a final full stop.
    """

    def __init__(self, problems: Iterable[tuple[FieldPath, str]]) -> None:
        """Keep the problems; the message of the exception itself is never shown."""
        super().__init__("refused")
        self.problems = tuple(problems)


def refusal(problem: str, path: FieldPath = ()) -> RefusalError:
    """Create the exception for one problem."""
    return RefusalError([(path, problem)])


def refuse(problems: Iterable[tuple[FieldPath, str]]) -> None:
    """
    Reject a value if it has problems.

    Raises:
        RefusalError: There is at least one problem; contains all of them.
    """
    if found := list(problems):
        raise RefusalError(found)


def refusing(find_problems: Callable[[T], Iterable[tuple[FieldPath, str]]]) -> AfterValidator:
    """Create the validator that refuses a value in which problems are found."""

    def check(value: T) -> T:
        refuse(find_problems(value))
        return value

    return AfterValidator(check)


@dataclass(frozen=True)
class ValidationFailure:
    """
    One validation error of pydantic.

    Attributes:
        path: Path of the error below the validated value.
        value: The value at that path.
        expected: The valid words, if the value must be one of several.
        line: Returns the line of a path below ``value``.
    """

    model: type[BaseModel]
    path: FieldPath
    value: Any
    expected: str
    line: Callable[[FieldPath], int]


def describe_failure(kind: str, failure: ValidationFailure) -> str:
    """Describe one pydantic error, whose ``type`` is ``kind``, in a sentence."""
    if kind in _SENTENCES:
        return _SENTENCES[kind].format(format_value(failure.value))
    return _DESCRIPTIONS[kind](failure)


def suggest_choice(value: object, known: Sequence[str]) -> str:
    """Describe a value that is not one of the valid ones, and suggest one."""
    return f"cannot be {format_value(value)}: {suggest_word(str(value), known)}"


def split_choices(expected: str) -> list[str]:
    """Extract the words from pydantic's text, such as ``'apply' or 'recommend'``."""
    return re.findall(r"'([^']*)'", expected)


def suggest_word(word: str, known: Sequence[str]) -> str:
    """Suggest the most similar known word, or list all of them."""
    *others, last = known
    either = f"{', '.join(others)} or {last}" if others else last
    return _suggest(word, known) or f"write {either}"


def _suggest(word: str, known: Sequence[str]) -> str:
    close = get_close_matches(word[: 2 * SHOWN_CHARS], known, 1, _CLOSE)
    return f"did you mean {close[0]}?" if close else ""


def format_value(value: object) -> str:
    """Format a value briefly, but recognisably."""
    match value:
        case bool():
            return "true" if value else "false"
        case None:
            return "null"
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case str():
            return f"'{_cut(value)}'"
        case _:
            return _cut(f"{value}")


def find_repeated_names(names: Iterable[str | None], kind: str) -> Iterator[tuple[FieldPath, str]]:
    """
    Find entries of a list whose name an earlier entry has.

    Args:
        names: Those of all entries; None for an entry without a readable name.
        kind: What they name.
    """
    seen = set[str]()
    for i, name in enumerate(names):
        if name is None:
            continue
        if name in seen:
            yield (
                (i, "name"),
                f"{format_value(name)} names an earlier {kind} too: write another name",
            )
        seen.add(name)


def format_place(path: FieldPath) -> str:
    """Format a path, such as ``profiles[0].defaultConstraints[1].maxSkew``."""
    return format_path(tuple(step if isinstance(step, int) else _cut(step) for step in path))


def _missing(failure: ValidationFailure) -> str:
    key, owner = failure.path[-1], _owner(failure.model, failure.path)
    examples = next(
        (field.examples for field in owner.model_fields.values() if field.alias == key), None
    )
    return f"is missing: write it, as `{key}: {(examples or ['...'])[0]}`"


def _unknown_key(failure: ValidationFailure) -> str:
    owner = _owner(failure.model, failure.path)
    key, known = str(failure.path[-1]), _keys_of(owner)
    hint = _suggest_below(key, owner) or _suggest(key, known) or f"keys here: {', '.join(known)}"
    return f"no such key: {hint}"


def _keys_of(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def _suggest_below(key: str, owner: type[BaseModel]) -> str:
    """Suggest the mappings of a model that have a key, which is written one level too high."""
    found = [
        f"{field.alias or name}.{key}"
        for name, field in owner.model_fields.items()
        for model in _mappings(field.annotation)
        if key in _keys_of(model)
    ]
    return f"did you mean {' or '.join(found)}?" if found else ""


def _mappings(annotation: Any) -> Iterator[type[BaseModel]]:
    """List the models of a value itself, without those of entries of lists."""
    if get_origin(annotation) in (Union, UnionType):
        for inner in get_args(annotation):
            yield from _mappings(inner)
    elif get_origin(annotation) is None:
        yield from _models(annotation)


def _not_a_choice(failure: ValidationFailure) -> str:
    return suggest_choice(failure.value, split_choices(failure.expected))


def _not_a_list(failure: ValidationFailure) -> str:
    problem = f"must be a list, not {format_value(failure.value)}"
    if not is_object(failure.value):
        return f"{problem}: write `- ` before each entry"
    key = next(iter(failure.value), None)
    if key is None:
        return f"{problem}: write []"
    first, line = _cut(key), failure.line((key,))
    return f"{problem}: a dash belongs before '{first}' in line {line}, as `- {first}:`"


def _not_a_text(failure: ValidationFailure) -> str:
    match failure.value:
        case bool():  # YAML reads yes, no, on, off and y as booleans
            hint = ": write the word in quotes"
        case int() | float():
            hint = f': write "{format_value(failure.value)}"'
        case _:
            hint = ""
    return f"must be a text, not {format_value(failure.value)}{hint}"


_NOT_WHOLE = "must be a whole number, not {}"
_NOT_32_BITS = "must fit in 32 bits, and {} does not"
_NOT_A_MAPPING = "must be a mapping, not {}: write keys with values, as `key: value`"

_SENTENCES: Mapping[str, str] = {
    "string_too_short": "is empty: write a name",
    "int_type": _NOT_WHOLE,
    "int_from_float": _NOT_WHOLE,
    "greater_than_equal": _NOT_32_BITS,
    "less_than_equal": _NOT_32_BITS,
    "bool_type": "must be true or false, not {}",
    "dict_type": _NOT_A_MAPPING,
    "model_type": _NOT_A_MAPPING,
}
"""Sentences about a value by pydantic error type."""

_DESCRIPTIONS: Mapping[str, Callable[[ValidationFailure], str]] = {
    MISSING: _missing,
    "extra_forbidden": _unknown_key,
    "enum": _not_a_choice,
    "literal_error": _not_a_choice,
    "tuple_type": _not_a_list,
    "string_type": _not_a_text,
}
"""Functions by pydantic error type, for all other types that the models cause."""


def _cut(text: str | int) -> str:
    """Shorten a text, and escape unprintable characters."""
    text = str(text)
    return printable(text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}...")


def _owner(model: type[BaseModel], path: FieldPath) -> type[BaseModel]:
    """Follow a path to the model that has its last key, or lacks it."""
    for step in path[:-1]:
        field = next((f for f in model.model_fields.values() if f.alias == step), None)
        model = next(_models(field.annotation), model) if field else model
    return model


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)

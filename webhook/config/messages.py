"""
Error messages for configuration values: what the error is, and what to write instead.

``describe_failure`` translates an error of pydantic. Pydantic's own messages, written for
programmers, must never reach a user.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple, get_args

from pydantic import BaseModel

from webhook.policy.paths import FieldPath, format_path, is_object

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


class ValidationFailure(NamedTuple):
    """
    One validation error of pydantic.

    Attributes:
        model: The validated model.
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


def describe_failure(kind: str, mistake: ValidationFailure) -> str:
    """
    Describe one pydantic error in a sentence.

    Args:
        kind: Its ``type``.
        mistake: Its details.
    """
    return _SENTENCES[kind](mistake)


def suggest_choice(value: object, known: Sequence[str]) -> str:
    """Describe a value that is not one of the valid ones, and suggest one."""
    return f"cannot be {format_value(value)}: {suggest_word(str(value), known)}"


def split_choices(expected: str) -> list[str]:
    """Extract the words from pydantic's text, such as ``'apply' or 'recommend'``."""
    return re.findall(r"'([^']*)'", expected)


def suggest_word(word: str, known: Sequence[str]) -> str:
    """Suggest the most similar known word, or list all of them."""
    close = get_close_matches(word[: 2 * SHOWN_CHARS], known, 1, _CLOSE)
    return f"did you mean {close[0]}?" if close else f"write {_either(known)}"


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


def format_place(path: FieldPath) -> str:
    """Format a path, such as ``profiles[0].defaultConstraints[1].maxSkew``."""
    return format_path(tuple(step if isinstance(step, int) else _cut(step) for step in path))


def _missing(mistake: ValidationFailure) -> str:
    key, owner = mistake.path[-1], _owner(mistake.model, mistake.path)
    examples = next(
        (field.examples for field in owner.model_fields.values() if field.alias == key), None
    )
    return f"is missing: write it, as `{key}: {(examples or ['...'])[0]}`"


def _unknown_key(mistake: ValidationFailure) -> str:
    owner = _owner(mistake.model, mistake.path)
    known = [field.alias or name for name, field in owner.model_fields.items()]
    close = get_close_matches(str(mistake.path[-1])[: 2 * SHOWN_CHARS], known, 1, _CLOSE)
    hint = f"did you mean {close[0]}?" if close else f"keys here: {', '.join(known)}"
    return f"no such key: {hint}"


def _not_a_choice(mistake: ValidationFailure) -> str:
    return suggest_choice(mistake.value, split_choices(mistake.expected))


def _not_a_list(mistake: ValidationFailure) -> str:
    if not is_object(mistake.value):
        return f"must be a list, not {format_value(mistake.value)}: write `- ` before each entry"
    for key in mistake.value:
        first, line = _cut(key), mistake.line((key,))
        dash = f"a dash belongs before '{first}' in line {line}, as `- {first}:`"
        return f"must be a list, not a mapping: {dash}"
    return "must be a list, not a mapping: write []"


def _not_a_mapping(mistake: ValidationFailure) -> str:
    problem = f"must be a mapping, not {format_value(mistake.value)}"
    return f"{problem}: write keys with values, as `key: value`"


def _not_a_text(mistake: ValidationFailure) -> str:
    match mistake.value:
        case bool():  # YAML reads yes, no, on, off and y as booleans
            hint = ": write the word in quotes"
        case int() | float():
            hint = f': write "{format_value(mistake.value)}"'
        case _:
            hint = ""
    return f"must be a text, not {format_value(mistake.value)}{hint}"


def _empty(_: ValidationFailure) -> str:
    return "is empty: write a name"


def _not_whole(mistake: ValidationFailure) -> str:
    return f"must be a whole number, not {format_value(mistake.value)}"


def _not_32_bits(mistake: ValidationFailure) -> str:
    return f"must fit in 32 bits, and {format_value(mistake.value)} does not"


def _not_a_bool(mistake: ValidationFailure) -> str:
    return f"must be true or false, not {format_value(mistake.value)}"


_SENTENCES: Mapping[str, Callable[[ValidationFailure], str]] = {
    MISSING: _missing,
    "extra_forbidden": _unknown_key,
    "enum": _not_a_choice,
    "literal_error": _not_a_choice,
    "tuple_type": _not_a_list,
    "string_type": _not_a_text,
    "string_too_short": _empty,
    "int_type": _not_whole,
    "int_from_float": _not_whole,
    "greater_than_equal": _not_32_bits,
    "less_than_equal": _not_32_bits,
    "bool_type": _not_a_bool,
    "dict_type": _not_a_mapping,
    "model_type": _not_a_mapping,
}
"""Functions by pydantic error type; the models cause no other types."""


def _cut(text: str | int) -> str:
    """Shorten a text, and escape unprintable characters as Python does."""
    text = str(text)
    kept = text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}..."
    return kept if kept.isprintable() else kept.encode("unicode_escape").decode()


def _either(split_choices: Sequence[str]) -> str:
    *others, last = split_choices
    return f"{', '.join(others)} or {last}" if others else last


def _owner(model: type[BaseModel], path: FieldPath) -> type[BaseModel]:
    """Follow a path to the model that has, or should have, its last key."""
    for step in path[:-1]:
        field = next((f for f in model.model_fields.values() if f.alias == step), None)
        model = next(_models(field.annotation), model) if field else model
    return model


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)

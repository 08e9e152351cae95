"""
Translate validation errors of pydantic: what the error is, and what to write instead.

``describe_failure`` is the entry point. Pydantic's own messages, written for programmers, must
never reach a user.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel

from webhook.config.messages import format_value, shorten, suggest_choice, suggest_similar
from webhook.policy.paths import FieldPath, is_object

MISSING = "missing"


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


def split_choices(expected: str) -> list[str]:
    """Extract the words from pydantic's text, such as ``'apply' or 'recommend'``."""
    return re.findall(r"'([^']*)'", expected)


def _missing(failure: ValidationFailure) -> str:
    key, owner = failure.path[-1], _owner(failure.model, failure.path)
    examples = next(
        (field.examples for field in owner.model_fields.values() if field.alias == key), None
    )
    return f"is missing: write it, as `{key}: {(examples or ['...'])[0]}`"


def _unknown_key(failure: ValidationFailure) -> str:
    owner = _owner(failure.model, failure.path)
    key, known = str(failure.path[-1]), _keys_of(owner)
    known_keys = f"keys here: {', '.join(known)}"
    return f"no such key: {_suggest_below(key, owner) or suggest_similar(key, known) or known_keys}"


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
    first, line = shorten(key), failure.line((key,))
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

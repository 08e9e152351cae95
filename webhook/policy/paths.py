"""
Paths into objects of JSON's types: one walker and two written forms.

``walk_path`` follows a path through a value. ``format_path`` and ``parse_path`` handle the field
path of kube-apiserver, which people read. ``format_pointer`` and ``parse_pointer`` handle JSON
Pointer, which patches contain. No other module joins or splits paths itself.

Source: apimachinery pkg/util/validation/field path.go; RFC 6901.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, TypeAlias, TypeGuard

FieldPath: TypeAlias = tuple[str | int, ...]
"""Member names and list indexes from an object to a value in it; empty for the object itself."""

TemplatePath: TypeAlias = tuple[str, ...]
"""The field path from an object to its pod template: names only; empty where it is the pod."""

CONSTRAINTS_IN_POD: TemplatePath = ("spec", "topologySpreadConstraints")
"""The field path from a pod, or a pod template, to its constraints."""

LIST_NAME = CONSTRAINTS_IN_POD[-1]
"""The name of every list of constraints, also in custom resources without a pod template."""

CACHED_PATHS = 64  # paths of constraint lists that stay formatted; there are five built-in ones

_ABSENT = object()  # in place of a value that does not exist; null is a value

_is_name = re.compile(r"[A-Za-z_]\w*").fullmatch
_step = re.compile(r"\.?([^.\[\]{}]+)|\[(\d+)\]").match


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether a value of JSON's types is an object."""
    return isinstance(value, dict)


def is_array(value: Any) -> TypeGuard[list[Any]]:
    """Whether a value of JSON's types is an array."""
    return isinstance(value, list)


def walk_path(value: Any, path: FieldPath) -> Iterator[Any]:
    """Yield a value, then the values along a path in it, as far as they exist."""
    yield value
    for step in path:
        value = _find_member(value, step)
        if value is _ABSENT:
            return
        yield value


def find_value(value: Any, path: FieldPath, default: Any = None) -> Any:
    """Find the value at the end of a path; ``default`` if the path does not exist."""
    for step in path:
        value = _find_member(value, step)
        if value is _ABSENT:
            return default
    return value


def _find_member(value: Any, step: str | int) -> Any:
    """Find a member of an object, or an item of an array; ``_ABSENT`` if there is none."""
    if is_object(value) and step in value:
        return value[str(step)]
    if is_array(value) and isinstance(step, int) and step < len(value):
        return value[step]
    return _ABSENT


def replace_value(value: Any, path: FieldPath, new: Any) -> Any:
    """Copy a value with another one at a path, which must exist; it shares the other parts."""
    if not path:
        return new
    copy: Any = dict(value) if is_object(value) else list(value)
    copy[path[0]] = replace_value(copy[path[0]], path[1:], new)
    return copy


def find_entry(field: str, list_path: str) -> int | None:
    """Find the index of the constraint in which a field is; None for any other field."""
    below = field.removeprefix(list_path)
    if below == field:
        return None
    match parse_path(below)[:1]:
        case (int(entry),):
            return entry
        case _:
            return None


def without_nulls(value: Any) -> Any:
    """Return a value without the members of its objects that are null, at any depth."""
    if is_object(value):
        return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [without_nulls(item) for item in value] if is_array(value) else value


def format_path(path: FieldPath) -> str:
    """Write a path as kube-apiserver does: ``spec.selector[x.io/y]``, ``spec.taints[0].key``."""
    steps = (f".{step}" if _is_name(str(step)) else f"[{step}]" for step in path)
    return "".join(steps).removeprefix(".")


def parse_path(field: str) -> FieldPath:
    """
    Read a path as kube-apiserver writes it.

    Returns:
        The steps before the first one that is neither a name nor an index: an error about two
        members names both in braces.
    """
    steps: list[str | int] = []
    position = 0
    while step := _step(field, position):
        steps.append(step[1] if step[2] is None else int(step[2]))
        position = step.end()
    return tuple(steps)


def is_constraint_list(place: FieldPath) -> bool:
    """Whether a path leads to a bare list of constraints, and not to a pod template."""
    return place[-1:] == (LIST_NAME,)


def constraints_path(place: FieldPath) -> FieldPath:
    """Return the path of the constraints, given that of a pod template, or of the bare list."""
    return place if is_constraint_list(place) else (*place, *CONSTRAINTS_IN_POD)


@lru_cache(CACHED_PATHS)
def constraints_field(place: FieldPath) -> str:
    """Write where an object holds the constraints of ``constraints_path``."""
    return format_path(constraints_path(place))


def format_pointer(path: Iterable[str | int]) -> str:
    """Write a path as a JSON Pointer."""
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path)


def parse_pointer(pointer: str) -> tuple[str, ...]:
    """Read a JSON Pointer; an index stays text, since only the value shows what is an index."""
    steps = pointer.split("/")[1:]
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in steps)

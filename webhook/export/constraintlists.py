"""
The lists of constraints in objects of a kind, as CEL expressions over all of them.

``in_all_lists`` is the entry point, and ``in_all_templates`` for conditions on labels too. A place
is a pattern of ``policy.places``: member names, and ``ENTRIES`` for the entries of a list.
"""

from collections.abc import Callable
from typing import TypeAlias

from webhook.policy.paths import (
    CONSTRAINTS_IN_POD,
    LIST_NAME,
    TemplatePath,
    is_constraint_list,
)
from webhook.policy.places import ENTRIES, format_pattern

_WriteValue: TypeAlias = Callable[[str, TemplatePath], str]

_LABELS = ("metadata", "labels")


def path_of_list(place: TemplatePath) -> TemplatePath:
    """Return the path of the constraints of a place: in a pod template, or a bare list."""
    return place if is_constraint_list(place) else (*place, *CONSTRAINTS_IN_POD)


def name_list(place: TemplatePath) -> str:
    """Write the path of the constraints as users do."""
    return format_pattern(path_of_list(place))


def in_all_lists(place: TemplatePath, condition: str) -> str:
    """
    Write that all lists of constraints at a place satisfy a condition.

    An absent list satisfies every condition. A value of a wrong type on the way is an error.

    Args:
        condition: CEL, in which ``items`` is the list.
    """

    def write(owner: str, path: TemplatePath) -> str:
        return f"[{_select(owner, path)}].all(items, {condition})"

    return _descend("object", path_of_list(place), "all", write)


def _descend(
    owner: str, path: TemplatePath, macro: str, write: _WriteValue, *, depth: int = 0
) -> str:
    """
    Write an expression over all values at a path.

    Args:
        macro: ``all`` or ``map``, for the entries of each list on the way.
        write: Writes the expression over one value, from its owner and the rest of the path.
    """
    if ENTRIES not in path:
        return write(owner, path)
    end = path.index(ENTRIES)
    entry = f"entry{depth}"
    inner = _descend(entry, path[end + 1 :], macro, write, depth=depth + 1)
    return f"{_select(owner, path[:end])}.{macro}({entry}, {inner})"


def in_all_templates(place: TemplatePath, condition: str) -> str:
    """
    Write that all pod templates at a place satisfy a condition.

    Args:
        condition: CEL, in which ``labels`` are the labels of the pods, and ``items`` is the list.
    """

    def write(owner: str, path: TemplatePath) -> str:
        items = _select(owner, (*path, *CONSTRAINTS_IN_POD))
        inner = f"[{items}].all(items, {condition})"
        return f"[{_select(owner, (*path, *_LABELS), '{}')}].all(labels, {inner})"

    return _descend("object", place, "all", write)


def read_lists(owner: str, place: TemplatePath) -> str:
    """Write all lists of constraints at a place, to compare an object with its predecessor."""
    return _descend(owner, path_of_list(place), "map", _select)


def read_templates(owner: str, place: TemplatePath) -> str:
    """Write all pod templates at a place, to compare an object with its predecessor."""
    if place:
        return _descend(owner, place, "map", _select)
    return f"[{owner}.?metadata.?labels, {owner}.?spec.?{LIST_NAME}]"


def _select(owner: str, path: TemplatePath, default: str = "[]") -> str:
    """Write the value at a path, or a default if a member on the way is absent."""
    if not path:
        return owner
    return f"{owner}{''.join(f'.?{name}' for name in path)}.orValue({default})"

"""
Changes of a document's value: what to write or remove, and which changes exclude each other.

``find_differences`` creates changes, ``apply_changes`` applies them. ``locate`` edits the text.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product, starmap, takewhile
from operator import eq
from typing import Any, NamedTuple, TypeAlias

import msgspec

from webhook.policy.paths import FieldPath, is_array, is_object


class Put(NamedTuple):
    """Write a member or an item; the index of a new item is the length of its list."""

    path: FieldPath
    value: Any


class Remove(NamedTuple):
    """Remove a member from its object, or an item from its list; it must exist."""

    path: FieldPath


class Move(NamedTuple):
    """Move a member and its value to another path, where nothing is written, or rename it."""

    path: FieldPath
    target: FieldPath
    value: Any

    @property
    def renames(self) -> bool:
        """Whether the member stays in its object."""
        return self.path[:-1] == self.target[:-1]


class Wrap(NamedTuple):
    """
    Replace a member by a new object with another name, whose only member it becomes.

    The object may be written as null, which it replaces.
    """

    path: FieldPath
    name: str
    value: Any

    @property
    def target(self) -> FieldPath:
        """Where the member is afterwards."""
        return (*self.path[:-1], self.name, self.path[-1])


Change: TypeAlias = Put | Remove | Move | Wrap


def shift(change: Change, outer: FieldPath) -> Change:
    """Return a change of an object as the change of the value that has the object at a path."""
    path = (*outer, *change.path)
    if isinstance(change, Move):
        return Move(path, (*outer, *change.target), change.value)
    return change._replace(path=path)


@dataclass(frozen=True)
class FixObstacle:
    """The reason why a finding is not fixed; the report shows it after ``left:``."""

    reason: str


Identity: TypeAlias = tuple[FieldPath, bytes]


def identity(change: Change) -> Identity:
    """Return a hashable key of a change; equal only for equal changes of a document."""
    if isinstance(change, Remove):
        return change.path, b""
    return change.path, _encode((type(change).__name__, *change[1:]))


_encode = msgspec.json.Encoder().encode

Solution: TypeAlias = tuple[Change, ...] | FixObstacle
"""The changes that fix a finding, or the reason why none do."""


def apply_changes(changes: Iterable[Change], value: Any) -> Any:
    """
    Apply changes to a value.

    Args:
        changes: Their paths are those of the unchanged value, also beside items that are removed.
        value: Stays unchanged; the result shares unchanged parts with it.

    Raises:
        LookupError: A path does not exist.
    """
    changes = [part for change in changes for part in _parts(change)]
    for change in changes:
        if isinstance(change, Put):
            value = _apply_change(value, change.path, change)
    # Removals come last, and later items first, so that no removal moves an index still needed.
    removed = {change.path for change in changes if isinstance(change, Remove)}
    for path in sorted(removed, key=_last_index_first, reverse=True):
        value = _apply_change(value, path, Remove(path))
    return value


def _last_index_first(path: FieldPath) -> list[tuple[int, str]]:
    return [(step, "") if isinstance(step, int) else (-1, step) for step in path]


def _apply_change(value: Any, path: FieldPath, change: Put | Remove) -> Any:
    if not path:
        assert isinstance(change, Put), "a document cannot be removed from itself"
        return change.value
    step, *rest = path
    if is_object(value):
        copy: Any = dict(value)
    elif is_array(value):
        copy = [*value, None] if step == len(value) and isinstance(change, Put) else list(value)
    else:
        raise LookupError(path)
    if not rest and isinstance(change, Remove):
        del copy[step]
    else:
        inner = copy[step] if rest else None
        copy[step] = _apply_change(inner, tuple(rest), change)
    return copy


def find_differences(path: FieldPath, before: Any, after: Any) -> Iterator[Put | Remove]:
    """Find the smallest changes that turn one value at a path of the document into another."""
    # An empty collection replaces the whole: removing all members leaves no place to edit. Several
    # members of an empty one would all be written at one place.
    if before in ({}, []) and type(before) is type(after) and len(after) > 1:
        yield Put(path, after)
    elif is_object(before) and is_object(after) and (after or not before):
        yield from _member_differences(path, before, after)
    elif is_array(before) and is_array(after) and (after or not before):
        yield from _item_differences(path, before, after)
    elif type(before) is not type(after) or before != after:
        yield Put(path, after)


def _member_differences(
    path: FieldPath, before: dict[str, Any], after: dict[str, Any]
) -> Iterator[Put | Remove]:
    for key, value in before.items():
        if key in after:
            yield from find_differences((*path, key), value, after[key])
        else:
            yield Remove((*path, key))
    yield from (Put((*path, key), value) for key, value in after.items() if key not in before)


def _item_differences(
    path: FieldPath, before: list[Any], after: list[Any]
) -> Iterator[Put | Remove]:
    """Compare the items between the equal beginnings and the equal ends of two lists."""
    first = _count_equal(before, after)
    last = min(_count_equal(before[::-1], after[::-1]), min(len(before), len(after)) - first)
    old, new = before[first : len(before) - last], after[first : len(after) - last]
    if last and len(new) > len(old):  # a change can append an item, but not insert one
        yield Put(path, after)
        return
    for index, (was, becomes) in enumerate(zip(old, new, strict=False), start=first):
        yield from find_differences((*path, index), was, becomes)
    yield from (Remove((*path, first + index)) for index in range(len(new), len(old)))
    yield from (Put((*path, first + index), new[index]) for index in range(len(old), len(new)))


def _count_equal(before: list[Any], after: list[Any]) -> int:
    """Count the equal items at the beginning of two lists."""
    return sum(takewhile(bool, map(eq, before, after)))


def conflict(one: Change, other: Change) -> bool:
    """
    Whether two changes of one document cannot both be applied.

    Two equal changes conflict only if they remove an item of a list. A move, and a wrap, conflict
    where their removal or their new member would. Two other, different changes conflict
    if the path of one is inside the path of the other, if one removes a member and the other
    changes the same parent, or if one removes an item of a list and the other changes something in
    this list, because the later indexes shift.
    """
    if one == other:
        return _list_of(one) is not None
    if isinstance(one, Move | Wrap) or isinstance(other, Move | Wrap):
        return any(starmap(conflict, product(_parts(one), _parts(other))))
    removes = isinstance(one, Remove) or isinstance(other, Remove)
    if removes and one.path[:-1] == other.path[:-1]:
        return True
    shorter, longer = sorted((one.path, other.path), key=len)
    if longer[: len(shorter)] == shorter:
        return True
    lists = [(_list_of(one), other.path), (_list_of(other), one.path)]
    return any(at is not None and path[: len(at)] == at for at, path in lists)


def _parts(change: Change) -> tuple[Put | Remove, ...]:
    """Replace a move or a wrap by what it writes and what it removes."""
    match change:
        case Move(path, target, value):
            return Put(target, value), Remove(path)
        case Wrap(path, name, value):
            return Put((*path[:-1], name), {str(path[-1]): value}), Remove(path)
        case _:
            return (change,)


def _list_of(change: Change) -> FieldPath | None:
    """Return the path of the list that a change removes an item from."""
    removes_item = isinstance(change, Remove) and isinstance(change.path[-1], int)
    return change.path[:-1] if removes_item else None

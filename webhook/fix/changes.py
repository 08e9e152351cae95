"""What is to be changed in the value of a document; how its text is edited is not here."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

import msgspec

from webhook.manifests import is_array, is_object
from webhook.policy.paths import FieldPath


class Put(NamedTuple):
    """
    Give a member or an item a value, whether it is there or not.

    Attributes:
        path: From the document to it; an index may be one past the end of its list.
    """

    path: FieldPath
    value: Any


class Remove(NamedTuple):
    """Take a member out of its object, or an item out of its list; it has to be there."""

    path: FieldPath


Change: TypeAlias = Put | Remove


class FixObstacle(NamedTuple):
    """Why something cannot be changed; words that go on after ``left:``."""

    reason: str


Identity: TypeAlias = tuple[FieldPath, bytes]


def identity(change: Change) -> Identity:
    """What tells one change of a document from another; it can be hashed."""
    return change.path, _encode(change.value) if isinstance(change, Put) else b""


_encode = msgspec.json.Encoder().encode

Solution: TypeAlias = tuple[Change, ...] | FixObstacle
"""What mends a finding, or why nothing does."""


def apply_changes(changes: Iterable[Change], value: Any) -> Any:
    """
    Make the value in which everything is changed.

    Args:
        changes: Their paths are those of the value as it is, also beside items that are removed.
        value: Stays as it is; the result shares with it what does not change.

    Raises:
        LookupError: Some path leads nowhere.
    """
    asked = list(changes)
    for change in asked:
        if isinstance(change, Put):
            value = _changed(value, change.path, change)
    removed = {change.path for change in asked if isinstance(change, Remove)}
    for path in sorted(removed, key=_last_index_first, reverse=True):
        value = _changed(value, path, Remove(path))
    return value


def _last_index_first(path: FieldPath) -> list[tuple[int, str]]:
    return [(step, "") if isinstance(step, int) else (-1, step) for step in path]


def _changed(value: Any, path: FieldPath, change: Change) -> Any:
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
        copy[step] = _changed(inner, tuple(rest), change)
    return copy


def find_differences(path: FieldPath, before: Any, after: Any) -> Iterator[Change]:
    """
    Find the smallest changes that make one value of another.

    Args:
        path: Where it stands.
        before: As it is.
        after: As it shall be.
    """
    if is_object(before) and is_object(after) and (after or not before):
        yield from _of_members(path, before, after)
    elif is_array(before) and is_array(after) and (after or not before):
        yield from _of_items(path, before, after)
    elif type(before) is not type(after) or before != after:
        yield Put(path, after)


def _of_members(path: FieldPath, before: dict[str, Any], after: dict[str, Any]) -> Iterator[Change]:
    for key, value in before.items():
        if key in after:
            yield from find_differences((*path, key), value, after[key])
        else:
            yield Remove((*path, key))
    yield from (Put((*path, key), value) for key, value in after.items() if key not in before)


def _of_items(path: FieldPath, before: list[Any], after: list[Any]) -> Iterator[Change]:
    """Compare what stands between equal beginnings and equal ends."""
    first = _equal(before, after)
    last = min(_equal(before[::-1], after[::-1]), min(len(before), len(after)) - first)
    old, new = before[first : len(before) - last], after[first : len(after) - last]
    if last and len(new) > len(old):
        yield Put(path, after)
        return
    for index, (was, becomes) in enumerate(zip(old, new, strict=False), start=first):
        yield from find_differences((*path, index), was, becomes)
    yield from (Remove((*path, first + index)) for index in range(len(new), len(old)))
    yield from (Put((*path, first + index), new[index]) for index in range(len(old), len(new)))


def _equal(before: list[Any], after: list[Any]) -> int:
    """How many items two lists have in common at their beginning."""
    pairs = zip(before, after, strict=False)
    return next(
        (index for index, (was, becomes) in enumerate(pairs) if was != becomes),
        min(len(before), len(after)),
    )


def conflict(one: Change, other: Change) -> bool:
    """
    Whether two changes of one document cannot be made together.

    Equal ones can. Others cannot if one is about a part of the other, if one removes something from
    where the other one removes or writes something, too, or if an item is removed from a list that
    the other one is about: whoever asked for it counted the items.
    """
    if one == other:
        return _list_of(one) is not None
    removes = isinstance(one, Remove) or isinstance(other, Remove)
    if removes and one.path[:-1] == other.path[:-1]:
        return True
    shorter, longer = sorted((one.path, other.path), key=len)
    if longer[: len(shorter)] == shorter:
        return True
    lists = [(_list_of(one), other.path), (_list_of(other), one.path)]
    return any(at is not None and path[: len(at)] == at for at, path in lists)


def _list_of(change: Change) -> FieldPath | None:
    """The list that an item is removed from."""
    if isinstance(change, Remove) and isinstance(change.path[-1], int):
        return change.path[:-1]
    return None

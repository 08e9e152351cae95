"""Application of our own JSON Patches, to show their result; not for patches of other programs."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from webhook.policy.paths import is_array, is_object, parse_pointer

_END = "-"  # of a list, RFC 6901


def apply_patch(value: Any, operations: Iterable[Mapping[str, Any]]) -> Any:
    """
    Apply a JSON Patch.

    Args:
        value: The object; it is not modified, and shares unchanged parts with the result.
        operations: ``add`` and ``remove``, the only operations of our patches.

    Raises:
        LookupError: The path of an operation does not exist.

    Source: RFC 6902.
    """
    for operation in operations:
        steps = parse_pointer(operation["path"])
        value = _changed(value, steps, operation)
    return value


def _changed(value: Any, steps: Sequence[str], operation: Mapping[str, Any]) -> Any:
    if is_object(value):
        return _with_member(value, steps, operation)
    if is_array(value):
        return _with_item(value, steps, operation)
    raise LookupError(operation["path"])


def _with_item(value: list[Any], steps: Sequence[str], operation: Mapping[str, Any]) -> list[Any]:
    items = list(value)
    step, *rest = steps
    index = len(items) if step == _END else int(step)
    if rest:
        items[index] = _changed(items[index], rest, operation)
    elif operation["op"] == "add":
        items.insert(index, operation["value"])
    else:
        del items[index]
    return items


def _with_member(
    value: dict[str, Any], steps: Sequence[str], operation: Mapping[str, Any]
) -> dict[str, Any]:
    members = dict(value)
    step, *rest = steps
    if rest:
        members[step] = _changed(members[step], rest, operation)
    elif operation["op"] == "add":
        members[step] = operation["value"]
    else:
        del members[step]
    return members

"""
Application of our own JSON Patches, to show their result; not for patches of other programs.

The patches are built in ``webhook.policy.patch``.
"""

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
    step, *rest = steps
    copy: Any
    key: Any
    if is_array(value):
        copy, key = list(value), len(value) if step == _END else int(step)
    elif is_object(value):
        copy, key = dict(value), step
    else:
        raise LookupError(operation["path"])
    if rest:
        copy[key] = _changed(copy[key], rest, operation)
    elif operation["op"] == "remove":
        del copy[key]
    elif is_array(copy):
        copy.insert(key, operation["value"])
    else:
        copy[key] = operation["value"]
    return copy

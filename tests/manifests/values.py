"""All values in a value, with their paths."""

from typing import Any

from webhook.policy.paths import FieldPath, is_array, is_object


def walk(value: Any, path: FieldPath = ()) -> list[tuple[FieldPath, Any]]:
    """A value, and all values in it, each with its path."""
    members: list[tuple[str | int, Any]] = []
    if is_object(value):
        members += value.items()
    elif is_array(value):
        members += enumerate(value)
    inner = [found for step, held in members for found in walk(held, (*path, step))]
    return [(path, value), *inner]

"""
JSON Patch: the few operations that an answer may contain, none of which can fail to apply.

A patch that does not apply is an error 500 for the user even under ``failurePolicy: Ignore``. So
only three things are said: ``add`` of a member whose parent was seen or is added whole, ``add`` at
the end of a list that was seen, and ``remove`` of what was seen. ``add`` replaces what is there.

Source: RFC 6901, RFC 6902.
"""

import msgspec


class Operation(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """
    One step of a JSON Patch.

    Attributes:
        op: ``add`` or ``remove``.
        path: A JSON pointer.
        value: What to add; left out of a ``remove``.
    """

    op: str
    path: str
    value: object = msgspec.UNSET


def add(path: str, value: object) -> Operation:
    """Add a member or an element, or replace the member that is there."""
    return Operation("add", path, value)


def remove(path: str) -> Operation:
    """Remove what was seen at a path."""
    return Operation("remove", path)

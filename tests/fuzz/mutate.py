"""
Changes of an input that keep its structure: of a JSON value, or of lines.

A fuzzer that changes bytes seldom makes valid JSON, so half of all changes are made here.
``mutate`` is the entry point.
"""

import json
import random
from collections.abc import Callable
from typing import Any, TypeAlias

Chooser: TypeAlias = random.Random

SCALARS: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**31, -(2**31) - 1, 2**63, 2**64, 1.5, 1e300, 10**30, "", "a",
    "0", "web", "shop", "Pod", "UPDATE", "DoNotSchedule", "ScheduleAnyway", "Honor", "In",
    "NotIn", "Exists", "kubernetes.io/hostname", "app", "\u0000", "\u2028", "\U0001f600",
    "\x1b[2J", "x" * 300,
)  # fmt: skip


def mutate(data: bytes, most: int, seed: int) -> bytes | None:
    """Change one place of an input; None if it has no structure, or no change fits."""
    choose = random.Random(seed)
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        changed = _change_lines(data, choose)
    else:
        changed = _dump(_change_value(value, choose))
    return changed if changed and len(changed) <= most else None


def _dump(value: Any) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except (RecursionError, UnicodeError):
        return b""


def _change_value(value: Any, choose: Chooser) -> Any:
    holders = list(_holders(value))
    if not holders:
        return choose.choice(SCALARS)
    holder, key = choose.choice(holders)
    choose.choice(_CHANGES)(holder, key, choose, holders)
    return value


def _holders(value: Any) -> list[tuple[Any, Any]]:
    """List every place in a value: an object or array, with a key or an index."""
    found: list[tuple[Any, Any]] = []
    pending = [value] if isinstance(value, dict | list) else []
    while pending:
        outer = pending.pop()
        keys: Any = outer if isinstance(outer, dict) else range(len(outer))
        for key in keys:
            found.append((outer, key))
            if isinstance(outer[key], dict | list) and outer[key]:
                pending.append(outer[key])
    return found


Change: TypeAlias = Callable[[Any, Any, Chooser, list[tuple[Any, Any]]], None]


def _replace(holder: Any, key: Any, choose: Chooser, _: object) -> None:
    holder[key] = choose.choice(SCALARS)


def _remove(holder: Any, key: Any, _choose: Chooser, _: object) -> None:
    del holder[key]


def _copy(holder: Any, key: Any, choose: Chooser, holders: list[tuple[Any, Any]]) -> None:
    other, place = choose.choice(holders)
    holder[key] = json.loads(json.dumps(other[place]))


def _rename(holder: Any, key: Any, choose: Chooser, holders: list[tuple[Any, Any]]) -> None:
    names = [name for _, name in holders if isinstance(name, str)]
    if isinstance(holder, dict) and names:
        holder[choose.choice(names)] = holder.pop(key)


def _repeat(holder: Any, key: Any, choose: Chooser, _: object) -> None:
    if isinstance(holder, list):
        holder[key:key] = [holder[key]] * choose.choice((1, 2, 40))
    else:
        holder[f"{key}{choose.randrange(9)}"] = holder[key]


def _wrap(holder: Any, key: Any, choose: Chooser, _: object) -> None:
    for _ in range(choose.choice((1, 2, 250))):
        holder[key] = [holder[key]] if choose.random() < 1 / 2 else {"a": holder[key]}


_CHANGES: tuple[Change, ...] = (_replace, _replace, _remove, _copy, _rename, _repeat, _wrap)


def _change_lines(data: bytes, choose: Chooser) -> bytes:
    lines = data.split(b"\n")
    at, other = choose.randrange(len(lines)), choose.randrange(len(lines))
    match choose.randrange(6):
        case 0:
            del lines[at]
        case 1:
            lines.insert(at, lines[other])
        case 2:
            lines[at], lines[other] = lines[other], lines[at]
        case 3:
            lines[at] = b"  " + lines[at]
        case 4:
            lines[at] = lines[at].removeprefix(b" ")
        case _:
            lines[at] = _change_inner(lines[at], choose)
    return b"\n".join(lines)


def _change_inner(line: bytes, choose: Chooser) -> bytes:
    """Change the value of one line: JSON in it, or what is behind its colon."""
    head, colon, tail = line.partition(b":")
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return head + colon + b" " + _dump(choose.choice(SCALARS)) if colon else line + tail
    return _dump(_change_value(value, choose))

"""
Decode JSON that is nested more deeply than msgspec's recursion can follow.

msgspec stops with ``RecursionError`` after several hundred levels; the number depends on the
version of Python. kube-apiserver stores ``managedFields`` 9 000 levels deep for any user who may
create a Service. evenspread reads nothing at that depth, so deeper values are replaced by null,
without recursion, and the rest is decoded.

Entry points: ``decode_nested``, and ``decoding`` for the same work in short steps. Ordinary JSON
costs nothing extra: the text is pruned only after a decoder has failed.
"""

import re
from collections.abc import Callable, Generator
from typing import TypeVar

import msgspec

T = TypeVar("T")

DEEPEST = 10_100
"""Levels allowed in a review: kube-apiserver accepts objects of 10 000, the review adds a few."""

KEPT_LEVELS = 200
"""Levels kept: a pod template and its path have 30, and Python 3.11 decodes about 900."""

STEP_TOKENS = 500  # in one step of ``pruning``: 0.1 ms, far less than a slice of the event loop

_tokens = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[{]+|[\]}]+', re.DOTALL).finditer
"""A string without its end is a token too, or each quote in it would be tried as the first."""

_OPENING = b"[{"
_QUOTE = ord('"')


class NestingError(msgspec.DecodeError):
    """A JSON text has more levels than allowed."""


def decode_nested(decode: Callable[[bytes | msgspec.Raw], T], data: bytes | msgspec.Raw) -> T:
    """
    Decode JSON of any depth.

    Args:
        decode: A decoder, which raises RecursionError if the text is too deep for it.

    Raises:
        msgspec.MsgspecError: As ``decode`` does.
    """
    try:
        return decode(data)
    except RecursionError:
        return decode(prune(bytes(data)))


def decoding(decode: Callable[[bytes | msgspec.Raw], T], data: bytes) -> Generator[None, None, T]:
    """Decode as ``decode_nested`` does, in short steps, and return the result."""
    try:
        return decode(data)
    except RecursionError:
        pruned = yield from pruning(data)
    return decode(pruned)


def prune(data: bytes | bytearray, deepest: int | None = None) -> bytes:
    """
    Replace every array and object below ``KEPT_LEVELS`` by null.

    Args:
        data: JSON. The result for other bytes is unspecified, and no decoder accepts it.
        deepest: The number of levels allowed; None allows any number.

    Raises:
        NestingError: The text has more than ``deepest`` levels.
    """
    return finish(pruning(data, deepest))


def finish(steps: Generator[None, None, T]) -> T:
    """Run all steps of a generator and return its result."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            result: T = done.value
            return result


def pruning(data: bytes | bytearray, deepest: int | None = None) -> Generator[None, None, bytes]:
    """Prune as ``prune`` does, in short steps, and return the result."""
    kept: list[bytes | bytearray] = []
    depth = begin = cut = 0
    for number, token in enumerate(_tokens(data)):
        if number % STEP_TOKENS == 0:
            yield
        start, end = token.span()
        if data[start] == _QUOTE:
            continue  # brackets inside a string do not nest
        before, length = depth, end - start
        if data[start] in _OPENING:
            depth += length
            if before <= KEPT_LEVELS < depth:  # a run of brackets may cross the limit
                cut = start + KEPT_LEVELS - before
            if deepest is not None and depth > deepest:
                raise NestingError(f"nested more than {deepest} levels deep")
        else:
            depth -= length
            if depth <= KEPT_LEVELS < before:
                kept += (data[begin:cut], b"null")
                begin = start + before - KEPT_LEVELS
    kept.append(data[begin:cut] if depth > KEPT_LEVELS else data[begin:])  # broken stays broken
    return b"".join(kept)

"""
Comparing an answer with what was expected of it; pure.

Each member is compared in its own way, which brings the answer into the form of the expectation:
what was not asked for is left out, what is met stands there as it was expected. So the two differ
in nothing but what is wrong.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from webhook.policy.paths import is_array, is_object
from webhook.spreadtest.results import Mismatch

View = Callable[[Any, Any], Any]
"""Of a member: what was answered, what was expected -> what was answered in its form."""


def compare(expected: Mapping[str, Any], answered: Mapping[str, Any]) -> Iterator[Mismatch]:
    """
    Find what was answered otherwise than expected.

    Args:
        expected: The written members of an ``Expectation``, of JSON's types.
        answered: All members of an ``Answer``, of JSON's types.
    """
    for member, view in VIEWS.items():
        if member not in expected:
            continue
        wanted, found = expected[member], view(answered[member], expected[member])
        if not _same(found, wanted):
            yield Mismatch(member, wanted, found)


def as_it_is(answered: Any, _expected: Any) -> Any:
    """All of it."""
    return answered


def in_any_order(answered: Sequence[str], expected: Sequence[str]) -> list[str]:
    """All of it: first what was expected, in the order of that."""
    met = [each for each in expected if each in answered]
    return met + [each for each in answered if each not in expected]


def fragment(answered: str, expected: str) -> str:
    """The text; of one that holds the expected part, that part."""
    return expected if expected in answered else answered


def fragments(answered: Sequence[str], expected: Sequence[str]) -> list[str]:
    """The texts, each as a fragment of the one that stands in its place."""
    met = [fragment(said, part) for said, part in zip(answered, expected, strict=False)]
    return met + list(answered[len(met) :])


def among_others(answered: Any, expected: Any) -> Any:
    """The expected members of a mapping, also in lists of the expected length."""
    if is_object(answered) and is_object(expected):
        return {
            key: among_others(answered[key], inner)
            for key, inner in expected.items()
            if key in answered
        }
    if is_array(answered) and is_array(expected) and len(answered) == len(expected):
        return [among_others(*pair) for pair in zip(answered, expected, strict=True)]
    return answered


VIEWS: Mapping[str, View] = {
    "verdict": as_it_is,
    "denied": in_any_order,
    "message": fragment,
    "warnings": fragments,
    "constraints": as_it_is,
    "injected": as_it_is,
    "skipped": as_it_is,
    "patch": as_it_is,
    "patched": among_others,
    "auditAnnotations": among_others,
}
"""Every member of an expectation, in the order in which differences are told."""


def _same(one: Any, other: Any) -> bool:
    """Whether two values are one in JSON, where unlike in Python true is not 1."""
    return _canonical(one) == _canonical(other)


def _canonical(value: Any) -> bytes:
    return msgspec.json.encode(value, order="deterministic")

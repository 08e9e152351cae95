"""Limits of rolling updates are computed as the deployment controller does."""

from typing import Any

import pytest

from webhook.policy.rolloutlimits import (
    DEFAULT_LIMITS,
    PodLimits,
    RolloutLimits,
    read_limits,
    scale,
)

# the limits as written, replicas, pods beyond them, and replicas that may be missing
RESOLVED: dict[str, tuple[Any, int, tuple[int, int]]] = {
    "the defaults round up and down": ({}, 3, (1, 0)),
    "the defaults of four replicas": ({}, 4, (1, 1)),
    "numbers": ({"maxSurge": 2, "maxUnavailable": 0}, 3, (2, 0)),
    "percentages": ({"maxSurge": "50%", "maxUnavailable": "34%"}, 5, (3, 1)),
    "a percentage that rounds to nothing lets one be missing": (
        {"maxSurge": 0, "maxUnavailable": "10%"}, 5, (0, 1)
    ),
    "no more can be missing than there are": ({"maxUnavailable": 9}, 3, (1, 3)),
    "no replicas": ({"maxSurge": 0}, 0, (0, 0)),
    "what is no limit has the default": ({"maxSurge": "x", "maxUnavailable": True}, 3, (1, 0)),
    "a negative number": ({"maxSurge": -1}, 3, (1, 0)),
    "nothing to read": (None, 3, (1, 0)),
}  # fmt: skip


@pytest.mark.parametrize(
    ("written", "replicas", "expected"), RESOLVED.values(), ids=RESOLVED.keys()
)
def test_limits(written: Any, replicas: int, expected: tuple[int, int]) -> None:
    assert read_limits(written).resolve(replicas) == expected


# the limits as written, whether there may be pods beyond the replicas
ADDING: dict[str, tuple[Any, bool]] = {
    "the default": ({}, True),
    "a number": ({"maxSurge": 1}, True),
    "a small percentage": ({"maxSurge": "1%"}, True),
    "no number": ({"maxSurge": 0}, False),
    "no percentage": ({"maxSurge": "0%"}, False),
}


@pytest.mark.parametrize(("written", "expected"), ADDING.values(), ids=ADDING.keys())
def test_whether_pods_are_added(written: Any, expected: bool) -> None:
    assert read_limits(written).adds_pods is expected


def test_numbers_in_words() -> None:
    assert str(PodLimits(1, 0)) == "maxSurge 1, maxUnavailable 0"


def test_a_percentage_of_argo_needs_no_sign() -> None:
    assert scale("25", 10) == 2
    assert read_limits({"maxSurge": "25"}) == RolloutLimits("25", DEFAULT_LIMITS.unavailable)

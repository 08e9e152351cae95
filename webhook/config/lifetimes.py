"""``--test-lifetimes``: how long certificates live in tests, which have no week to watch them."""

from datetime import timedelta

from webhook.config.durations import parse_duration
from webhook.config.sentences import refusal, suggestion

LIVES = ("leaf", "ca")
"""Whose life can be said: of what a replica serves, and of the authority that signs it."""


def parse_lives(text: str) -> dict[str, timedelta]:
    """
    Read lives as they stand in a flag, such as ``leaf=10s,ca=1h``.

    Returns:
        Those that are said, by the words of ``LIVES``; of nothing, none.

    Raises:
        RefusalError: It says something else.
    """
    return dict(map(_parse_life, text.split(","))) if text else {}


def _parse_life(item: str) -> tuple[str, timedelta]:
    name, _, written = item.strip().partition("=")
    if name not in LIVES:
        raise refusal(f"{name!r} has no life: {suggestion(name, LIVES)}, as in leaf=10s,ca=1h")
    life = parse_duration(written)
    if not life:
        raise refusal(f"{name} cannot live for {written!r}: write a duration, as in {name}=1h")
    return name, life

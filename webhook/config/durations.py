"""Parse durations such as ``10m``, ``1h30m``, ``500ms``, and the lifetimes of test certificates."""

import re
from datetime import timedelta

from webhook.config.messages import refusal, suggest_word

_UNITS = {"h": "hours", "m": "minutes", "s": "seconds", "ms": "milliseconds"}
_duration = re.compile(r"(?:\d{1,6}(?:\.\d{1,6})?(?:h|ms|m|s)){1,8}", re.ASCII).fullmatch
_parts = re.compile(r"([\d.]+)(h|ms|m|s)").findall


def parse_duration(text: str) -> timedelta | None:
    """
    Parse a duration.

    Returns:
        None if the text is not a duration.

    Source: Go time ``ParseDuration``, without signs and without units below a millisecond.
    """
    if not _duration(text):
        return None
    return sum((timedelta(**{_UNITS[unit]: float(n)}) for n, unit in _parts(text)), timedelta())


CERTIFICATE_TYPES = ("leaf", "ca")
"""Certificates with a configurable lifetime: the server certificate and its CA."""


def parse_lifetimes(text: str) -> dict[str, timedelta]:
    """
    Parse the lifetimes of test certificates, such as ``leaf=10s,ca=1h``.

    Returns:
        Lifetimes by certificate type; empty for an empty text.

    Raises:
        RefusalError: A certificate type or a duration is invalid.
    """
    return dict(map(_parse_lifetime, text.split(","))) if text else {}


def _parse_lifetime(item: str) -> tuple[str, timedelta]:
    name, _, written = item.strip().partition("=")
    if name not in CERTIFICATE_TYPES:
        known = suggest_word(name, CERTIFICATE_TYPES)
        raise refusal(f"{name!r} is no certificate: {known}, as in leaf=10s,ca=1h")
    lifetime = parse_duration(written)
    if not lifetime:
        raise refusal(f"{name} cannot last {written!r}: write a duration, as in {name}=1h")
    return name, lifetime

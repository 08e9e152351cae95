"""Durations as Kubernetes' files write them: ``10m``, ``1h30m``, ``500ms``."""

import re
from datetime import timedelta

_UNITS = {"h": "hours", "m": "minutes", "s": "seconds", "ms": "milliseconds"}
_duration = re.compile(r"(?:\d{1,6}(?:\.\d{1,6})?(?:h|ms|m|s))+", re.ASCII).fullmatch
_parts = re.compile(r"([\d.]+)(h|ms|m|s)").findall


def parse_duration(text: str) -> timedelta | None:
    """
    Read a duration.

    Returns:
        None if it is none.

    Source: Go time ``ParseDuration``, without signs and without units below a millisecond.
    """
    if not _duration(text):
        return None
    return sum((timedelta(**{_UNITS[unit]: float(n)}) for n, unit in _parts(text)), timedelta())

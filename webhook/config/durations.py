"""Parse durations such as ``10m``, ``1h30m``, ``500ms``."""

import re
from datetime import timedelta

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

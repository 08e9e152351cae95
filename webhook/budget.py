"""
How much time a call has: the ``?timeout`` that kube-apiserver puts into the URL.

Source: k8s.io/apiserver pkg/admission/plugin/webhook/mutating/dispatcher.go, Go time.ParseDuration.
"""

import re
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import parse_qs

_UNITS = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,  # U+00B5, micro sign
    "μs": 1e-6,  # U+03BC, Greek mu
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
}
_PART = r"([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)"
_part = re.compile(_PART)
_duration = re.compile(f"[-+]?(?:{_PART})+")

LONGEST_TEXT = 64  # characters; a duration of Go's never prints as more than 25
TARGETS = 64  # different request targets to remember; a cluster's API servers use two


class Target(NamedTuple):
    """
    What a request is for.

    Attributes:
        path: Without the query.
        timeout: Seconds after which the caller gives up; None if it does not say.
    """

    path: str
    timeout: float | None


def parse_duration(text: str) -> float | None:
    """
    Read a duration as Go writes it.

    Args:
        text: Such as ``10s``, ``1m30s`` or ``500ms``.

    Returns:
        Seconds; None if it is no duration.
    """
    if text in ("0", "+0", "-0"):
        return 0.0
    if len(text) > LONGEST_TEXT or not _duration.fullmatch(text):
        return None
    seconds = sum(float(number) * _UNITS[unit] for number, unit in _part.findall(text))
    return -seconds if text.startswith("-") else seconds


@lru_cache(maxsize=TARGETS)
def read_target(target: str) -> Target:
    """
    Take a request target apart; a timeout that is none, or not positive, counts as none.

    Args:
        target: As it stands in the request line, such as ``/mutate?timeout=10s``.
    """
    path, _, query = target.partition("?")
    try:
        asked = parse_qs(query, max_num_fields=8).get("timeout", [""])[0]
    except ValueError:  # more fields than any API server sends
        asked = ""
    seconds = parse_duration(asked)
    return Target(path, seconds if seconds is not None and seconds > 0 else None)

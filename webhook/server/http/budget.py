"""
How much time a call has: the ``?timeout`` that kube-apiserver puts into the URL.

Source: k8s.io/apiserver pkg/admission/plugin/webhook/mutating/dispatcher.go.
"""

from functools import lru_cache
from typing import NamedTuple
from urllib.parse import parse_qs

from webhook.config.durations import parse_duration

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


@lru_cache(maxsize=TARGETS)
def read_target(target: str) -> Target:
    """
    Take a request target apart; a timeout that is none, or zero, counts as none.

    Args:
        target: As it stands in the request line, such as ``/mutate?timeout=10s``.
    """
    path, _, query = target.partition("?")
    try:
        asked = parse_qs(query, max_num_fields=8).get("timeout", [""])[0]
    except ValueError:  # more fields than any API server sends
        asked = ""
    timeout = parse_duration(asked)
    return Target(path, timeout.total_seconds() or None if timeout else None)

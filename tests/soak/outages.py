"""
The times in which the API server or etcd is down, and whose fault a failed call is.

A soak stops both on purpose. A call that fails then is a fault of the API server, unless the
message names a webhook. Each other failure is ours.

One message that names a webhook is excused too: an API server that has just started answers before
it has listed its Services, and finds none to call.
"""

import re
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from math import inf

SETTLE_S = 10.0
"""How long after its end an outage explains a failure: the API server's queues and caches fill."""


SERVICE_UNKNOWN = "the API server has not listed its Services yet"

_service_unknown = re.compile(r'failed to call webhook: .*: service "[^"]+" not found').search


class Outcome(StrEnum):
    """What became of a call."""

    SUCCEEDED = "succeeded"
    EXCUSED = "excused"
    FAILED = "failed"


@dataclass
class Outage:
    """One outage; ``ended`` is infinite while it lasts."""

    cause: str
    began: float
    ended: float = inf


class Outages:
    """All outages so far."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._outages: list[Outage] = []

    @contextmanager
    def during(self, cause: str) -> Generator[None]:
        """Record an outage that lasts as long as the context."""
        outage = Outage(cause, self._clock())
        self._outages.append(outage)
        try:
            yield
        finally:
            outage.ended = self._clock()

    def cause(self, began: float, ended: float) -> str:
        """The cause of an outage that overlaps with a call; empty if none does."""
        for outage in reversed(self._outages):
            if began <= outage.ended + SETTLE_S and ended >= outage.began:
                return outage.cause
        return ""


def judge_call(status: int, message: str, cause: str) -> Outcome:
    """
    Decide whose fault the answer to a call is.

    Args:
        status: The HTTP status; 0 stands for no answer.
        message: The message of the answer, or of the error.
        cause: The cause of an outage at the time of the call; empty without one.
    """
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return Outcome.SUCCEEDED
    if not cause or ("webhook" in message and not is_service_unknown(message)):
        return Outcome.FAILED
    return Outcome.EXCUSED


def is_service_unknown(message: str) -> bool:
    """Whether an API server failed to find the Service of a webhook."""
    return bool(_service_unknown(message))

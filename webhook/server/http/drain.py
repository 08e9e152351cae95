"""
The stop of a server: the signals, and how long it goes on serving after them.

API servers reuse open connections, and learn only after a while that a replica stops. After SIGTERM
the server therefore goes on serving, closes each connection with its next reply, and ends when no
call has come for a while. After SIGINT (a user at a keyboard) it ends at once.
"""

import asyncio
import signal
from collections.abc import Awaitable, Callable

from webhook.server.http.limits import Limits

STEP_S = 0.25
"""Longest sleep of a stopping server; the process has stalled if a sleep lasts this much longer."""

SIGNALED = 128
"""The exit code of a process ended by a signal is this plus the signal's number, as in shells."""


class StopRequest:
    """
    The request to stop: the first signal requests it, the second one ends the process at once.

    Attributes:
        requested: Set by the first signal.
        patient: Whether to wait until callers have left.
    """

    def __init__(self, exit_now: Callable[[int], object]) -> None:
        """Start without a request; ``exit_now`` ends the process at once with an exit code."""
        self._exit_now = exit_now
        self.requested = asyncio.Event()
        self.patient = False

    def listen(self) -> None:
        """Handle the signals of this process: SIGTERM waits for callers, SIGINT does not."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self.take, signal.SIGTERM)
        loop.add_signal_handler(signal.SIGINT, self.take, signal.SIGINT)

    def take(self, number: signal.Signals) -> None:
        """Handle a signal."""
        if self.requested.is_set():
            self._exit_now(SIGNALED + number)
        self.patient = number is signal.SIGTERM
        self.requested.set()


def time_to_wait(requested: float, last_call: float, now: float, limits: Limits) -> float:
    """Compute the seconds left to serve, from times of one clock; 0 or less means stop now."""
    least = requested + limits.drain_least
    quiet = last_call + limits.drain_quiet
    return min(max(least, quiet), requested + limits.drain_most) - now


async def drain(
    last_call: Callable[[], float],
    clock: Callable[[], float],
    limits: Limits,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Wait until no call has come for ``drain_quiet``, at most for ``drain_most``."""
    requested = resumed = clock()
    while (left := time_to_wait(requested, max(resumed, last_call()), clock(), limits)) > 0:
        seconds, asleep = min(left, STEP_S), clock()
        await sleep(seconds)
        if clock() > asleep + seconds + STEP_S:  # calls may wait unread
            resumed = clock()

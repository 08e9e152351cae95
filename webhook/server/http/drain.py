"""
How a server stops: after which signal, and how long it goes on.

API servers keep using connections that they have, and learn only after a while that a replica is
leaving. So it goes on serving, ends each connection with its next reply, and leaves when nobody
has come for a while. Somebody at a keyboard, behind whom there is no cluster, need not wait.
"""

import asyncio
import signal
from collections.abc import Awaitable, Callable

from webhook.server.http.limits import Limits

SIGNALED = 128
"""Added to the number of a signal for the exit code of what it ended, as shells do."""


class StopRequest:
    """
    The wish to stop; the first signal is a wish, the second one a command.

    Attributes:
        patient: Whether callers are to be waited for.
    """

    def __init__(self, exit_now: Callable[[int], object]) -> None:
        """
        Wish for nothing yet.

        Args:
            exit_now: Ends the process at once with that code.
        """
        self._exit_now = exit_now
        self._asked = asyncio.Event()
        self.patient = False

    def listen(self) -> None:
        """Take the signals of this process; SIGTERM waits for callers, SIGINT does not."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self.take, signal.SIGTERM)
        loop.add_signal_handler(signal.SIGINT, self.take, signal.SIGINT)

    def take(self, number: signal.Signals) -> None:
        """Act on a signal."""
        if self.asked:
            self._exit_now(SIGNALED + number)
        self.patient = number is signal.SIGTERM
        self._asked.set()

    @property
    def asked(self) -> bool:
        """Whether a signal has come."""
        return self._asked.is_set()

    async def wait(self) -> None:
        """Wait for the first signal."""
        await self._asked.wait()


def time_to_wait(asked: float, last_call: float, now: float, limits: Limits) -> float:
    """
    How long to go on before looking again.

    Args:
        asked: When the server was asked to stop.
        last_call: When the last request came.
        now: All three by the same clock, in seconds.

    Returns:
        Seconds; 0 or less: stop now.
    """
    least = asked + limits.drain_least
    quiet = last_call + limits.drain_quiet
    return min(max(least, quiet), asked + limits.drain_most) - now


async def drain(
    last_call: Callable[[], float],
    clock: Callable[[], float],
    limits: Limits,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Wait until nobody comes any more, or until it has been too long."""
    asked = clock()
    while (seconds := time_to_wait(asked, last_call(), clock(), limits)) > 0:
        await sleep(seconds)

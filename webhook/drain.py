"""
How long a server goes on after it was asked to stop.

API servers keep using connections that they have, and learn only after a while that a replica is
leaving. So it goes on serving, ends each connection with its next reply, and leaves when nobody
has come for a while.
"""

import asyncio
from collections.abc import Awaitable, Callable

from webhook.limits import Limits


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

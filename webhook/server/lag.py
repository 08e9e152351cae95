"""
Event-loop lag: how late a timer is because the event loop was busy with something else.

``watch_lag`` is the entry point. A blocked event loop answers no probe and no scrape; this shows
the blockage afterwards.
"""

from collections.abc import Awaitable, Callable


async def watch_lag(
    observe: Callable[[float], object],
    period: float,
    clock: Callable[[], float],
    sleep: Callable[[float], Awaitable[object]],
) -> None:
    """
    Measure the lag until cancelled.

    Args:
        observe: Receives each measured lag in seconds.
        period: Seconds between two measurements; a shorter blockade may remain unseen.
        clock: Seconds; never goes back.
    """
    while True:
        due = clock() + period
        await sleep(period)
        observe(max(0.0, clock() - due))

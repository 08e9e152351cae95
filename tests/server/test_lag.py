"""The watchdog of the event loop."""

import asyncio

import pytest

from webhook.server.lag import watch_lag

PERIOD = 0.25


class Clock:
    """A clock that sleepers move, each sleep by some seconds more than it should."""

    def __init__(self, late: list[float]) -> None:
        self.now = 100.0
        self._late = late

    async def sleep(self, seconds: float) -> None:
        if not self._late:
            raise asyncio.CancelledError
        self.now += seconds + self._late.pop(0)


async def test_each_measurement_is_how_late_a_timer_was() -> None:
    clock, seen = Clock([0.0, 2.0, 0.125]), list[float]()

    with pytest.raises(asyncio.CancelledError):
        await watch_lag(seen.append, PERIOD, lambda: clock.now, clock.sleep)

    assert seen == [0.0, 2.0, 0.125]


async def test_a_timer_that_is_early_by_a_rounding_is_not_late() -> None:
    clock, seen = Clock([-0.0625]), list[float]()

    with pytest.raises(asyncio.CancelledError):
        await watch_lag(seen.append, PERIOD, lambda: clock.now, clock.sleep)

    assert seen == [0.0]

"""After which signal a server stops, and how long it goes on."""

import os
import signal

import pytest

from webhook.server.http.drain import StopRequest, drain, time_to_wait
from webhook.server.http.limits import Limits

LIMITS = Limits(drain_least=10, drain_quiet=5, drain_most=45)

CASES = {
    "no call for long": (100.0, 0.0, 100.0, 10.0),
    "half of the least is over": (100.0, 0.0, 105.0, 5.0),
    "the least is over, and it is quiet": (100.0, 104.0, 110.0, 0.0),
    "the least is over, but there was a call just now": (100.0, 109.0, 110.0, 4.0),
    "it was never quiet": (100.0, 145.0, 145.0, 0.0),
    "the last call is near the end": (100.0, 143.0, 143.0, 2.0),
}


@pytest.mark.parametrize(("requested", "last", "now", "seconds"), CASES.values(), ids=CASES)
def test_time_to_wait(requested: float, last: float, now: float, seconds: float) -> None:
    assert time_to_wait(requested, last, now, LIMITS) == seconds


class Clock:
    """Time that passes by being slept away; calls come every so often."""

    def __init__(self, every: float, until: float) -> None:
        self.now = 1000.0
        self._every = every
        self._until = 1000.0 + until

    def last_call(self) -> float:
        seen = min(self.now, self._until)
        return 1000.0 + (seen - 1000.0) // self._every * self._every

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


DRAINS = {
    "no calls: the least": (1.0, 0.0, 10.0),
    "calls until 12: five of quiet": (1.0, 12.0, 17.0),
    "calls without end: the most": (1.0, 1e9, 45.0),
    "rare calls: quiet between them": (8.0, 1e9, 13.0),
}


@pytest.mark.parametrize(("every", "until", "seconds"), DRAINS.values(), ids=DRAINS)
async def test_drain(every: float, until: float, seconds: float) -> None:
    clock = Clock(every, until)

    await drain(clock.last_call, lambda: clock.now, LIMITS, clock.sleep)

    assert clock.now == 1000.0 + seconds


async def test_time_in_which_the_process_stood_still_is_not_quiet() -> None:
    clock = Clock(1.0, 9.0)
    stalls = iter([8.5])

    async def sleep(seconds: float) -> None:
        await clock.sleep(seconds)
        if clock.now >= 1009:
            await clock.sleep(next(stalls, 0.0))

    await drain(clock.last_call, lambda: clock.now, LIMITS, sleep)

    assert clock.now == 1009 + 8.5 + LIMITS.drain_quiet


async def test_sigterm_waits_for_callers_and_a_second_signal_does_not() -> None:
    codes: list[int] = []
    stop = StopRequest(codes.append)

    stop.take(signal.SIGTERM)
    await stop.requested.wait()
    first = list(codes)
    stop.take(signal.SIGTERM)

    assert stop.patient
    assert first == []
    assert codes == [143]


async def test_sigint_does_not_wait() -> None:
    stop = StopRequest(lambda _code: None)

    stop.take(signal.SIGINT)
    await stop.requested.wait()

    assert not stop.patient


async def test_signals_of_the_process_are_taken() -> None:
    stop = StopRequest(lambda _code: None)
    stop.listen()

    os.kill(os.getpid(), signal.SIGTERM)
    await stop.requested.wait()

    assert stop.patient

"""Run long work in short slices, so that it does not delay requests on the same event loop."""

import asyncio
from collections.abc import Callable, Generator
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

WorkResult = TypeVar("WorkResult")

SLICE_S = 0.002  # seconds of one slice: a tenth of 20 ms, the 99th percentile of the response time


class TimeSlicer:
    """Scheduler that runs long work in slices and lets the event loop run between them."""

    def __init__(self, clock: Callable[[], float], slice_s: float = SLICE_S) -> None:
        """Create a scheduler without work; one step may exceed the seconds of a slice."""
        self._clock = clock
        self._slice_s = slice_s
        # One slice in each iteration of the event loop, for any number of tasks; the lock is fair.
        self._turn = asyncio.Lock()

    async def run(self, work: Generator[None, None, WorkResult]) -> WorkResult:
        """Run work that yields after each step, far shorter than a slice; return its result."""
        while True:
            async with self._turn:
                try:
                    end = self._clock() + self._slice_s
                    next(work)
                    while self._clock() < end:
                        next(work)
                except StopIteration as done:
                    result: WorkResult = done.value
                    return result
                finally:
                    await asyncio.sleep(0)  # let the event loop run before the next slice

    def still(self) -> AbstractAsyncContextManager[None]:
        """Suspend all work within the context, so that a thread may read the stores."""
        return self._turn

"""Long work in short slices, so that what answers callers on the same event loop is not kept."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager
from typing import TypeVar

WorkResult = TypeVar("WorkResult")

SLICE_S = 0.002
"""Seconds of the event loop at a time: a tenth of the 20 ms in which 99 % of calls are answered."""


class TimeSlicer:
    """Turns for long work: each a slice, and between two of them the event loop sees to others."""

    def __init__(self, clock: Callable[[], float], slice_s: float = SLICE_S) -> None:
        """
        Start with nobody at work.

        Args:
            clock: Seconds; never goes back.
            slice_s: The length of a turn in seconds, exceeded by one step at most.
        """
        self._clock = clock
        self._slice_s = slice_s
        # One turn in each round of the event loop, however many are at work; fair by its queue.
        self._turn = asyncio.Lock()

    async def run(self, work: Generator[None, None, WorkResult]) -> WorkResult:
        """
        Do work that yields after each of its steps, and give what it returns.

        Args:
            work: Its steps are far shorter than a slice; what it raises comes through.
        """
        while True:
            async with self._turn:
                try:
                    self._slice(work)
                except StopIteration as done:
                    result: WorkResult = done.value
                    return result
                finally:
                    await asyncio.sleep(0)  # before the turn is another's

    @asynccontextmanager
    async def still(self) -> AsyncGenerator[None]:
        """Let nobody work as long as the context lasts, so that a thread may read the stores."""
        async with self._turn:
            yield

    def _slice(self, work: Generator[None, None, object]) -> None:
        until = self._clock() + self._slice_s
        next(work)
        while self._clock() < until:
            next(work)

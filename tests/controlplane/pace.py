"""Numbered calls at a steady rate, by several threads: the load of tests on a real API server."""

import itertools
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Generator
from contextlib import contextmanager
from typing import Self


class PacedCalls(ABC):
    """
    A context manager: ``call`` runs at a steady rate as long as the context lasts.

    Calls that a busy machine has delayed are made up for, so the rate holds on the whole.

    Args:
        rate: Calls a second.
        threads: Calls at once.
        least: Number of calls before the context ends, unless the test fails.

    Attributes:
        seconds: How long the context lasted, once it is over.
    """

    def __init__(self, *, rate: float, threads: int, least: int = 0) -> None:
        self.seconds = 0.0
        self._rate, self._least = rate, least
        self._numbers = itertools.count()
        self._changed = threading.Condition()
        self._in_flight = 0
        self._held = self._over = False
        self._threads = [threading.Thread(target=self._work) for _ in range(threads)]

    @abstractmethod
    def call(self, number: int) -> None:
        """Make the call with this number; it is called in a thread."""

    def __enter__(self) -> Self:
        self._start = self._began = time.monotonic()
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        with self._changed:
            self._over = True
            if kind is not None:  # the test has failed already
                self._least = 0
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()
        self.seconds = time.monotonic() - self._began

    @property
    def due(self) -> float:
        """How many calls were due until now."""
        return (time.monotonic() - self._start) * self._rate

    @contextmanager
    def held(self) -> Generator[None]:
        """Let no call be in flight as long as the context lasts; they are not made up for."""
        began = time.monotonic()
        with self._changed:
            self._held = True
            self._changed.wait_for(lambda: not self._in_flight)
        try:
            yield
        finally:
            with self._changed:
                self._start += time.monotonic() - began
                self._held = False
                self._changed.notify_all()

    def _work(self) -> None:
        for number in self._numbers:
            if not self._begin(number):
                return
            try:
                self.call(number)
            finally:
                with self._changed:
                    self._in_flight -= 1
                    self._changed.notify_all()

    def _begin(self, number: int) -> bool:
        """Wait until a call is due; false once there are no more."""
        with self._changed:
            while not self._over or number < self._least:
                early = self._start + number / self._rate - time.monotonic()
                if self._held:
                    self._changed.wait()
                elif early > 0:
                    self._changed.wait(early)
                else:
                    self._in_flight += 1
                    return True
        return False

"""Pods that are created at a steady rate, whatever becomes of them."""

import http.client
import itertools
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Self

from tests.controlplane.api import Api, ApiError
from tests.e2e.objects import workload

WORKERS = 8
"""Creations at once: 20 ms for each, on a machine that does other things, are 400 a second."""


class Load:
    """
    A context manager: in it pods are created, at least the configured number.

    Those that a busy machine has delayed are made up for, so the rate holds on the whole.

    Args:
        rate: Creations a second.
        least: How many there are before the context ends; they go on until then.
        writers: Creations at once.

    Attributes:
        outcomes: Name of each pod -> the error of its creation; None if it succeeded.
        failures: The errors of those that failed.
        created: How many did not.
        longest_s: The longest time of one creation, failed or not.
        seconds: How long it took, once it is over.
    """

    def __init__(
        self, api: Api, namespace: str, *, rate: float, least: int, writers: int = WORKERS
    ) -> None:
        self.outcomes: dict[str, Exception | None] = {}
        self.failures: list[Exception] = []
        self.created = 0
        self.longest_s = 0.0
        self.seconds = 0.0
        self._api, self._namespace, self._rate, self._least = api, namespace, rate, least
        self._numbers = itertools.count()
        self._changed = threading.Condition()
        self._in_flight = 0
        self._held = self._over = False
        self._workers = [threading.Thread(target=self._work) for _ in range(writers)]

    def __enter__(self) -> Self:
        self._start = time.monotonic()
        for worker in self._workers:
            worker.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        with self._changed:
            self._over = True
            if kind is not None:  # the test has failed already
                self._least = 0
        for worker in self._workers:
            worker.join()
        self.seconds = time.monotonic() - self._start

    @contextmanager
    def held(self) -> Generator[None]:
        """Let those in flight come to their end, and none begin as long as the context lasts."""
        with self._changed:
            self._held = True
            self._changed.wait_for(lambda: not self._in_flight)
        try:
            yield
        finally:
            with self._changed:
                self._held = False
                self._changed.notify_all()

    def _work(self) -> None:
        for number in self._numbers:
            due = self._start + number / self._rate
            time.sleep(max(0.0, due - time.monotonic()))
            if self._over and number >= self._least:
                return
            self._enter()
            name, began = f"load-{number}", time.monotonic()
            try:
                self._api.create(workload("Pod", name, self._namespace, {"app": "it"}))
            except (ApiError, OSError, http.client.HTTPException) as error:
                self._leave(name, error, began)
            else:
                self._leave(name, None, began)

    def _enter(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._held)
            self._in_flight += 1

    def _leave(self, name: str, error: Exception | None, began: float) -> None:
        with self._changed:
            self.longest_s = max(self.longest_s, time.monotonic() - began)
            self._in_flight -= 1
            self.outcomes[name] = error
            if error is None:
                self.created += 1
            else:
                self.failures.append(error)
            self._changed.notify_all()

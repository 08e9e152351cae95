"""Pods that are created at a steady rate, whether or not their creation succeeds."""

import http.client
import threading
import time

from tests.controlplane.api import Api, ApiError
from tests.controlplane.pace import PacedCalls
from tests.e2e.objects import workload

WORKERS = 8
"""Creations at once: 20 ms for each, on a machine that does other things, are 400 a second."""


class Load(PacedCalls):
    """
    A context manager: in it pods are created, at least the configured number.

    Args:
        rate: Creations a second.
        least: How many there are before the context ends; they go on until then.
        writers: Creations at once.

    Attributes:
        outcomes: Name of each pod -> the error of its creation; None if it succeeded.
        failures: The errors of those that failed.
        created: The number of those that succeeded.
        longest_s: The longest time of one creation, failed or not.
    """

    def __init__(
        self, api: Api, namespace: str, *, rate: float, least: int, writers: int = WORKERS
    ) -> None:
        super().__init__(rate=rate, threads=writers, least=least)
        self.outcomes: dict[str, Exception | None] = {}
        self.failures: list[Exception] = []
        self.created = 0
        self.longest_s = 0.0
        self._api, self._namespace = api, namespace
        self._lock = threading.Lock()

    def call(self, number: int) -> None:
        """Create a pod."""
        name, began = f"load-{number}", time.monotonic()
        try:
            self._api.create(workload("Pod", name, self._namespace, {"app": "it"}))
        except (ApiError, OSError, http.client.HTTPException) as error:
            self._count(name, error, began)
        else:
            self._count(name, None, began)

    def _count(self, name: str, error: Exception | None, began: float) -> None:
        with self._lock:
            self.longest_s = max(self.longest_s, time.monotonic() - began)
            self.outcomes[name] = error
            if error is None:
                self.created += 1
            else:
                self.failures.append(error)

"""Creations that an API server only tries: one, or a load of them."""

import time
from threading import Event

from tests.controlplane.api import Json, Reply
from tests.controlplane.plane import ControlPlane
from tests.e2e.objects import constraints

CALLS_A_SECOND = 100


def try_creation(plane: ControlPlane, obj: Json) -> Reply:
    """Create an object in a dry run."""
    return plane.api.request("POST", plane.api.collection_of(obj), obj, query={"dryRun": "All"})


class DryRunLoad:
    """
    Dry runs of a pod, so many a second, and how each ended.

    Two threads run it, until ``enough`` is set.
    """

    def __init__(self, plane: ControlPlane, pod: Json) -> None:
        self._plane = plane
        self._pod = pod
        self.enough = Event()
        self.replies: list[Reply] = []

    def run(self) -> None:
        due = time.monotonic()
        while not self.enough.is_set():
            self.replies.append(try_creation(self._plane, self._pod))
            due += 2 / CALLS_A_SECOND  # there are two of these
            self.enough.wait(max(0.0, due - time.monotonic()))

    @property
    def failed(self) -> list[Reply]:
        return [reply for reply in self.replies if reply.status != 201]

    def has_seen(self, skew: int) -> bool:
        """Whether the newest pod has a constraint with this skew."""
        newest = self.replies[-1:]
        return any(c["maxSkew"] == skew for reply in newest for c in constraints(reply.body))

"""Lookups without a result: what invented owners and namespaces cost the API server is bounded."""

from collections import deque
from collections.abc import Callable

MISS_S = 2.0  # seconds; an owner that appears meanwhile counts when its watch event arrives
NAMESPACE_MISSES = 40  # in MISS_S; a rollout has hardly any, because owners precede their pods
MISSES = 400  # in MISS_S: 200 reads a second, enough for ten tenants, little for an API server


class Misses:
    """
    The lookups of the last seconds that found no usable object.

    A tenant who invents owners uses up only the lookups of its own namespaces. An API server that
    is slow or fails is no miss, since the object may exist.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        """Start without a miss; ``clock`` never goes back."""
        self._clock = clock
        self._misses = deque[tuple[float, str, str]]()  # time, namespace, path; oldest first

    def admit(self, namespace: str, path: str) -> bool:
        """Whether an object is worth a lookup: it is no miss, and there are not too many others."""
        while self._misses and self._clock() - self._misses[0][0] >= MISS_S:
            self._misses.popleft()
        own = [known for _, space, known in self._misses if space == namespace]
        return path not in own and len(own) < NAMESPACE_MISSES and len(self._misses) < MISSES

    def record(self, namespace: str, path: str) -> None:
        """Remember a miss for ``MISS_S``."""
        self._misses.append((self._clock(), namespace, path))

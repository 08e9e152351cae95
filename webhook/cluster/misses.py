"""Remember lookups without a result, so that invented owners cost the API server few requests."""

from collections.abc import Callable

MISS_S = 2.0  # seconds; an owner that appears meanwhile counts when its watch event arrives
NAMESPACE_MISSES = 40  # in MISS_S; a rollout has hardly any, because owners precede their pods
NAMESPACES = 1000  # with misses; a further one replaces the one without a lookup for longest


class Misses:
    """
    The lookups of the last seconds that found nothing or have not ended, by namespace.

    A tenant who invents owners uses up only the lookups of its own namespaces.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        """Start without a miss; ``clock`` never goes back."""
        self._clock = clock
        self._times: dict[str, dict[str, float]] = {}

    def admit(self, namespace: str, path: str) -> bool:
        """
        Count a lookup as a miss until ``forget``.

        Returns:
            False if the object is such a miss already, or its namespace has too many of them.
        """
        now, times = self._clock(), self._times.pop(namespace, {})
        times = {known: time for known, time in times.items() if now - time < MISS_S}
        admitted = path not in times and len(times) < NAMESPACE_MISSES
        if admitted:
            times[path] = now
        self._times[namespace] = times
        if len(self._times) > NAMESPACES:
            del self._times[next(iter(self._times))]
        return admitted

    def forget(self, namespace: str, path: str) -> None:
        """Forget the miss of an object that exists."""
        self._times.get(namespace, {}).pop(path, None)

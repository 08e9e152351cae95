"""Exponential back-off with jitter, for retries against an API server."""

from collections.abc import Awaitable, Callable

FIRST_BACKOFF_S = 0.8  # seconds, upper bound before the second try; as in client-go's reflector
MAX_BACKOFF_S = 30.0  # seconds, upper bound before every later try; as in client-go


class Backoff:
    """
    Exponential back-off with full jitter: a random pause between 0 and a bound that doubles.

    Source: client-go tools/cache/reflector.go for the bounds; it jitters less.
    """

    def __init__(
        self, jitter: Callable[[], float], sleep: Callable[[float], Awaitable[object]]
    ) -> None:
        """Start with the shortest bound; ``jitter`` returns uniform random numbers from 0 to 1."""
        self._jitter = jitter
        self._sleep = sleep
        self._bound_s = FIRST_BACKOFF_S

    async def pause(self) -> None:
        """Wait, and double the bound."""
        bound_s, self._bound_s = self._bound_s, min(2 * self._bound_s, MAX_BACKOFF_S)
        await self._sleep(self._jitter() * bound_s)

    def reset(self) -> None:
        """Return to the shortest bound after a success."""
        self._bound_s = FIRST_BACKOFF_S

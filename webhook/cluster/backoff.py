"""How long to wait before the next try: longer and longer, and no two replicas alike."""

from collections.abc import Awaitable, Callable

FIRST_BACKOFF_S = 0.8  # seconds, at most, before the second try; client-go's reflector starts there
MAX_BACKOFF_S = 30.0  # seconds, at most, before any try; client-go's too


class Backoff:
    """
    Exponential back-off with full jitter: any time between nothing and a bound that doubles.

    Source: client-go tools/cache/reflector.go for the bounds, which jitters them less.
    """

    def __init__(
        self, jitter: Callable[[], float], sleep: Callable[[float], Awaitable[object]]
    ) -> None:
        """
        Start with the shortest bound.

        Args:
            dice: Gives numbers from 0 to 1, all as likely.
            sleep: Waits so many seconds.
        """
        self._jitter = jitter
        self._sleep = sleep
        self._bound_s = FIRST_BACKOFF_S

    async def pause(self) -> None:
        """Wait, and be ready to wait longer."""
        bound_s, self._bound_s = self._bound_s, min(2 * self._bound_s, MAX_BACKOFF_S)
        await self._sleep(self._jitter() * bound_s)

    def reset(self) -> None:
        """Start over, as all goes well."""
        self._bound_s = FIRST_BACKOFF_S

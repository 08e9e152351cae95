"""Rate limit for repairs that another client keeps undoing."""

from dataclasses import dataclass
from datetime import datetime, timedelta

MAX_REPAIR_PAUSE = timedelta(minutes=5)  # no load, and a repair soon after the other client stops
QUIET_PERIOD = timedelta(minutes=1)  # without a repair; then the next one counts as the first


@dataclass(slots=True)
class RepairLimit:
    """
    Pause between repairs to the same content; doubles from 1 s to ``MAX_REPAIR_PAUSE``.

    Attributes:
        repairs: Number of repairs in a row.
    """

    repairs: int = 0
    _wanted: object = None
    _last: datetime | None = None

    def allows(self, wanted: object, now: datetime) -> bool:
        """Whether a repair is allowed now; a new intended content resets the limit."""
        if self._last is None or wanted != self._wanted:
            return True
        return not timedelta(0) <= now - self._last < self._pause

    def count(self, wanted: object, now: datetime) -> None:
        """Record a repair."""
        quiet = self._last is None or now - self._last >= QUIET_PERIOD + 2 * self._pause
        self.repairs = 1 if quiet or wanted != self._wanted else self.repairs + 1
        self._wanted, self._last = wanted, now

    @property
    def _pause(self) -> timedelta:
        return min(timedelta(seconds=2 ** min(self.repairs - 1, 10)), MAX_REPAIR_PAUSE)

"""How often a thing may be put right that somebody else puts wrong again."""

from dataclasses import dataclass
from datetime import datetime, timedelta

MAX_REPAIR_PAUSE = timedelta(minutes=5)
"""Between two repairs of a lasting fight: rare enough to be no load, often enough to win once
the other one is gone."""

QUIET_PERIOD = timedelta(minutes=1)
"""After that long without a repair the next one counts as the first."""


@dataclass(slots=True)
class RepairLimit:
    """
    Doubles the pause between repairs of the same thing, from 1 s to ``MAX_REPAIR_PAUSE``.

    Attributes:
        repairs: How many there were, each soon after the one before.
    """

    repairs: int = 0
    _wanted: object = None
    _last: datetime | None = None

    def allows(self, wanted: object, now: datetime) -> bool:
        """
        Tell whether a repair may be made now.

        Args:
            wanted: How things should be; if it differs from last time, this is no fight.
        """
        if self._last is None or wanted != self._wanted:
            return True
        return not timedelta(0) <= now - self._last < self._pause

    def count(self, wanted: object, now: datetime) -> None:
        """Remember a repair that was made."""
        quiet = self._last is None or now - self._last >= QUIET_PERIOD + 2 * self._pause
        self.repairs = 1 if quiet or wanted != self._wanted else self.repairs + 1
        self._wanted, self._last = wanted, now

    @property
    def _pause(self) -> timedelta:
        doubled = timedelta(seconds=2 ** min(self.repairs - 1, 10))
        return min(doubled, MAX_REPAIR_PAUSE)

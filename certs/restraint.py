"""How often a thing may be put right that somebody else puts wrong again."""

from dataclasses import dataclass
from datetime import datetime, timedelta

LONGEST = timedelta(minutes=5)
"""Between two repairs of a lasting fight: rare enough to be no load, often enough to win once
the other one is gone."""

QUIET = timedelta(minutes=1)
"""After that long without a repair the next one counts as the first."""


@dataclass(slots=True)
class Restraint:
    """
    Doubles the pause between repairs of the same thing, from 1 s to ``LONGEST``.

    Attributes:
        repairs: How many there were, one soon after the other.
    """

    repairs: int = 0
    _wanted: object = None
    _last: datetime | None = None

    def allows(self, wanted: object, now: datetime) -> bool:
        """
        Tell whether a repair may be made now; if so, it is counted.

        Args:
            wanted: How things should be; if it differs from last time, this is no fight.
        """
        since = None if self._last is None else now - self._last
        if since is None or wanted != self._wanted or since >= QUIET + 2 * self._pause:
            self.repairs = 0
        elif timedelta(0) <= since < self._pause:
            return False
        self.repairs, self._wanted, self._last = self.repairs + 1, wanted, now
        return True

    @property
    def _pause(self) -> timedelta:
        doubled = timedelta(seconds=2 ** min(self.repairs - 1, 10))
        return min(doubled, LONGEST)

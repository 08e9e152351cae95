"""
Load shedding: the requests that a server refuses because those before them wait too long.

``Overload`` is the entry point. It reads no clock and knows nothing of HTTP.

An event loop takes requests in the order of arrival. If they arrive faster than it answers, they
wait longer and longer, until each answer comes after its caller has given up. The number of waiting
requests does not show this, because a review takes 0.1 ms or 20 ms. The time for which the last one
has waited does. Source: RFC 8289 (CoDel) 3.1.
"""

EMPTY_S = 0.02  # without a request whose turn comes, after which none waits any more


class Overload:
    """
    The decision to admit or to refuse a request, from the waiting times of those before it.

    New requests are refused while the wait is longer than a quarter of what is allowed. The rest is
    for the requests that came before this showed: at four times the capacity, the wait then grows
    to four times as much.

    Attributes:
        busy: Whether the last wait was that long; as long as it is not, ``admits`` admits all.
    """

    def __init__(self, longest: float) -> None:
        """
        Start without load.

        Args:
            longest: Seconds that a request may wait until its turn.
        """
        self._longest = longest
        self._seen = 0.0
        self.busy = False

    def admits(self, now: float) -> bool:
        """Decide whether to take a new request; if not, refuse it without parsing it."""
        return not self.busy or now - self._seen > EMPTY_S

    def is_late(self, waited: float, now: float) -> bool:
        """Decide whether to refuse a request whose turn has come after so many seconds."""
        self.busy, self._seen = waited > self._longest / 4, now
        return waited > self._longest

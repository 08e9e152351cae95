"""
Load shedding: the requests that a server refuses because those before them wait too long.

``Overload`` is the entry point. It reads no clock and knows nothing of HTTP.

An event loop takes requests in the order of arrival. If they arrive faster than it answers, they
wait longer and longer, until each answer comes after its caller has given up. The number of waiting
requests does not show this, because a review takes 0.1 ms or 20 ms. The time for which the last one
has waited does. Source: RFC 8289 (CoDel) 3.1.
"""

import math


class Overload:
    """
    The decision to admit or to refuse a request, from the waiting times of those before it.

    A wait is long if it exceeds a quarter of what is allowed. Some long waits are no overload: a
    single review or a pause of the machine explains them. Overload begins when there have been long
    waits again and again for the time that a request may wait, and ends when there was none for
    that time. In between, new requests are refused while the last wait was long. The other three
    quarters are for requests that came before this showed.

    Attributes:
        busy: Whether there is overload, and the last wait was long; if not, all are admitted.
    """

    def __init__(self, longest: float, empty: float) -> None:
        """
        Start without load.

        Args:
            longest: Seconds that a request may wait until its turn under overload.
            empty: Seconds without a turn after which no request waits any more.
        """
        self._longest, self._empty = longest, empty
        self._since = self._long = -math.inf  # the first and the last of the recent long waits
        self._seen = 0.0  # the last turn of a request
        self.busy = False

    def admits(self, now: float) -> bool:
        """Decide whether to take a new request; if not, refuse it without parsing it."""
        return not self.busy or now - self._seen > self._empty

    def is_late(self, waited: float, now: float) -> bool:
        """Decide whether to refuse a request whose turn has come after so many seconds."""
        self._seen = now
        if waited <= self._longest / 4:
            self.busy = False
            return False
        if now - self._long > self._longest:
            self._since = now
        self._long = now
        self.busy = now - self._since > self._longest
        return self.busy and waited > self._longest

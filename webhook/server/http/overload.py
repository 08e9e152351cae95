"""
Load shedding: the requests that a server refuses because those before them wait too long.

``Overload`` is the entry point. It reads no clock and knows nothing of HTTP.

An event loop takes requests in the order of arrival. If they arrive faster than it answers, they
wait longer and longer, until each answer comes after its caller has given up. The number of waiting
requests does not show this, because a review takes 0.1 ms or 20 ms. The time for which the last one
has waited does. Source: RFC 8289 (CoDel) 3.1.

Under overload the server reads every connection before it answers what it has read. These are
bursts of hundreds of requests, so the wait shows too late which ones to refuse. The server admits
from each burst only as many as it answers in a short time.
"""

import math

SAMPLES = 16  # answers over which the mean time of one is taken, weighted towards the last ones


class Overload:
    """
    The decision to admit or to refuse a request, from the waiting times of those before it.

    A wait is long if it exceeds a quarter of what is allowed. Some long waits are no overload: a
    single review or a pause of the machine explains them. Overload begins when long waits have
    recurred for as long as a request may wait, and ends when there has been neither a long wait nor
    a refusal for as long.

    Attributes:
        busy: Whether there is overload; if not, all requests are admitted.
    """

    def __init__(self, longest: float, burst: float) -> None:
        """
        Start without load.

        Args:
            longest: Seconds that a request may wait until its turn under overload.
            burst: Seconds of answers to admit at once under overload.
        """
        self._longest, self._burst = longest, burst
        self._since = self._long = -math.inf  # the first and the last of the recent long waits
        self._first = 0.0  # when the first request of this burst was admitted
        self._admitted = 0  # requests of this burst
        self._turn = math.nan  # the last turn, if an answer followed
        self._answer = 0.0  # mean seconds of an answer, once the turns of an overload show it
        self.busy = False

    def is_full(self, now: float) -> bool:
        """Decide whether to refuse a new request."""
        self._end_overload(now)
        if now - self._first > self._longest:  # a request whose client has gone never has a turn
            self._first, self._admitted = now, 0
        return self.busy and self._admitted * self._answer >= self._burst

    def admits(self, now: float) -> bool:
        """Decide whether to take a whole new request; if not, refuse it without parsing it."""
        if self.is_full(now):
            self._long = now
            return False
        self._admitted += 1
        return True

    def release(self) -> None:
        """Forget a request of this burst that was invalid, and so never has a turn."""
        self._admitted = max(0, self._admitted - 1)

    def is_late(self, waited: float, now: float) -> bool:
        """Decide whether to refuse a request whose turn has come after so many seconds."""
        long = waited > self._longest / 4
        if not (long or self.busy):
            self._turn = math.nan  # from this one to the next long wait is no time of an answer
            return False
        self._end_overload(now)
        if long:
            self._long = now
            self.busy = self.busy or now - self._since > self._longest
        late = self.busy and waited > self._longest
        self._end_burst(now, late=late)
        return late

    def _end_overload(self, now: float) -> None:
        """End the overload, if there is one, after a while without a long wait or a refusal."""
        if now - self._long > self._longest:
            self._since, self._turn, self.busy = now, math.nan, False

    def _end_burst(self, now: float, *, late: bool) -> None:
        """Begin a new burst at a turn; two turns without a burst between them time an answer."""
        if not (self._admitted or math.isnan(self._turn)):
            self._answer += (now - self._turn - self._answer) / SAMPLES
        self._first, self._admitted = now, 0
        self._turn = math.nan if late else now

"""
The table of open connections, which decides which one closes when there are too many.

Closing a connection that an API server is about to use loses an admission call, because Go does not
repeat a POST. The order is therefore: connections without a valid review so far, the oldest first;
then the connection that is idle for longest, if that is longer than Go keeps one; if there is none,
the new connection is refused. The table has no sockets and reads no clock.
"""

from collections.abc import Callable, Hashable
from itertools import chain, islice
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


class Connections(Generic[Key]):
    """The open connections of one listener, in the order in which they would be closed."""

    def __init__(self, most: int, idle: float, cut: Callable[[Key], None]) -> None:
        """
        Start without a connection.

        Args:
            most: The maximum number of open connections.
            idle: Seconds after which a proven connection may be closed.
            cut: Closes a connection at once; called after the table has removed it.
        """
        self._most = most
        self._idle = idle
        self._cut = cut
        self._unproven: dict[Key, float] = {}
        self._proven: dict[Key, float] = {}

    def __len__(self) -> int:
        """The number of open connections."""
        return len(self._unproven) + len(self._proven)

    def admit(self, key: Key, now: float) -> bool:
        """
        Add a new connection, in place of another one if the table is full.

        Args:
            now: Seconds of a clock that never goes back.

        Returns:
            False if the new connection must be refused.
        """
        if len(self) >= self._most and not self._make_room(now):
            return False
        self._unproven[key] = now
        return True

    def prove(self, key: Key, now: float) -> None:
        """Record that a connection carried a valid review; a closed one is ignored."""
        if self._proven.pop(key, None) is None and self._unproven.pop(key, None) is None:
            return
        self._proven[key] = now  # re-inserted last, so that the table stays sorted by time

    def forget(self, key: Key) -> None:
        """Remove a closed connection, if it is still there."""
        if self._unproven.pop(key, None) is None:
            self._proven.pop(key, None)

    def _make_room(self, now: float) -> bool:
        oldest = islice(self._proven.items(), 1)
        idle = (key for key, used in oldest if now - used > self._idle)
        victim = next(chain(self._unproven, idle), None)
        if victim is None:
            return False
        self.forget(victim)
        self._cut(victim)
        return True

"""
Which connections stay when there are too many; a table without sockets or clocks.

A connection that is closed while an API server is about to use it loses an admission call, since
Go does not repeat a POST. So those go first that never carried a valid review, the oldest first;
then the one that was idle for longest, if that is longer than Go keeps one; and if there is none,
the newcomer is refused.
"""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


class Connections(Generic[Key]):
    """The open connections of one listener, in the order in which they would have to go."""

    def __init__(self, most: int, idle: float, cut: Callable[[Key], None]) -> None:
        """
        Start without a connection.

        Args:
            most: How many may be open.
            idle: Seconds after which a proven connection may be cut.
            cut: Closes a connection at once; called after it has left the table.
        """
        self._most = most
        self._idle = idle
        self._cut = cut
        self._strangers: dict[Key, float] = {}
        self._callers: dict[Key, float] = {}

    def __len__(self) -> int:
        """How many are open."""
        return len(self._strangers) + len(self._callers)

    def admit(self, key: Key, now: float) -> bool:
        """
        Take a newcomer in, in place of another one if need be.

        Args:
            now: Seconds of a clock that never goes back.

        Returns:
            False if it has to be refused.
        """
        if len(self) >= self._most and not self._make_room(now):
            return False
        self._strangers[key] = now
        return True

    def prove(self, key: Key, now: float) -> None:
        """Note that a connection carried a valid review; one that has gone stays gone."""
        if self._callers.pop(key, None) is None and self._strangers.pop(key, None) is None:
            return
        self._callers[key] = now  # at the end: the table stays sorted by time

    def forget(self, key: Key) -> None:
        """Note that a connection has gone, if that is news."""
        if self._strangers.pop(key, None) is None:
            self._callers.pop(key, None)

    def _make_room(self, now: float) -> bool:
        victim = self._victim(now)
        if victim is None:
            return False
        self.forget(victim)
        self._cut(victim)
        return True

    def _victim(self, now: float) -> Key | None:
        for key in self._strangers:
            return key
        for key, used in self._callers.items():
            return key if now - used > self._idle else None
        return None

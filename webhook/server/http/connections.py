"""
The table of open connections, which decides which one closes when there are too many.

Closing a connection that an API server is about to use can lose an admission call, because Go
repeats no POST that it has begun to send. It closes one of these:

* a connection without a valid review so far;
* the connection that is idle for longest, if that is longer than Go keeps one;
* if there is none, a connection of the address with most connections. If the new connection's
  address has as many, only one that has carried no review for a while: else API servers behind one
  address would close each other's connections.

Of these it closes the one whose address has most connections, and of these the first. If the new
connection's address has more, it refuses that one: a hostile client displaces only itself.

Of one address, the connection that is idle for longest goes first: Go takes the one that was used
last, so that it hardly takes this one. A connection that is answering a request is closed only
after its answer. The table has no sockets and reads no clock.

Source: net/http transport.go, ``queueForIdleConn`` and ``shouldRetryRequest``.
"""

from collections import Counter
from collections.abc import Callable, Hashable
from enum import IntEnum
from itertools import chain, islice
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)

LEAVING_SHARE = 8
"""One in so many places is for connections that close after their answer: 64 of 512, 18 MiB."""


class Activity(IntEnum):
    """What a connection does; of one with a smaller number, less is lost."""

    IDLE = 0  # no request
    RECEIVING = 1  # waits for its client: to send a request or to read a reply
    ANSWERING = 2  # has a whole request, which waits for its answer


class Connections(Generic[Key]):
    """The open connections of one listener, in the order in which they would be closed."""

    def __init__(
        self,
        most: int,
        idle: float,
        answered: float,
        cut: Callable[[Key], None],
        activity: Callable[[Key], Activity],
    ) -> None:
        """
        Start without a connection.

        Args:
            most: The maximum number of open connections.
            idle: Seconds after which a proven connection may be closed.
            answered: Seconds after which the last review of a connection is surely answered.
            cut: Closes a connection, after its answer if it is answering; called after the table
                has removed it.
            activity: Returns what a connection does now.
        """
        self._most = most
        self._idle = idle
        self._answered = answered
        self._cut = cut
        self._activity = activity
        self._leaving: set[Key] = set()
        self._addresses: dict[Key, str] = {}
        self._unproven: dict[Key, float] = {}
        self._proven: dict[Key, float] = {}

    def __len__(self) -> int:
        """The number of open connections."""
        return len(self._unproven) + len(self._proven)

    def admit(self, key: Key, now: float, address: str) -> bool:
        """
        Add a new connection, in place of another one if the table is full.

        Args:
            now: Seconds of a clock that never goes back.
            address: Of the client.

        Returns:
            False if the new connection must be refused.
        """
        if len(self) >= self._most and not self._make_room(now, address):
            return False
        self._unproven[key] = now
        self._addresses[key] = address
        return True

    def prove(self, key: Key, now: float) -> None:
        """Record that a connection carried a valid review; a closed one is ignored."""
        if self._proven.pop(key, None) is None and self._unproven.pop(key, None) is None:
            return
        self._proven[key] = now  # re-inserted last, so that the table stays sorted by time

    def forget(self, key: Key) -> None:
        """Remove a closed connection, if it is still there."""
        for table in (self._unproven, self._proven, self._addresses):
            table.pop(key, None)
        self._leaving.discard(key)

    def _make_room(self, now: float, address: str) -> bool:
        """Close a connection for a new one, unless the address of that one has most connections."""
        numbers = Counter((*self._addresses.values(), address))
        victim = self._find_victim(now, address, numbers)
        if victim is None:
            return False
        idle = now - self._proven.get(victim, now) > self._idle
        if not idle and numbers[self._addresses[victim]] < numbers[address]:
            return False
        answering = self._activity(victim) is Activity.ANSWERING
        if answering and len(self._leaving) * LEAVING_SHARE >= self._most:
            return False
        self.forget(victim)
        if answering:
            self._leaving.add(victim)
        self._cut(victim)
        return True

    def _find_victim(self, now: float, address: str, numbers: Counter[str]) -> Key | None:
        ages = {key: now - used for key, used in self._proven.items()}  # the largest is first
        most = max(numbers.values())
        fewer = numbers[address] < most
        victims = [key for key, age in islice(ages.items(), 1) if age > self._idle] or [
            key
            for key, age in ages.items()
            if (fewer or age > self._answered) and numbers[self._addresses[key]] == most
        ]
        candidates = chain(self._unproven, sorted(victims, key=self._activity))
        return min(candidates, key=lambda key: self._harm(key, numbers), default=None)

    def _harm(self, key: Key, numbers: Counter[str]) -> tuple[int, bool]:
        """The order in which connections are closed, if there is a choice."""
        return -numbers[self._addresses[key]], self._activity(key) is Activity.ANSWERING

"""The pods that each domain of a constraint can have, as far as is easily seen: ``DomainRange``."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import msgspec

from webhook.rebalance.cells import NodeCell, StateSpace
from webhook.rebalance.counts import CellCounts


class DomainRange(msgspec.Struct, frozen=True):
    """
    The pods that each domain with eligible nodes can have.

    Attributes:
        least: By domain, the pods that stay.
        most: By domain, those that stay, and of those that may enter as many as it has room for.
        total: Number of counted pods, wherever they are.
        is_closed: Whether all of them are, and remain, in these domains.
    """

    least: tuple[int, ...]
    most: tuple[int, ...]
    total: int
    is_closed: bool

    @property
    def without_limits(self) -> "DomainRange":
        """The range if every domain had room, and every pod could leave."""
        size = len(self.least)
        return DomainRange((0,) * size, (self.total,) * size, self.total, is_closed=False)

    def keep(self, domains: Sequence[int]) -> "DomainRange":
        """Return the range of some of the domains, with all pods."""
        least, most = ([pods[one] for one in domains] for pods in (self.least, self.most))
        return DomainRange(tuple(least), tuple(most), self.total, self.is_closed)

    def find_minimum(self, others: int = 0) -> int:
        """
        Find how many pods every domain can have, beside those that stay; room is ignored.

        Args:
            others: Number of other domains, in which no pods stay.
        """

        def hold(number: int) -> int:
            return sum([max(number, pods) for pods in self.least]) + number * others

        most = self.total // max(1, len(self.least) + others)
        return bisect_right(range(1, most + 1), self.total, key=hold)

    def find_limit(self) -> int:
        """Find the least pods of the fullest domain if all have a place; more than all if not."""

        def hold(limit: int) -> int:
            return sum([min(pods, limit) for pods in self.most])

        return bisect_left(range(self.total + 1), self.total, key=hold) if self.is_closed else 0


def find_range(counts: CellCounts, space: StateSpace, evictable: Sequence[bool]) -> DomainRange:
    """
    Find the range of each domain; O(cells x kinds).

    Args:
        evictable: By kind, whether its pods can be evicted at all.
    """
    start = space.count_start()
    least, staying, total = list(counts.fixed), list(counts.fixed), sum(counts.fixed)
    rooms, entrants = [0] * len(least), [set[int]() for _ in least]
    domains, is_closed = dict(counts.eligible), True
    for index, (cell, column) in enumerate(zip(space.cells, start, strict=True)):
        entering = [kind for kind in counts.kinds if cell.passes[space.kinds[kind].successor]]
        present = sum(column[kind] for kind in counts.kinds)
        total += present
        if index not in domains:
            is_closed = is_closed and not present and not entering
            continue
        domain = domains[index]
        returning = sum(column[kind] for kind in entering)
        least[domain] += sum(column[kind] for kind in counts.kinds if not evictable[kind])
        staying[domain] += present - returning
        rooms[domain] += max(returning, _count_room(cell, entering, space))
        entrants[domain].update(entering)
    # A domain has no more pods than may enter it, as those whose volumes are in its zone.
    existing = [sum(column[kind] for kind in kinds for column in start) for kinds in entrants]
    most = [pods + min(pair) for pods, *pair in zip(staying, rooms, existing, strict=True)]
    size = counts.size
    return DomainRange(tuple(least[:size]), tuple(most[:size]), total, is_closed)


def _count_room(cell: NodeCell, entering: Sequence[int], space: StateSpace) -> int:
    """Count how many pods with the smallest requests of some kinds a cell has room for."""
    if not entering:
        return 0
    # Pods that were resized take other room than their replacements.
    kinds = {kind for one in entering for kind in (one, space.kinds[one].successor)}
    smallest = [
        min(amounts) for amounts in zip(*(space.requests[one] for one in kinds), strict=True)
    ]
    pairs = zip(cell.free, smallest, strict=True)
    room: int = min(free // wanted for free, wanted in pairs if wanted)
    return max(0, room)

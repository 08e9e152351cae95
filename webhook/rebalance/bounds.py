"""
The least number of evictions that a constraint requires, whatever else holds: ``GoalBound``.

If the least full domain has *m* pods in the end, no domain has more than *m* + maxSkew. Each
eviction takes one pod out of one domain and brings at most one into another, so at least as many
are needed as there are pods above the latter, and as there are pods missing below the former. The
bound is the smallest of these numbers over all *m* that the pods that stay, and the room, allow.

A domain of a soft constraint may be *optional*: without pods it counts only if a node of it takes
one. No pods are missing there for the bound, but whether the constraint holds is exact.
"""

from collections.abc import Callable, Collection, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from webhook.rebalance.cells import Column, NodeCell, State, StateSpace
from webhook.rebalance.counts import CellCounts, CompiledLimit
from webhook.rebalance.goals import GoalObstacle

UNREACHABLE = 1 << 30
"""A number of evictions that stands for a constraint that no evictions make hold."""


class DomainRange(msgspec.Struct, frozen=True):
    """
    The pods that each domain with eligible nodes can have, as far as is easily seen.

    Attributes:
        least: By domain, the pods that stay.
        most: By domain, those that it has, or has room for.
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


def find_range(counts: CellCounts, space: StateSpace, evictable: Sequence[bool]) -> DomainRange:
    """
    Find the range of each domain; O(cells x kinds).

    Args:
        evictable: By kind, whether its pods can be evicted at all.
    """
    least, most = list(counts.fixed), list(counts.fixed)
    domains, is_closed, total = dict(counts.eligible), True, sum(counts.fixed)
    for index, (cell, column) in enumerate(zip(space.cells, space.count_start(), strict=True)):
        entering = [kind for kind in counts.kinds if cell.passes[space.kinds[kind].successor]]
        present = sum(column[kind] for kind in counts.kinds)
        total += present
        if index not in domains:
            is_closed = is_closed and not present and not entering
            continue
        domain = domains[index]
        returning = sum(column[kind] for kind in entering)
        room = _count_room(cell, [space.requests[space.kinds[one].successor] for one in entering])
        least[domain] += sum(column[kind] for kind in counts.kinds if not evictable[kind])
        most[domain] += present - returning + max(returning, room)
    size = counts.size
    return DomainRange(tuple(least[:size]), tuple(most[:size]), total, is_closed)


def _count_room(cell: NodeCell, requests: Sequence[Column]) -> int:
    """Count how many pods with the smallest of some requests a cell has room for."""
    if not requests:
        return 0
    smallest = [min(amounts) for amounts in zip(*requests, strict=True)]
    pairs = zip(cell.free, smallest, strict=True)
    room: int = min(free // wanted for free, wanted in pairs if wanted)
    return max(0, room)


DomainFilter: TypeAlias = Callable[[State, Collection[int]], AbstractSet[int]]
"""Finds domains of which a node takes a pod, among them those of some empty ones that do."""


class DomainOpenings(msgspec.Struct, frozen=True):
    """
    When the domains of a constraint count.

    Attributes:
        domains: All domains of a soft constraint; none of a hard one, whose domains always count.
        optional: Those that may not count while they have no pods.
        find_open: None for a hard constraint.
    """

    domains: frozenset[int] = frozenset()
    optional: frozenset[int] = frozenset()
    find_open: DomainFilter | None = None

    @property
    def without_limits(self) -> "DomainOpenings":
        """The same if other pods may take the room of any domain."""
        return replace(self, optional=self.domains)

    def list_counted(self, pods: Sequence[int], state: State) -> list[int]:
        """List the pods of the domains that count in a state."""
        empty = {domain for domain in self.optional if not pods[domain]}
        opened = self.find_open(state, empty) if self.find_open and empty else empty
        closed = empty - opened
        return [number for domain, number in enumerate(pods) if domain not in closed]


ALWAYS_OPEN = DomainOpenings()
"""Those of a hard constraint."""


class GoalBound(msgspec.Struct, frozen=True):
    """
    The bound of one constraint.

    Attributes:
        lowest: The smallest number of pods of the least full domain that is possible.
        highest: The largest.
        obstacle: Why the constraint can never hold; None if there are such numbers.
        obstacle_domains: The domains in which the obstacle is; empty if it is in none.
        openings: When the domains count.
    """

    counts: int
    size: int
    max_skew: int
    lowest: int
    highest: int
    obstacle: GoalObstacle | None = None
    obstacle_domains: tuple[int, ...] = ()
    openings: DomainOpenings = ALWAYS_OPEN

    def bound(self, pods: Sequence[int], state: State = ()) -> int:
        """
        Bound the evictions from below; 0 exactly if the constraint holds.

        Args:
            pods: By domain.
            state: The state that has them; matters only to soft constraints.
        """
        least = self.find_level(pods)[0]
        if not self.openings.optional or least >= UNREACHABLE:
            return least
        counted = self.openings.list_counted(pods[: self.size], state)
        holds = max(counted, default=0) - min(counted, default=0) <= self.max_skew
        return 0 if holds else max(1, least)

    def find_level(self, pods: Sequence[int]) -> tuple[int, int]:
        """
        Find the number of pods of the least full domain that takes the fewest evictions.

        Returns:
            The evictions that it takes at least, and the most pods that a domain then has.
        """
        if self.obstacle is not None:
            return UNREACHABLE, self.max_skew
        inside, low, high = pods[: self.size], self.lowest, self.highest
        # A larger minimum has fewer pods above the limit, and more missing below.
        while low < high:
            middle = (low + high) // 2
            if self._missing(inside, middle) >= self._above(inside, middle):
                high = middle
            else:
                low = middle + 1
        levels = {low, max(self.lowest, low - 1)}
        bound, level = min(
            (max(self._missing(inside, one), self._above(inside, one)), one) for one in levels
        )
        return bound, level + self.max_skew

    def _above(self, pods: Sequence[int], minimum: int) -> int:
        limit = minimum + self.max_skew
        return sum([number - limit for number in pods if number > limit])

    def _missing(self, pods: Sequence[int], minimum: int) -> int:
        if optional := self.openings.optional:
            pods = [number for domain, number in enumerate(pods) if domain not in optional]
        return sum([minimum - number for number in pods if number < minimum])


def bound_goal(
    limit: CompiledLimit,
    size: int,
    reach: DomainRange,
    openings: DomainOpenings = ALWAYS_OPEN,
) -> GoalBound:
    """
    Find the numbers of pods that the least full domain can have in the end.

    Args:
        openings: When the domains count.
    """
    has_minimum = size >= max(1, limit.min_domains)
    fixed = max(0, max(reach.least, default=0) - limit.max_skew)
    required = [domain for domain in range(size) if domain not in openings.optional]
    free = _find_minimum(reach, required) if has_minimum else 0
    most = [reach.most[domain] for domain in required]
    highest = min(free, *most) if has_minimum and most else free
    lowest = max(fixed, _find_limit(reach, highest + limit.max_skew) - limit.max_skew)
    bound = GoalBound(
        limit.counts,
        size,
        limit.max_skew,
        lowest,
        highest,
        openings=openings,
    )
    if lowest <= highest:
        return bound
    if not has_minimum:
        return replace(bound, obstacle=GoalObstacle.TOO_FEW_DOMAINS)
    if fixed > free:
        domains = _find_domains(reach.least, max(reach.least))
        return replace(bound, obstacle=GoalObstacle.FIXED_PODS, obstacle_domains=domains)
    domains = tuple(one for one in required if reach.most[one] == min(most))
    return replace(bound, obstacle=GoalObstacle.NO_NODES, obstacle_domains=domains)


def _find_domains(pods: Sequence[int], number: int) -> tuple[int, ...]:
    """Find the domains with a number of pods."""
    return tuple(domain for domain, found in enumerate(pods) if found == number)


def _find_minimum(reach: DomainRange, required: Sequence[int]) -> int:
    """Find how many pods some domains can have, beside those that stay; their room is ignored."""
    least = [reach.least[domain] for domain in required]
    if not least:
        return reach.total
    numbers = range(reach.total // len(least), 0, -1)
    fitting = (one for one in numbers if sum(max(one, n) for n in least) <= reach.total)
    return next(fitting, 0)


def _find_limit(reach: DomainRange, highest: int) -> int:
    """Find how many pods the fullest domain has at least if all have a place; at most 1 more."""
    if not reach.is_closed:
        return 0
    limits = range(highest + 1)
    return next((most for most in limits if _hold(reach, most) >= reach.total), highest + 1)


def _hold(reach: DomainRange, most: int) -> int:
    """Count the pods that the domains can have together if none has more than a number."""
    return sum(min(one, most) for one in reach.most)

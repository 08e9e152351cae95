"""
The least number of evictions that a constraint requires, whatever else holds: ``GoalBound``.

If the least full domain has *m* pods in the end, no domain has more than *m* + maxSkew. Each
eviction takes one pod out of one domain and brings at most one into another, so at least as many
are needed as there are pods above the latter, and as there are pods missing below the former. The
bound is the smallest of these numbers over all *m* that the pods that stay, and the room, allow.

A domain of a soft constraint may be *optional*: without counted pods it counts only if a node of it
takes one. That it does not count in the end requires evictions, too: all its counted pods leave,
and other pods come until it has no room. There is a bound for each number of such domains, as if
those with fewest pods had least room.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from webhook.rebalance.cells import State
from webhook.rebalance.counts import CompiledLimit
from webhook.rebalance.goals import GoalObstacle
from webhook.rebalance.openings import ALWAYS_OPEN, DomainOpenings
from webhook.rebalance.ranges import DomainRange

UNREACHABLE = 1 << 30
"""A number of evictions that stands for a constraint that no evictions make hold."""


class EvictionBound(NamedTuple):
    """
    The least numbers of evictions in one case.

    Attributes:
        counted: Evictions of pods that the constraint counts.
        others: Evictions of other pods.
        level: The most pods that a domain has in the end.
    """

    counted: int
    others: int
    level: int

    @property
    def total(self) -> int:
        """Evictions of all pods."""
        return self.counted + self.others


class GoalBound(msgspec.Struct, frozen=True):
    """
    The bound of one constraint.

    Attributes:
        lowest: The smallest number of pods of the least full domain that is possible in the end.
        highest: The largest, by number of optional domains that do not count in the end.
        obstacle: Why the constraint can never hold; None if there are such numbers.
        obstacle_domains: The domains in which the obstacle is; empty if it is in none.
        openings: When the domains count.
    """

    counts: int
    size: int
    max_skew: int
    lowest: int
    highest: tuple[int, ...]
    obstacle: GoalObstacle | None = None
    obstacle_domains: tuple[int, ...] = ()
    openings: DomainOpenings = ALWAYS_OPEN

    def find_least(self, pods: Sequence[int], state: State = ()) -> EvictionBound:
        """
        Find the case with the fewest evictions, which is a bound; 0 exactly if the goal holds.

        Args:
            pods: By domain.
            state: The state that has them; matters only to soft constraints.
        """
        return min(self.list_cases(pods, state), key=lambda case: case.total)

    def list_cases(self, pods: Sequence[int], state: State = ()) -> list[EvictionBound]:
        """
        List the cases, at least one; all plans are in one of them.

        Returns:
            Each has fewer evictions of counted pods, and at least as many others, than those
            before it.
        """
        if self.obstacle is not None:
            return [EvictionBound(UNREACHABLE, 0, self.max_skew)]
        inside = pods[: self.size]
        counted, level = self._find_level(Counter(inside), self.highest[0])
        emptiest = min((inside[domain] for domain in self.openings.optional), default=UNREACHABLE)
        # It takes no fewer evictions to empty a domain.
        if emptiest and emptiest >= counted:
            return [EvictionBound(counted, 0, level)]
        rooms = self.openings.find_rooms(state, inside)
        numbers = [pods for domain, pods in enumerate(inside) if pods or rooms.get(domain, 1)]
        fullest = max(numbers, default=0)
        if fullest - min(numbers, default=0) <= self.max_skew:
            return [EvictionBound(0, 0, fullest)]
        return list(self._list_closings(inside, rooms))

    def _list_closings(
        self, pods: Sequence[int], rooms: Mapping[int, int]
    ) -> Iterator[EvictionBound]:
        """Yield the cases of a constraint with optional domains that does not hold."""
        leaving = sorted([pods[domain] for domain in rooms])
        coming = sorted(rooms.values()) if self.openings.is_filled_up else [0] * len(rooms)
        left, come = [*accumulate(leaving, initial=0)], [*accumulate(coming, initial=0)]
        free = min(leaving.count(0), coming.count(0))
        remaining, fewest = Counter(pods), UNREACHABLE + 1
        remaining[0] -= free
        for closed in range(free, len(left)):
            if closed > free:
                remaining[leaving[closed - 1]] -= 1
            if left[closed] >= fewest:
                return
            counted, level = self._find_level(remaining, self.highest[closed], left[closed])
            if counted < fewest:
                fewest = counted
                # Some pod has to move, even if it is not known which.
                yield EvictionBound(counted, max(come[closed], 1 - counted), level)

    def _find_level(
        self, pods: Mapping[int, int], highest: int, leaving: int = 0
    ) -> tuple[int, int]:
        """
        Find the number of pods of the least full domain that takes the fewest evictions.

        Args:
            pods: Number of pods -> domains that have it, of those that count in the end.
            leaving: Pods of the other domains.

        Returns:
            The evictions that it takes at least, and the most pods that a domain then has.
        """
        if self.lowest > highest:
            return UNREACHABLE, self.max_skew
        domains = [(number, times) for number, times in pods.items() if times]
        low, high = self.lowest, highest
        # A larger minimum has fewer pods above the limit, and more missing below.
        while low < high:
            middle = (low + high) // 2
            if _count_missing(domains, middle) >= leaving + self._count_above(domains, middle):
                high = middle
            else:
                low = middle + 1
        bound, level = min(
            (max(_count_missing(domains, one), leaving + self._count_above(domains, one)), one)
            for one in {low, max(self.lowest, low - 1)}
        )
        return bound, level + self.max_skew

    def _count_above(self, domains: Sequence[tuple[int, int]], minimum: int) -> int:
        limit = minimum + self.max_skew
        return sum([(number - limit) * times for number, times in domains if number > limit])


def _count_missing(domains: Sequence[tuple[int, int]], minimum: int) -> int:
    return sum([(minimum - number) * times for number, times in domains if number < minimum])


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
    openings = openings.without({domain for domain, pods in enumerate(reach.least) if pods})
    required = [domain for domain in range(size) if domain not in openings.optional]
    has_minimum = size >= max(1, limit.min_domains)
    highest = tuple(_list_highest(reach, required)) if has_minimum else (0,)
    lowest = max(0, max((reach.find_limit(), *reach.least)) - limit.max_skew)
    bound = GoalBound(limit.counts, size, limit.max_skew, lowest, highest, openings=openings)
    if lowest <= highest[-1]:
        return bound
    if not has_minimum:
        return replace(bound, obstacle=GoalObstacle.TOO_FEW_DOMAINS)
    kept = reach.keep(required)
    if max(reach.least) - limit.max_skew > kept.find_minimum():
        domains = _find_domains(reach.least, max(reach.least))
        return replace(bound, obstacle=GoalObstacle.FIXED_PODS, obstacle_domains=domains)
    domains = tuple(one for one in required if reach.most[one] == min(kept.most))
    return replace(bound, obstacle=GoalObstacle.NO_NODES, obstacle_domains=domains)


def _list_highest(reach: DomainRange, required: Sequence[int]) -> Iterator[int]:
    """
    Yield the most pods of the least full domain if 0, 1, and so on, of the others do not count.

    Args:
        required: The domains that always count.
    """
    always = reach.keep(required)
    others = sorted(set(range(len(reach.least))).difference(required), key=reach.most.__getitem__)
    for closed in range(len(others) + 1):
        free = always.find_minimum(len(others) - closed)
        # The domains with least room do not count.
        fewest = (reach.most[domain] for domain in others[closed : closed + 1])
        yield min((free, *always.most, *fewest))


def _find_domains(pods: Sequence[int], number: int) -> tuple[int, ...]:
    """Find the domains with a number of pods."""
    return tuple(domain for domain, found in enumerate(pods) if found == number)

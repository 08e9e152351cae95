"""
The domains of a soft constraint that count in each state of a search: ``DomainOpenings``.

A domain with counted pods counts. Without them it does if a node of it passes all filters but that
of constraints. If all pods that may move are counted, an empty domain has none of them, so that
this is the same in all states; otherwise other pods that move may take the room.
"""

import dataclasses
from collections.abc import Callable, Container, Sequence
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from webhook.policy.placement.filters.cluster import SchedulingCluster
from webhook.policy.placement.tallies import PodTally
from webhook.rebalance.cells import AMPLE, Column, State, StateSpace
from webhook.rebalance.counts import CellCounts
from webhook.rebalance.goals import SpreadGoal, shares_goal
from webhook.rebalance.kinds import SortedPods
from webhook.rebalance.model import has_room
from webhook.rebalance.opendomains import find_open

RoomCounter: TypeAlias = Callable[[State, Sequence[int]], Sequence[int]]
"""
Counts, by domain, how many more pods have to come, at least, before it has no room.

Args are a state and its counted pods by domain. Pods that the constraint counts are left out.
"""


class DomainOpenings(msgspec.Struct, frozen=True):
    """
    When the domains of a constraint count.

    Attributes:
        emptiable: The domains of a soft constraint that counted pods can leave; none of a hard one.
        optional: Those of them that may not count while they have no counted pods.
        count_rooms: None if the optional ones then never count.
        is_filled_up: Whether a domain with room counts until so many pods have come that the
            constraint does not count; otherwise any eviction may be enough.
    """

    emptiable: frozenset[int] = frozenset()
    optional: frozenset[int] = frozenset()
    count_rooms: RoomCounter | None = None
    is_filled_up: bool = True

    @property
    def without_limits(self) -> "DomainOpenings":
        """The same if pods that are not looked at may take the room of any domain."""
        return DomainOpenings(self.emptiable, self.emptiable)

    def without(self, domains: Container[int]) -> "DomainOpenings":
        """The same if some domains always have counted pods."""
        left = frozenset(domain for domain in self.optional if domain not in domains)
        return replace(self, optional=left)

    def find_rooms(self, state: State, pods: Sequence[int]) -> dict[int, int]:
        """
        Find the room of each optional domain; one without counted pods counts if it has some.

        Args:
            pods: By domain.
        """
        rooms = self.count_rooms(state, pods) if self.count_rooms else [0] * len(pods)
        return {domain: rooms[domain] for domain in self.optional}


ALWAYS_OPEN = DomainOpenings()
"""Those of a hard constraint."""


def may_close(goal: SpreadGoal, pods: SortedPods) -> bool:
    """Whether pods that move may decide if a domain counts that has no counted pods."""
    if goal.is_hard:
        return False
    replacements = [kind.replacement for kind in pods.kinds]
    return any(
        not goal.counts(pod) or bool(pod.affinity or pod.anti_affinity) for pod in replacements
    )


def compile_openings(
    goal: SpreadGoal,
    tally: PodTally,
    counts: CellCounts,
    space: StateSpace,
    cluster: SchedulingCluster,
) -> DomainOpenings:
    """
    Find when the domains of a goal count.

    Args:
        tally: Of the goal, without the pods that may move.
        cluster: Without the pods that may move.
    """
    if goal.is_hard:
        return ALWAYS_OPEN
    empty = frozenset(domain for domain in range(counts.size) if not counts.fixed[domain])
    if not may_close(goal, space.pods):
        opened = find_open(goal.pods, tally, tally.domains.sizes, cluster)
        closed = frozenset(domain for domain in empty if counts.values[domain] not in opened)
        return DomainOpenings(empty, closed)
    if not space.pods.is_simple:
        count_open = _filter_states(goal, tally, counts, space, cluster)
        return DomainOpenings(empty, empty, count_open, is_filled_up=False)
    kinds, others = _find_kinds(goal, space, cluster), _find_others(counts, space)
    count_rooms = _count_rooms(kinds, others, counts, space)
    # A domain with room for all other pods always counts.
    most = sum(column[kind] for column in space.count_start() for kind in others)
    vacant = count_rooms(((0,) * len(space.kinds),) * len(space.cells), ())
    closable = frozenset(domain for domain in empty if vacant[domain] <= most)
    return DomainOpenings(empty, closable, count_rooms)


def _find_kinds(goal: SpreadGoal, space: StateSpace, cluster: SchedulingCluster) -> list[int]:
    """Find the kinds of pods that have a goal."""
    topology, census = cluster.topology, cluster.placed.census
    return [
        kind.successor for kind in space.kinds if shares_goal(kind.example, goal, topology, census)
    ]


def _find_others(counts: CellCounts, space: StateSpace) -> list[int]:
    """Find the kinds that do not count."""
    return [kind for kind in range(len(space.kinds)) if kind not in counts.kinds]


def _count_rooms(
    kinds: Sequence[int], others: Sequence[int], counts: CellCounts, space: StateSpace
) -> RoomCounter:
    """Return the function that finds the room for some kinds beside pods of others."""
    requests, entered = space.requests, list[tuple[int, int, Column, list[Column]]]()
    for index, domain in counts.eligible:
        cell = space.cells[index]
        if wanted := [requests[kind] for kind in kinds if cell.passes[kind]]:
            entered.append((index, domain, cell.free, wanted))

    def count(state: State, _: Sequence[int]) -> Sequence[int]:
        rooms = [0] * counts.size
        for index, domain, free, wanted in entered:
            column = state[index]
            if len(free) == 1:
                rooms[domain] += max(0, free[0] - sum([column[kind] for kind in others]))
            elif free[0] >= AMPLE:
                rooms[domain] += AMPLE
            else:
                remaining = tuple(pods * (kind in others) for kind, pods in enumerate(column))
                # One pod may take the room for all.
                rooms[domain] += any(has_room(one, free, remaining, requests) for one in wanted)
        return rooms

    return count


def _filter_states(
    goal: SpreadGoal,
    tally: PodTally,
    counts: CellCounts,
    space: StateSpace,
    cluster: SchedulingCluster,
) -> RoomCounter:
    """Return the function that runs all filters beside the pods of a state."""

    def count(state: State, pods: Sequence[int]) -> Sequence[int]:
        empty = {counts.values[domain] for domain, number in enumerate(pods) if not number}
        opened = find_open(goal.pods, tally, empty, place_state(state, space, cluster))
        return [value in opened for value in counts.values]

    return count


def place_state(state: State, space: StateSpace, cluster: SchedulingCluster) -> SchedulingCluster:
    """
    Return the cluster with the pods of a state.

    Args:
        cluster: Without the pods that may move.
    """
    placed = cluster.placed.copy()
    for node, column in zip(space.nodes, state, strict=True):
        for index, number in enumerate(column):
            for _ in range(number):
                placed.add(space.kinds[index].placed, node.name)
    return dataclasses.replace(cluster, placed=placed)

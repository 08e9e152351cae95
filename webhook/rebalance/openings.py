"""
The domains of a soft constraint that count in each state of a search: ``compile_openings``.

A domain with counted pods counts. Without them it does if a node of it passes all filters but that
of constraints. If all pods that may move are counted, an empty domain has none of them, so that
this is the same in all states; otherwise other pods that move may take the room.
"""

import dataclasses
from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet

from webhook.policy.placement.filters.cluster import SchedulingCluster
from webhook.policy.placement.tallies import PodTally
from webhook.rebalance.bounds import ALWAYS_OPEN, DomainFilter, DomainOpenings
from webhook.rebalance.cells import AMPLE, State, StateSpace
from webhook.rebalance.counts import CellCounts
from webhook.rebalance.goals import SpreadGoal, shares_goal
from webhook.rebalance.kinds import SortedPods
from webhook.rebalance.model import RebalanceModel
from webhook.rebalance.opendomains import find_open


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
    model: RebalanceModel,
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
    space = model.space
    fixed = {domain for domain in range(counts.size) if counts.fixed[domain]}
    if not may_close(goal, space.pods):
        opened = find_open(goal.pods, tally, tally.domains.sizes, cluster)
        return _join(counts, fixed | {counts.values.index(value) for value in opened}, None)
    if not space.pods.is_simple:
        return _join(counts, fixed, _filter_states(goal, tally, counts, space, cluster))
    kinds = _find_kinds(goal, space, cluster)
    return _join(
        counts, fixed | _find_ample(kinds, counts, space), _find_room(kinds, counts, model)
    )


def _join(
    counts: CellCounts, always: AbstractSet[int], find_later: DomainFilter | None
) -> DomainOpenings:
    """Join the domains that always count with those that other pods may close."""

    def find(state: State, empty: Collection[int]) -> AbstractSet[int]:
        unknown = [domain for domain in empty if domain not in always]
        if find_later is None or not unknown:
            return always
        return always | find_later(state, unknown)

    domains = frozenset(range(counts.size))
    return DomainOpenings(domains, domains - always, find)


def _find_kinds(goal: SpreadGoal, space: StateSpace, cluster: SchedulingCluster) -> list[int]:
    """Find the kinds of pods that have a goal."""
    topology, census = cluster.topology, cluster.placed.census
    return [
        kind.successor for kind in space.kinds if shares_goal(kind.example, goal, topology, census)
    ]


def _find_ample(kinds: Sequence[int], counts: CellCounts, space: StateSpace) -> set[int]:
    """Find the domains where there is room wherever the pods that may move are."""
    return {
        domain
        for cell, domain in counts.eligible
        if space.cells[cell].free[0] >= AMPLE and any(space.cells[cell].passes[k] for k in kinds)
    }


def _find_room(kinds: Sequence[int], counts: CellCounts, model: RebalanceModel) -> DomainFilter:
    """Return the function that looks for room beside the pods of a state."""
    inside = dict(counts.eligible)

    def find(state: State, empty: Collection[int]) -> AbstractSet[int]:
        cells = {cell for kind in kinds for cell in model.find_room(state, kind)}
        return {inside[cell] for cell in cells if cell in inside}.intersection(empty)

    return find


def _filter_states(
    goal: SpreadGoal,
    tally: PodTally,
    counts: CellCounts,
    space: StateSpace,
    cluster: SchedulingCluster,
) -> DomainFilter:
    """Return the function that runs all filters beside the pods of a state."""

    def find(state: State, empty: Collection[int]) -> AbstractSet[int]:
        trial = place_state(state, space, cluster)
        found = find_open(goal.pods, tally, {counts.values[domain] for domain in empty}, trial)
        return {counts.values.index(value) for value in found}

    return find


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

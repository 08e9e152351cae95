"""
Turn pods, constraints and a cluster into a ``RebalanceModel``: ``compile_model``.

The filters run once beside the pods that stay. If filters other than those of resources and
constraints look at pods that move, they run in every state.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from webhook.policy.model import HOSTNAME
from webhook.policy.placement.filters.cluster import SchedulingCluster
from webhook.policy.placement.filters.run import prepare_filters
from webhook.policy.placement.place import ConstraintTallies, tally_constraints
from webhook.policy.placement.scoring import score_nodes
from webhook.policy.placement.tallies import PodTally
from webhook.rebalance.bounds import GoalBound, bound_goal
from webhook.rebalance.budgets import PodDisruptionBudget
from webhook.rebalance.cells import NodeLimit, State, StateSpace, divide_nodes
from webhook.rebalance.counts import CellCounts, CompiledLimit, compile_counts
from webhook.rebalance.goals import SpreadGoal
from webhook.rebalance.kinds import SortedPods, sort_pods
from webhook.rebalance.model import (
    CellFilter,
    CellRanking,
    KindRules,
    RebalanceModel,
    find_evictable,
)
from webhook.rebalance.openings import compile_openings, may_close, place_state
from webhook.rebalance.pods import WorkloadPod
from webhook.rebalance.ranges import find_range

MOST_EASINGS = 15
"""Values of maxSkew between that of a soft constraint and its skew that are tried in its place."""


class CompiledPlan(msgspec.Struct, frozen=True):
    """
    A model with what leads back to the cluster.

    Attributes:
        bounds: By goal, in the order of the goals.
        loose_bounds: The same if room, and pods that stay, are left out of account.
        easings: By goal, the bounds with larger values of maxSkew, increasing up to the skew at the
            start; empty for a hard constraint, and for one that holds.
    """

    space: StateSpace
    model: RebalanceModel
    bounds: tuple[GoalBound, ...]
    loose_bounds: tuple[GoalBound, ...]
    easings: tuple[tuple[GoalBound, ...], ...]

    def name_obstacle_domains(self, goal: int) -> tuple[str, ...]:
        """Return the topology values of the domains in which the obstacle of a goal is."""
        bound = self.bounds[goal]
        values = self.model.counts[bound.counts].values
        return tuple(values[domain] for domain in bound.obstacle_domains)


class _CountsTable:
    """The different counts of a model, each once."""

    def __init__(self, space: StateSpace) -> None:
        self._space = space
        self.counts: list[CellCounts] = []
        self._known: dict[CellCounts, int] = {}

    def add(self, tally: PodTally, namespace: str) -> CompiledLimit:
        counts = compile_counts(tally, namespace, self._space)
        index = self._known.setdefault(counts, len(self.counts))
        if index == len(self.counts):
            self.counts.append(counts)
        spread = tally.spread
        return CompiledLimit(index, spread.max_skew, spread.min_domains, tally.matches_pod)


def compile_model(
    pods: Sequence[WorkloadPod],
    goals: Sequence[SpreadGoal],
    cluster: SchedulingCluster,
    budgets: Sequence[PodDisruptionBudget],
    *,
    assumes_room: bool,
) -> CompiledPlan:
    """
    Compile a model of some pods.

    Args:
        pods: Those that may move; at least one, all on nodes of the cluster.
        goals: The constraints that are to hold.
        cluster: With all pods.
        assumes_room: Whether to begin with the assumption of ``StateSpace.assume_room``.
    """
    rest = remove_pods(cluster, pods)
    sorted_pods = sort_pods(pods, rest, budgets)
    topology, census = rest.topology, rest.placed.census
    tallies = [
        tally_constraints(kind.replacement, kind.spreads, topology, census)
        for kind in sorted_pods.kinds
    ]
    wanted = [goal.tally(topology, census) for goal in goals]
    seen = [*wanted, *(tally for one in tallies for tally in (*one.hard, *one.soft))]
    # With a limit, room that other pods take may be missed.
    is_limited = not any(may_close(goal, sorted_pods) for goal in goals)
    node_limits = list(_limit_nodes(tallies, sorted_pods)) if is_limited else []
    space = divide_nodes(sorted_pods, seen, node_limits, rest)
    if assumes_room:
        space = space.assume_room()
    table = _CountsTable(space)
    namespaces = [goal.pod.namespace for goal in goals]
    limits = [table.add(one, name) for one, name in zip(wanted, namespaces, strict=True)]
    rules = list(_list_rules(tallies, table, space, rest))
    model = RebalanceModel(space, table.counts, rules, budgets)
    evictable = find_evictable(space.pods, budgets)
    bounds, loose_bounds = list[GoalBound](), list[GoalBound]()
    easings: list[tuple[GoalBound, ...]] = []
    for goal, tally, limit in zip(goals, wanted, limits, strict=True):
        counts = table.counts[limit.counts]
        reach = find_range(counts, space, evictable)
        openings = compile_openings(goal, tally, counts, space, rest)
        bounds.append(bound_goal(limit, counts.size, reach, openings))
        loosened = reach.without_limits, openings.without_limits
        loose_bounds.append(bound_goal(limit, counts.size, *loosened))
        eased = (replace(limit, max_skew=skew) for skew in _list_larger_skews(goal, cluster))
        easings.append(tuple(bound_goal(one, counts.size, reach, openings) for one in eased))
    return CompiledPlan(space, model, tuple(bounds), tuple(loose_bounds), tuple(easings))


def _list_larger_skews(goal: SpreadGoal, cluster: SchedulingCluster) -> list[int]:
    """List the skews up to that of a soft constraint that does not hold."""
    skew, allowed = goal.tally_open(cluster).largest_skew, goal.spread.max_skew
    if goal.is_hard or skew <= allowed:
        return []
    return [*range(allowed + 1, skew)[:MOST_EASINGS], skew]


def remove_pods(cluster: SchedulingCluster, pods: Iterable[WorkloadPod]) -> SchedulingCluster:
    """Return the cluster without some of its pods."""
    placed = cluster.placed.copy()
    for one in pods:
        placed.remove(one.pod, one.pod.node_name)
    return dataclasses.replace(cluster, placed=placed)


def _limit_nodes(tallies: Sequence[ConstraintTallies], pods: SortedPods) -> Iterator[NodeLimit]:
    """
    Yield what hard constraints that all pods have, and that count all of them, say of a node.

    A domain takes one more pod only if it has no more than the global minimum, which is at most the
    average, and maxSkew less one; so does each of its nodes.
    """
    labels = [kind.replacement.labels for kind in pods.kinds]
    namespaces = {kind.replacement.namespace for kind in pods.kinds}
    total = sum(map(len, pods.members.values()))
    for tally in tallies[0].hard:
        spread = tally.spread
        shared = (spread, tally.domains)
        is_shared = all(shared in [(t.spread, t.domains) for t in one.hard] for one in tallies)
        counts_all = len(namespaces) == 1 and all(map(spread.counts, labels))
        if is_shared and counts_all:
            average = (total + sum(tally.pods.values())) // max(1, len(tally.domains.sizes))
            yield NodeLimit(average + spread.max_skew, tally.domains.values)


def _list_rules(
    tallies: Iterable[ConstraintTallies],
    table: _CountsTable,
    space: StateSpace,
    cluster: SchedulingCluster,
) -> Iterator[KindRules]:
    passing = None if space.pods.is_simple else _filter_cells(space, cluster)
    for kind, found in zip(space.kinds, tallies, strict=True):
        namespace = kind.replacement.namespace
        hard = tuple(table.add(tally, namespace) for tally in found.hard)
        soft = [(tally, table.add(tally, namespace).counts) for tally in found.soft]
        scored = [(tally, table.counts[index]) for tally, index in soft]
        needs_keys = kind.spreads.requires_keys
        ranking = _rank_cells(scored, space, requires_keys=needs_keys) if scored else None
        yield KindRules(hard, passing, ranking)


def _filter_cells(space: StateSpace, cluster: SchedulingCluster) -> CellFilter:
    """Return the function that runs all filters but that of constraints."""

    def find_passing(rest: State, kind: int) -> Iterator[int]:
        trial = place_state(rest, space, cluster)
        filters = prepare_filters(space.kinds[kind].replacement, (), trial)
        for index, node in enumerate(space.nodes):
            if filters.reject(node) is None:
                yield index

    return find_passing


def _rank_cells(
    soft: Sequence[tuple[PodTally, CellCounts]], space: StateSpace, *, requires_keys: bool
) -> CellRanking:
    """Return the function that scores cells by constraints with ScheduleAnyway."""

    def rank(rest: State, passing: Sequence[int]) -> Sequence[int]:
        tallies = tuple(_count_again(tally, counts, rest, space) for tally, counts in soft)
        nodes = [space.cells[cell].nodes[0] for cell in passing]
        best = score_nodes(tallies, nodes, requires_keys=requires_keys).best
        return [space.index[name] for name in best]

    return rank


def _count_again(tally: PodTally, counts: CellCounts, state: State, space: StateSpace) -> PodTally:
    pods = dict(zip(counts.values, counts.count_pods(state), strict=True))
    by_node: Mapping[str, int] = tally.by_node
    if tally.spread.topology_key == HOSTNAME:  # counted by node, and each node is a cell
        by_node = {
            node.name: tally.by_node.get(node.name, 0) + sum(column[k] for k in counts.kinds)
            for node, column in zip(space.nodes, state, strict=True)
        }
    return replace(tally, pods=pods, by_node=by_node)

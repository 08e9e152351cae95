"""
The least number of evictions, by trying everything: an independent second opinion.

All states that evictions can lead to are listed, and solved backwards: a state is solved in n
evictions if all nodes that the scheduler may choose after some eviction lead to states that are
solved in fewer. A domain counts for a soft constraint if it has counted pods, or if a node of it
passes all other filters beside the pods of the state. Pods of the same workload that are alike are
not distinguished, and nothing else is optimized. Only the filters and scores are those of the
product, which are compared with kube-scheduler's.
"""

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from tests.rebalance.situations import Situation
from webhook.policy.model import DO_NOT_SCHEDULE, SCHEDULE_ANYWAY
from webhook.policy.placement.filters.placedpods import PlacedPods
from webhook.policy.placement.filters.run import filter_nodes
from webhook.policy.placement.nodes import find_mismatch, find_rejection
from webhook.policy.placement.place import tally_constraints
from webhook.policy.placement.scoring import score_nodes
from webhook.policy.placement.spreads import SpreadConstraint
from webhook.rebalance.budgets import PodDisruptionBudget
from webhook.rebalance.pods import WorkloadPod

Place: TypeAlias = tuple[int, str, bool]
"""The sort of a pod, its node, and whether it is ready."""

State: TypeAlias = tuple[Place, ...]
"""Sorted, so that pods of one sort are not distinguished."""

Goal: TypeAlias = tuple[WorkloadPod, SpreadConstraint]


class BruteForce:
    """The states of a situation, with the evictions of each."""

    def __init__(self, situation: Situation) -> None:
        self.situation, self.cluster = situation, situation.cluster
        moving = [one for one in situation.pods if one.obstacle is None]
        fixed = [one.pod for one in situation.pods if one.obstacle is not None]
        self.fixed = [*fixed, *situation.others]
        self.sorts: list[WorkloadPod] = []
        start = tuple(sorted((self._sort(one), one.pod.node_name, one.is_ready) for one in moving))
        self.start = start
        self.goals = self._list_goals()
        self.graph: dict[State, list[list[State]]] = {}
        pending = [start]
        while pending:
            state = pending.pop()
            if state not in self.graph:
                self.graph[state] = list(self._evict(state))
                pending += (after for choices in self.graph[state] for after in choices)

    def least(self) -> tuple[int, frozenset[int]]:
        """The evictions for as many goals as can be reached, and the goals."""
        held = [self._excess(goal, self.start) <= 0 for goal in self.goals]
        hard = [spread.constraint.when_unsatisfiable == DO_NOT_SCHEDULE for _, spread in self.goals]
        order = sorted(range(len(self.goals)), key=lambda i: (not hard[i], not held[i], i))
        reached: list[int] = []
        for goal in order:
            if self._solve([*reached, goal]) is not None:
                reached.append(goal)
        number = self._solve(reached)
        assert number is not None
        return number, frozenset(reached)

    def _solve(self, goals: Sequence[int]) -> int | None:
        holding = {
            state
            for state in self.graph
            if all(self._excess(self.goals[goal], state) <= 0 for goal in goals)
        }
        number, solved, before = 0, set(holding), 0
        while self.start not in solved:
            if len(solved) == before:
                return None
            before, number = len(solved), number + 1
            solved |= {
                state
                for state, evictions in self.graph.items()
                if any(solved.issuperset(choices) for choices in evictions)
            }
        return number

    def _sort(self, one: WorkloadPod) -> int:
        for index, known in enumerate(self.sorts):
            same = (known.workload, known.replacement.demands, known.replacement.requests)
            if same == (one.workload, one.replacement.demands, one.replacement.requests):
                return index
        self.sorts.append(one)
        return len(self.sorts) - 1

    def _list_goals(self) -> list[Goal]:
        found: list[Goal] = []
        for one in self.situation.pods:
            if one.obstacle is None:
                for spread in sorted(
                    (*one.spreads.hard, *one.spreads.soft), key=lambda spread: spread.index
                ):
                    if spread.counts(one.replacement.labels):
                        goal = (one, spread)
                        if not any(self._same(goal, other) for other in found):
                            found.append(goal)
        return found

    def _same(self, one: Goal, other: Goal) -> bool:
        first, second = one[1], other[1]
        fields = ("selector", "topology_key", "max_skew", "min_domains")
        is_equal = all(getattr(first, name) == getattr(second, name) for name in fields)
        is_alike = first.constraint.when_unsatisfiable == second.constraint.when_unsatisfiable
        return is_equal and is_alike and self._domains(one) == self._domains(other)

    def _domains(self, goal: Goal) -> dict[str, str]:
        """Eligible node -> domain; of a soft constraint only domains that the pod can go to."""
        one, spread = goal
        is_hard = spread.constraint.when_unsatisfiable == DO_NOT_SCHEDULE
        keys = [other.topology_key for other in (one.spreads.hard if is_hard else one.spreads.soft)]
        demands = one.replacement.demands.honoring(
            affinity=spread.honors_affinity, taints=spread.honors_taints
        )
        nodes = [one for one in self.situation.nodes if all(key in one.labels for key in keys)]
        reached = {
            node.labels[spread.topology_key]
            for node in nodes
            if is_hard or find_rejection(node, one.replacement.demands) is None
        }
        return {
            node.name: value
            for node in nodes
            if find_mismatch(node, demands) is None
            and (value := node.labels[spread.topology_key]) in reached
        }

    def _open(self, goal: Goal, state: State) -> set[str]:
        """Values of nodes that pass all filters but that of constraints beside all pods."""
        placed = PlacedPods(self.fixed)
        for sort, node, _ in state:
            placed.add(self.sorts[sort].replacement, node)
        cluster = dataclasses.replace(self.cluster, placed=placed)
        return {
            cluster.nodes[name].labels.get(goal[1].topology_key, "")
            for one in self.sorts
            if any(self._same((one, spread), goal) for spread in one.spreads.soft)
            for name in filter_nodes(one.replacement, (), cluster).passing
            if name in self._domains(goal)
        }

    def _excess(self, goal: Goal, state: State) -> int:
        one, spread = goal
        domains = self._domains(goal)
        placed = [(pod.namespace, pod.labels, pod.node_name) for pod in self.fixed]
        for sort, node, _ in state:
            pod = self.sorts[sort].replacement
            placed.append((pod.namespace, pod.labels, node))
        counts = Counter(dict.fromkeys(domains.values(), 0))
        for namespace, labels, node in placed:
            is_counted = namespace == one.replacement.namespace and spread.counts(labels)
            if is_counted and node in domains:
                counts[domains[node]] += 1
        if spread.constraint.when_unsatisfiable == SCHEDULE_ANYWAY and 0 in counts.values():
            opened = self._open(goal, state)
            counts = Counter({value: n for value, n in counts.items() if n or value in opened})
        if not counts:
            return 0
        minimum = min(counts.values()) if len(counts) >= spread.min_domains else 0
        return max(counts.values()) - minimum - spread.max_skew

    def _evict(self, state: State) -> Iterator[list[State]]:
        for position, (sort, _, is_ready) in enumerate(state):
            if state[position] in state[:position]:
                continue
            if not self._allows(state, sort, is_ready=is_ready):
                continue
            rest = (*state[:position], *state[position + 1 :])
            choices = list(self._choices(rest, self.sorts[sort]))
            if choices:
                yield [tuple(sorted((*rest, (sort, node, True)))) for node in choices]

    def _allows(self, state: State, sort: int, *, is_ready: bool) -> bool:
        pod = self.sorts[sort].pod
        covering = [one for one in self.situation.budgets if one.selects(pod.namespace, pod.labels)]
        if not covering:
            return True
        if len(covering) > 1 or covering[0].desired is None:
            return False
        first = covering[0]
        unready = self._count_unready(self.start, first)
        still = self._count_unready(state, first)
        healthy = first.healthy + unready - still
        desired = first.desired or 0
        if not is_ready and (first.allows_unhealthy or (desired > 0 and healthy >= desired)):
            return True
        return healthy - desired >= 1

    def _count_unready(self, state: State, budget: PodDisruptionBudget) -> int:
        pods = [(self.sorts[sort].pod, is_ready) for sort, _, is_ready in state]
        return sum(not ready and budget.selects(pod.namespace, pod.labels) for pod, ready in pods)

    def _choices(self, rest: State, one: WorkloadPod) -> Iterator[str]:
        placed = PlacedPods(self.fixed)
        for sort, node, _ in rest:
            placed.add(self.sorts[sort].replacement, node)
        cluster = dataclasses.replace(self.cluster, placed=placed)
        passing = filter_nodes(one.replacement, one.spreads.hard, cluster).passing
        if not one.spreads.soft or not passing:
            yield from passing
            return
        soft = tally_constraints(one.replacement, one.spreads, cluster.topology, placed.census).soft
        nodes = [cluster.nodes[name] for name in passing]
        scores = score_nodes(soft, nodes, requires_keys=True).normalized
        yield from (name for name in passing if scores[name] == max(scores.values()))

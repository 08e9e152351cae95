"""
The steps of a strategy on the cluster, proven by all filters: ``replay``.

Each replacement is placed again as kube-scheduler would, by all filters and by the score of
constraints with ScheduleAnyway, and goes where most evictions remain.
"""

from collections.abc import Iterator, Sequence

import msgspec

from webhook.policy.placement.filters.cluster import SchedulingCluster
from webhook.policy.placement.place import place_in_cluster
from webhook.rebalance.cells import Column, State
from webhook.rebalance.compilation import CompiledPlan
from webhook.rebalance.model import change_state
from webhook.rebalance.pods import WorkloadPod
from webhook.rebalance.search import Strategy


class EvictionStep(msgspec.Struct, frozen=True):
    """
    The eviction of one pod.

    Attributes:
        pod: Its name; a pod that is to be evicted again has the name of the pod that it replaced.
        node: Where it is.
        candidates: The nodes that the replacement may go to, at least one, in order.
        target: The one of them from which the plan goes on, a worst case. The candidates of later
            steps hold if the replacement is there.
        uid: The uid of the pod; empty if it is not known, or if the pod is to be evicted again.
    """

    namespace: str
    pod: str
    workload: str
    node: str
    candidates: tuple[str, ...]
    target: str
    uid: str = ""


def replay(
    compiled: CompiledPlan, strategy: Strategy, cluster: SchedulingCluster
) -> Iterator[EvictionStep]:
    """
    Yield the steps of a strategy in a worst case.

    Args:
        cluster: With all pods; its placed pods are moved along.
    """
    run = _Replay(compiled, strategy, cluster)
    while run.goes_on:
        yield run.step()


class _Replay:
    """The pods and nodes behind a state of the model."""

    def __init__(
        self, compiled: CompiledPlan, strategy: Strategy, cluster: SchedulingCluster
    ) -> None:
        self._compiled, self._strategy, self._cluster = compiled, strategy, cluster
        self._state, self._groups = compiled.space.count_start(), compiled.space.groups
        self._members = {place: list(pods) for place, pods in compiled.space.pods.members.items()}

    @property
    def goes_on(self) -> bool:
        return self._canonical in self._strategy

    @property
    def _canonical(self) -> State:
        return self._compiled.model.canonical(self._state)

    def step(self) -> EvictionStep:
        canonical, model = self._canonical, self._compiled.model
        kind, place = self._strategy[canonical].eviction
        cell = model.find_cell(self._state, place, canonical[place])
        node = self._choose_source(kind, cell)
        one = self._members[kind, node].pop(0)
        self._cluster.placed.remove(one.pod, node)
        self._state = change_state(self._state, cell, kind, -1)
        candidates = find_candidates(one, self._cluster)
        successor = model.kinds[kind].successor
        target = self._choose_target(candidates, successor)
        fresh = msgspec.structs.replace(one.replacement, uid="")
        moved = msgspec.structs.replace(one, pod=fresh, is_ready=True)
        self._cluster.placed.add(moved.pod, target)
        self._members.setdefault((successor, target), []).append(moved)
        self._state = change_state(self._state, self._find_cell(target), successor, 1)
        pod = one.pod
        return EvictionStep(
            pod.namespace, pod.name, one.workload, node, candidates, target, pod.uid
        )

    def _find_cell(self, node: str) -> int:
        return self._compiled.space.index[node]

    def _choose_source(self, kind: int, cell: int) -> str:
        """Choose the node of a cell with most of its pods, the first of those."""
        nodes = [node.name for node in self._compiled.space.cells[cell].nodes]
        having = [node for node in nodes if self._members.get((kind, node))]
        return max(having, key=self._count_members)

    def _count_members(self, node: str) -> int:
        kinds = range(len(self._compiled.space.kinds))
        return sum(len(self._members.get((kind, node), ())) for kind in kinds)

    def _choose_target(self, candidates: Sequence[str], kind: int) -> str:
        """Choose a node from which most evictions remain, of those the one with fewest pods."""
        known: dict[tuple[int, Column], int] = {}
        model = self._compiled.model

        def remaining(node: str) -> int:
            cell = self._find_cell(node)
            place = (self._groups[cell], self._state[cell])
            if place not in known:
                after = model.canonical(change_state(self._state, cell, kind, 1))
                following = self._strategy.get(after)
                known[place] = following.length if following else 0
            return known[place]

        return max(candidates, key=lambda node: (remaining(node), -self._count_members(node)))


def find_candidates(one: WorkloadPod, cluster: SchedulingCluster) -> tuple[str, ...]:
    """
    Find the nodes that kube-scheduler may choose for the replacement of a pod that has left.

    Other scores than that of topology spread constraints are not modelled, so that any node with
    the best of these scores may be chosen.
    """
    return place_in_cluster(one.replacement, one.spreads, cluster).best

"""
kube-scheduler for the pods of a rolling update: ``Placer``, the only place that places a pod.

A placement is that of ``Scenario.placement``, with the pods of a state on their nodes. What the
filters find for a node is kept for other states, as long as pods of other nodes do not change it.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence

import msgspec

from webhook.explain.newpods import NewPod
from webhook.explain.rollingupdate.signatures import sign_nodes
from webhook.explain.rollingupdate.state import NodePods, ReplicaKind, RolloutState
from webhook.explain.scenario import Scenario
from webhook.policy.placement.filters.rejections import FilterRejection
from webhook.policy.placement.filters.run import (
    NOTHING_KNOWN,
    FilterResult,
    NodeResults,
    filter_nodes,
)
from webhook.policy.placement.place import PodPlacement
from webhook.policy.placement.spreads import SpreadConstraint
from webhook.policy.placement.tallies import PodTally


class Placer:
    """
    Places pods of some kinds beside those of a state.

    Attributes:
        placements: Number of placements that were computed.
    """

    def __init__(self, scenario: Scenario, kinds: Sequence[ReplicaKind]) -> None:
        """
        Store the cluster.

        Args:
            scenario: The nodes, and the pods of other workloads alone.
            kinds: By their numbers.
        """
        self.kinds = kinds
        self.nodes = scenario.topology.nodes
        self.placements = 0
        self._others = scenario
        self._running, self._placed = scenario.copy_pods(), dict[str, NodePods]()
        self._spreads = _list_spreads(kinds)
        self._cache: dict[Hashable, tuple[PodPlacement, tuple[str, ...]]] = {}
        self._results: dict[int, FilterResult] = {}
        self._on_nodes: dict[tuple[int, str, NodePods], FilterRejection | None] = {}
        self._depends_on_others = any(
            pod.affinity or pod.anti_affinity or pod.volumes for kind in kinds for pod in kind.pods
        )

    @property
    def are_pods_alike(self) -> bool:
        """
        Whether all pods take the same of a node.

        Then a domain has room for a number of pods, whichever of its nodes they are on.
        """
        pods = [pod for kind in self.kinds for pod in kind.pods]
        has_room, first = not self._others.cluster.allocatable, pods[0]
        return not first.volumes and all(
            (has_room or pod.requests == first.requests)
            and (pod.ports, pod.volumes) == (first.ports, first.volumes)
            for pod in pods
        )

    def list_pending(self, state: RolloutState) -> list[int]:
        """List the kinds of the pending pods that may be placed, each as often as it has pods."""
        return [kind for kind in state.pending if self.kinds[kind].new is not None]

    def place(self, kind: int, state: RolloutState) -> PodPlacement:
        """Place a pending pod; O(nodes x constraints) unless it was placed in this state before."""
        return self._place(kind, state)[0]

    def tally(self, kind: int, state: RolloutState) -> list[PodTally]:
        """Count the pods of the constraints of a pod, of soft ones in reachable domains only."""
        tallies, demands = self.place(kind, state).tallies, self._find_new(kind).pod.demands
        return tallies.reachable(self._others.topology, demands).by_index

    def find_best(self, kind: int, state: RolloutState) -> tuple[str, ...]:
        """Find the best nodes for a pending pod, in order; none if no node takes it."""
        return self._place(kind, state)[1]

    def _place(self, kind: int, state: RolloutState) -> tuple[PodPlacement, tuple[str, ...]]:
        key = (kind, state.placed)
        found = self._cache.get(key)
        if found is None:
            self.placements += 1
            scenario = self._enter(self._find_new(kind), state)
            placement = scenario.placement(self._list_known(kind, state))
            for node, pods in state.placed:
                self._on_nodes[kind, node, pods] = placement.refused.get(node)
            found = self._cache[key] = placement, placement.best
        return found

    def _list_known(self, kind: int, state: RolloutState) -> NodeResults:
        """List what the filters find for nodes; nothing if it depends on pods of other nodes."""
        if self._depends_on_others:
            return NOTHING_KNOWN
        rejections = self._filter(kind).rejections
        known = {node.name: rejections.get(node.name) for node in self.nodes}
        for node, pods in state.placed:
            known.pop(node, None)
            if (kind, node, pods) in self._on_nodes:
                known[node] = self._on_nodes[kind, node, pods]
        return known

    def _filter(self, kind: int) -> FilterResult:
        """Filter all nodes without pods of the workload."""
        if kind not in self._results:
            pod = self._find_new(kind).pod
            self._results[kind] = filter_nodes(pod, (), self._others.cluster)
        return self._results[kind]

    def _find_new(self, kind: int) -> NewPod:
        new = self.kinds[kind].new
        assert new is not None, "only pods that may be placed are pending"
        return new

    def describe(self, kind: int, state: RolloutState) -> Scenario:
        """Return the scenario of a pending pod."""
        return self.enter(self._find_new(kind), state)

    def enter(self, new: NewPod, state: RolloutState) -> Scenario:
        """Return the scenario of a new pod beside those of a state."""
        return self._enter(new, state).copy_pods()

    def _enter(self, new: NewPod, state: RolloutState) -> Scenario:
        """Return the same without a copy of the pods: it is valid until the next call."""
        placed = dict(state.placed)
        for node in self._placed.keys() | placed.keys():
            self._change(node, self._placed.get(node, ()), placed.get(node, ()))
        self._placed = placed
        return new.enter(self._running)

    def _change(self, node: str, before: NodePods, after: NodePods) -> None:
        """Replace the pods of the workload on a node."""
        if before == after:
            return
        was, now, pods = Counter(before), Counter(after), self._running.cluster.placed
        for kind in (was - now).elements():
            pods.remove(self.kinds[kind].pod, node)
        for kind in (now - was).elements():
            pods.add(self.kinds[kind].pod, node)

    def list_keys(self) -> list[str]:
        """List the topology keys of all constraints, and of affinity."""
        pods = [pod for kind in self.kinds for pod in kind.pods]
        terms = [term for pod in pods for term in (*pod.affinity, *pod.anti_affinity)]
        spread = (spread.topology_key for _, spread in self._spreads)
        return sorted({*spread, *(term.topology_key for term in terms)})

    def sign_nodes(self, most: int) -> Mapping[str, Hashable]:
        """
        Return node name -> what distinguishes the node for all kinds besides its topology values.

        Args:
            most: Number of pods that the workload never exceeds.
        """
        results = [self._filter(kind.number) for kind in self.kinds if kind.new is not None]
        return sign_nodes(self._others.cluster, self.kinds, self._spreads, results, most)


def _list_spreads(kinds: Iterable[ReplicaKind]) -> list[tuple[str, SpreadConstraint]]:
    """List the different constraints of pods that may be placed, with their namespace."""
    found: dict[bytes, tuple[str, SpreadConstraint]] = {}
    for kind in kinds:
        if kind.new is not None:
            for spread in (*kind.new.spreads.hard, *kind.new.spreads.soft):
                found[msgspec.json.encode(spread)] = kind.new.pod.namespace, spread
    return list(found.values())

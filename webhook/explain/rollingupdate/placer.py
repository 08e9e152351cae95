"""
kube-scheduler for the pods of a rolling update: ``Placer``, the only place that places a pod.

A placement is that of ``Scenario.placement``; what other filters reject is found once for all
states, since the pods of a state do not change it.
"""

from collections.abc import Hashable, Iterable, Sequence

import msgspec

from webhook.explain.rollingupdate.state import ReplicaKind, RolloutState
from webhook.explain.scenario import Scenario
from webhook.policy.placement.census import Census
from webhook.policy.placement.filters.filterpods import FilterPod
from webhook.policy.placement.filters.run import FilterResult, filter_nodes
from webhook.policy.placement.nodes import Demands, find_mismatch
from webhook.policy.placement.place import PodPlacement, place_pod, tally_constraints
from webhook.policy.placement.spreads import SpreadConstraint


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
        self._scenario = scenario
        self._spreads = _list_spreads(kinds)
        self._others = self._count_others()
        self._cache: dict[Hashable, tuple[PodPlacement, tuple[str, ...]]] = {}
        self._rejections: dict[int, FilterResult] = {}

    def _count_others(self) -> Census:
        """Keep only the pods that some constraint counts, so that a copy of them is cheap."""
        census, kept = self._scenario.census, Census()
        seen: set[frozenset[tuple[str, str]]] = set()
        for namespace, spread in self._spreads:
            for labels, nodes in census.select(namespace, spread.selector):
                pairs = frozenset(labels.items())
                if pairs not in seen and nodes:
                    seen.add(pairs)
                    kept.add_alike(namespace, labels, nodes)
        return kept

    def list_pending(self, state: RolloutState) -> list[int]:
        """List the kinds of the pending pods that may be placed, each as often as it has pods."""
        return [kind for kind in state.pending if self.kinds[kind].new is not None]

    def place(self, kind: int, state: RolloutState) -> PodPlacement:
        """Place a pending pod; O(nodes x constraints) unless the same was asked before."""
        return self._place(kind, state)[0]

    def find_best(self, kind: int, state: RolloutState) -> tuple[str, ...]:
        """Find the best nodes for a pending pod, in order; none if no node takes it."""
        return self._place(kind, state)[1]

    def _place(self, kind: int, state: RolloutState) -> tuple[PodPlacement, tuple[str, ...]]:
        key = (kind, state.placed)
        found = self._cache.get(key)
        if found is None:
            self.placements += 1
            placement = self._compute(kind, self.describe(kind, state))
            found = self._cache[key] = placement, placement.best
        return found

    def _compute(self, kind: int, scenario: Scenario) -> PodPlacement:
        pod, topology = scenario.pod, scenario.topology
        tallies = tally_constraints(pod, scenario.spreads, topology, scenario.census)
        return place_pod(tallies, topology, self._filter(kind, pod))

    def _filter(self, kind: int, pod: FilterPod) -> FilterResult:
        if kind not in self._rejections:
            self._rejections[kind] = filter_nodes(pod, (), self._scenario.cluster)
        return self._rejections[kind]

    def describe(self, kind: int, state: RolloutState) -> Scenario:
        """Return the scenario of a pending pod."""
        new = self.kinds[kind].new
        assert new is not None, "only pods that may be placed are pending"
        scenario = self._scenario.copy_pods()
        census = scenario.cluster.placed.census = self._others.copy()
        placed: dict[int, dict[str, int]] = {}
        for node, pods in state.placed:
            for number in pods:
                nodes = placed.setdefault(number, {})
                nodes[node] = nodes.get(node, 0) + 1
        for number, nodes in placed.items():
            census.add_alike(self.kinds[number].namespace, self.kinds[number].labels, nodes)
        return new.enter(scenario)

    def list_keys(self) -> list[str]:
        """List the topology keys of all constraints."""
        return sorted({spread.topology_key for _, spread in self._spreads})

    def sign_nodes(self) -> dict[str, Hashable]:
        """
        Return node name -> what distinguishes the node for all kinds besides its topology values.

        Nodes with equal signatures are interchangeable if their values are.
        """
        demands = _list_demands(self.kinds, self._spreads)
        results = [
            self._filter(kind.number, kind.new.pod).rejections
            for kind in self.kinds
            if kind.new is not None
        ]
        counts = [
            self._others.count(namespace, spread.selector) for namespace, spread in self._spreads
        ]
        return {
            node.name: (
                tuple(find_mismatch(node, one) for one in demands),
                tuple(result.get(node.name) for result in results),
                tuple(count.get(node.name, 0) for count in counts),
            )
            for node in self.nodes
        }


def _list_spreads(kinds: Iterable[ReplicaKind]) -> list[tuple[str, SpreadConstraint]]:
    """List the different constraints of pods that may be placed, with their namespace."""
    found: dict[bytes, tuple[str, SpreadConstraint]] = {}
    for kind in kinds:
        if kind.new is not None:
            for spread in (*kind.new.spreads.hard, *kind.new.spreads.soft):
                found[msgspec.json.encode(spread)] = kind.new.pod.namespace, spread
    return list(found.values())


def _list_demands(
    kinds: Iterable[ReplicaKind], spreads: Iterable[tuple[str, SpreadConstraint]]
) -> list[Demands]:
    """List what decides which nodes count for constraints."""
    pods = {kind.new.pod.demands for kind in kinds if kind.new is not None}
    counting = {
        demands.honoring(affinity=spread.honors_affinity, taints=spread.honors_taints)
        for demands in pods
        for _, spread in spreads
    }
    return list(counting)

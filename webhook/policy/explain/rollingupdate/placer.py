"""
kube-scheduler for the pods of a rolling update: ``Placer``, the only place that places a pod.

What the filters and scores compute for one pod is ``Scenario.placement``.
"""

from collections.abc import Hashable, Iterable, Sequence

import msgspec
from msgspec.structs import replace

from webhook.policy.explain.rollingupdate.state import PodKind, RolloutState
from webhook.policy.explain.scenario import Scenario
from webhook.policy.model import Node
from webhook.policy.placement.census import Census
from webhook.policy.placement.nodes import Demands, find_mismatch, find_rejection
from webhook.policy.placement.place import PodPlacement
from webhook.policy.placement.spreads import SpreadConstraint


class Placer:
    """
    Places pods of some kinds beside those of a state.

    Attributes:
        placements: Number of placements that were computed.
    """

    def __init__(self, scenario: Scenario, kinds: Sequence[PodKind]) -> None:
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
        self._cache: dict[Hashable, PodPlacement] = {}

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
        key = (kind, state.placed)
        found = self._cache.get(key)
        if found is None:
            self.placements += 1
            found = self._cache[key] = self.describe(kind, state).placement()
        return found

    def describe(self, kind: int, state: RolloutState) -> Scenario:
        """Return the scenario of a pending pod."""
        new = self.kinds[kind].new
        assert new is not None, "only pods that may be placed are pending"
        census = self._others.copy()
        for node, pods in state.placed:
            for number in pods:
                placed = self.kinds[number]
                census.add(placed.namespace, placed.labels, node)
        return new.enter(replace(self._scenario, census=census))

    def list_keys(self) -> list[str]:
        """List the topology keys of all constraints."""
        return sorted({spread.topology_key for _, spread in self._spreads})

    def sign_nodes(self) -> dict[str, Hashable]:
        """
        Return node name -> what distinguishes the node for all kinds besides its topology values.

        Nodes with equal signatures are interchangeable if their values are.
        """
        demands = _list_demands(self.kinds, self._spreads)
        counts = [
            self._others.count(namespace, spread.selector) for namespace, spread in self._spreads
        ]
        return {
            node.name: (
                tuple(_judge(node, one) for one in demands),
                tuple(count.get(node.name, 0) for count in counts),
            )
            for node in self.nodes
        }


def _list_spreads(kinds: Iterable[PodKind]) -> list[tuple[str, SpreadConstraint]]:
    """List the different constraints of pods that may be placed, with their namespace."""
    found: dict[bytes, tuple[str, SpreadConstraint]] = {}
    for kind in kinds:
        if kind.new is not None:
            for spread in (*kind.new.spreads.hard, *kind.new.spreads.soft):
                found[msgspec.json.encode(spread)] = kind.new.pod.namespace, spread
    return list(found.values())


def _list_demands(
    kinds: Iterable[PodKind], spreads: Iterable[tuple[str, SpreadConstraint]]
) -> list[Demands]:
    """List what pods, and nodes that count for their constraints, are judged by."""
    pods = {kind.new.pod.demands for kind in kinds if kind.new is not None}
    counting = {
        demands.honoring(affinity=spread.honors_affinity, taints=spread.honors_taints)
        for demands in pods
        for _, spread in spreads
    }
    return [*pods, *counting - pods]


def _judge(node: Node, demands: Demands) -> Hashable:
    if demands.tolerations is None:
        return find_mismatch(node, demands)
    return find_rejection(node, demands), find_mismatch(node, demands)

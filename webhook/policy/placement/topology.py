"""
Topology: the domains that the nodes of a cluster form, and the nodes that belong to none.

``Topology.domains`` is the entry point. Pods are counted in ``tallies``.
"""

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from functools import cached_property, lru_cache

import msgspec

from webhook.policy.model import Node
from webhook.policy.placement.nodes import (
    Demands,
    NodeRejection,
    RejectionReason,
    find_mismatch,
    tolerates_cordons,
)

CACHED_DOMAINS = 64
"""Results that a Topology caches, at most 0.5 MB each at 5 000 nodes; workloads share a few."""


class Domains(msgspec.Struct, frozen=True):
    """
    The eligible nodes of a cluster, by their value of one topology key.

    Attributes:
        values: Name of each eligible node -> its value, in the order of the nodes.
        sizes: Value -> number of eligible nodes, at least 1.
        left_out: Name of each ineligible node -> why.
    """

    key: str
    values: Mapping[str, str]
    sizes: Mapping[str, int]
    left_out: Mapping[str, NodeRejection]

    def keep(self, kept: Container[str]) -> "Domains":
        """Keep only the domains with some values; O(nodes)."""
        values = {name: value for name, value in self.values.items() if value in kept}
        return Domains(self.key, values, dict(Counter(values.values())), self.left_out)

    def keep_nodes(self, kept: Container[str]) -> "Domains":
        """Keep only some nodes, by their names; O(nodes)."""
        values = {name: value for name, value in self.values.items() if name in kept}
        return Domains(self.key, values, dict(Counter(values.values())), self.left_out)


class Topology:
    """
    The nodes of a cluster at one moment, with a cache of the domains they form.

    The nodes never change. To try other nodes build another Topology, which costs nothing; with
    ``change`` it uses what is known of these nodes.
    """

    def __init__(self, nodes: Iterable[Node]) -> None:
        self.nodes = tuple(nodes)
        self.domains = lru_cache(maxsize=CACHED_DOMAINS)(self._find_domains)
        self._split = lru_cache(maxsize=CACHED_DOMAINS)(self._split_nodes)
        self._before: Topology | None = None
        self._changed: Mapping[str, Node] = {}

    @cached_property
    def by_name(self) -> Mapping[str, Node]:
        """The nodes by name, in order."""
        return {node.name: node for node in self.nodes}

    def change(self, nodes: Iterable[Node]) -> "Topology":
        """Return the topology with other nodes instead of those of the same names, and new ones."""
        # Changes of changes refer to the first topology, so that none of them is a long way off.
        before, changed = self._before or self, {node.name: node for node in nodes}
        changed = {**self._changed, **changed}
        topology = Topology({**before.by_name, **changed}.values())
        topology._before, topology._changed = before, changed
        return topology

    def schedulable(self, demands: Demands) -> "Topology":
        """Return the nodes that are not cordoned; all nodes for a pod that tolerates cordons."""
        return self if tolerates_cordons(demands) else self._uncordoned

    def reachable(self, key: str, required: tuple[str, ...], demands: Demands) -> Domains:
        """
        Find the domains of a key that a pod can go to, as far as its demands and cordons decide.

        kube-scheduler scores a soft constraint by the domains of nodes that pass the filters only.
        """
        return self.schedulable(demands).domains(key, required, demands)

    @cached_property
    def _uncordoned(self) -> "Topology":
        return Topology(node for node in self.nodes if not node.unschedulable)

    def _find_domains(self, key: str, required: tuple[str, ...], demands: Demands) -> Domains:
        """
        Find the domains of a topology key; O(nodes) at first, O(1) while the result is cached.

        Args:
            key: The topology key; the value of a node that lacks it is empty.
            required: Keys that an eligible node must have, usually including ``key``.
            demands: What else an eligible node must satisfy.

        Source: kube-scheduler plugins/podtopologyspread/filtering.go ``calPreFilterState``.
        """
        if self._before:
            known = self._before.domains(key, required, demands)
            if changed := self._change_domains(known, required, demands):
                return changed
        eligible, left_out = self._split(required, demands)
        values = {node.name: node.labels.get(key, "") for node in eligible}
        return Domains(key, values, dict(Counter(values.values())), left_out)

    def _change_domains(
        self, known: Domains, required: tuple[str, ...], demands: Demands
    ) -> Domains | None:
        """
        Find the domains by those of the nodes before the change.

        Returns:
            None if a node counts in another domain than before, or only before or after the change:
            then nodes and domains may have another order.
        """
        added, left_out = dict[str, str](), dict(known.left_out)
        for name, node in self._changed.items():
            rejection = _find_ineligibility(node, required, demands)
            value = node.labels.get(known.key, "") if rejection is None else None
            if name in known.values or name in left_out:
                if value != known.values.get(name):
                    return None
            elif value is not None:
                added[name] = value
            if rejection is not None:
                left_out[name] = rejection
        sizes = Counter(known.sizes)
        sizes.update(added.values())
        return Domains(known.key, {**known.values, **added}, dict(sizes), left_out)

    def _split_nodes(
        self, required: tuple[str, ...], demands: Demands
    ) -> tuple[list[Node], dict[str, NodeRejection]]:
        """
        Split the nodes into the eligible ones, and the names of the others, each with why.

        The keys of a pod's constraints mostly share the result.
        """
        eligible: list[Node] = []
        left_out: dict[str, NodeRejection] = {}
        for node in self.nodes:
            rejection = _find_ineligibility(node, required, demands)
            if rejection is None:
                eligible.append(node)
            else:
                left_out[node.name] = rejection
        return eligible, left_out


def carries_keys(node: Node, keys: tuple[str, ...]) -> bool:
    """Whether a node has every key among its labels."""
    return _find_missing_key(node, keys) is None


def _find_ineligibility(
    node: Node, required: tuple[str, ...], demands: Demands
) -> NodeRejection | None:
    # A cordon is not looked at: kube-scheduler counts cordoned nodes, and a constraint leaves them
    # out only by nodeTaintsPolicy Honor and the taint that comes with it.
    return _find_missing_key(node, required) or find_mismatch(node, demands)


def _find_missing_key(node: Node, keys: tuple[str, ...]) -> NodeRejection | None:
    for key in keys:
        if key not in node.labels:
            return NodeRejection(RejectionReason.MISSING_KEY, key)
    return None

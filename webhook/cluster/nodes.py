"""
Store of Nodes that counts schedulable Nodes by label, and finds the domains that are all tainted.

``NodeStore`` is the entry point; every change of a Node updates its counts and its ``TaintIndex``.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from webhook.cluster import wire
from webhook.cluster.store import Store, share, share_labels
from webhook.policy.facts import TaintedDomains
from webhook.policy.model import Node, Taint
from webhook.policy.placement.nodes import lasting_taints


class NodeStore(Store[wire.NodeObject]):
    """
    Store of all Nodes; the counts of Nodes exclude those marked unschedulable.

    Attributes:
        taints: Index of the domains by the taints of their Nodes.
        labels_version: Changes whenever a Node gets other labels, appears or disappears.
    """

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        super().__init__({"": self._nodes})
        self._schedulable = 0
        self._labelled: Counter[str] = Counter()  # schedulable nodes by label key
        self.taints = TaintIndex()
        self.labels_version = 0

    def __iter__(self) -> Iterator[Node]:
        return iter(self._nodes.values())

    def put(self, thing: wire.NodeObject) -> None:
        """Add a Node, or replace the one with the same name."""
        node = Node(thing.name, share_labels(thing.labels), thing.taints, thing.unschedulable)
        known = self._nodes.get(node.name)
        if known == node:
            return  # most changes of Nodes are heartbeats
        if known is None or known.labels != node.labels:
            self.labels_version += 1
        if known is not None:
            self._count(known, -1)
        self._nodes[share(node.name)] = node
        self._count(node, 1)

    def remove(self, namespace: str, name: str) -> None:  # noqa: ARG002 - it is in none
        """Remove a Node; do nothing if it is not in the store."""
        known = self._nodes.pop(name, None)
        if known is not None:
            self.labels_version += 1
            self._count(known, -1)

    def label(self, name: str, key: str) -> str | None:
        """Return the value of a Node's label; None if the Node is not known or lacks the label."""
        node = self._nodes.get(name)
        return None if node is None else node.labels.get(key)

    def schedulable_nodes(self) -> int:
        """Count the Nodes that are not marked unschedulable."""
        return self._schedulable

    def nodes_with(self, key: str) -> int:
        """Count the schedulable Nodes that have a label key."""
        return self._labelled[key]

    def label_keys(self) -> Collection[str]:
        """Return the keys of all labels of schedulable Nodes."""
        return self._labelled.keys()

    def _count(self, node: Node, change: int) -> None:
        self.taints.count(node, change)
        if node.unschedulable:
            return
        self._schedulable += change
        for key in node.labels:
            self._labelled[key] += change
            if not self._labelled[key]:
                del self._labelled[key]


TaintSet = tuple[Taint, ...]
"""The taints of a Node that keep pods away for good, in order; may be empty."""


class TaintIndex:
    """
    For every label key, the topology domains by the taints of their Nodes, whatever their state.

    Domains with the same combinations of taints share one entry, so the cost of a lookup grows with
    the kinds of Node pools, not with the number of Nodes.
    """

    def __init__(self) -> None:
        # by label key and value: number of Nodes by taint set
        self._domains: dict[str, dict[str, Counter[TaintSet]]] = {}
        # by label key and taint sets: values of the domains whose Nodes are all tainted
        self._tainted: dict[str, dict[frozenset[TaintSet], dict[str, None]]] = {}

    def count(self, node: Node, change: int) -> None:
        """Add a Node (1), cordoned or not, or remove one with its labels and taints (-1)."""
        taint_set = lasting_taints(node)
        for key, value in node.labels.items():
            domains = self._domains.setdefault(key, {})
            nodes = domains.setdefault(value, Counter())
            before = frozenset(nodes)
            nodes[taint_set] += change
            if not nodes[taint_set]:
                del nodes[taint_set]
            if not nodes:
                del domains[value]
            if not domains:
                del self._domains[key]
            self._move(key, value, before, frozenset(nodes))

    def list_domains(self, key: str) -> Collection[str]:
        """List the domains of a label key: a view, which changes with the index."""
        return self._domains.get(key, {}).keys()

    def tainted_domains(self, key: str) -> Sequence[TaintedDomains]:
        """Return the domains of a label key whose Nodes are all tainted."""
        return [
            TaintedDomains(tuple(taint_sets), values.keys())
            for taint_sets, values in self._tainted.get(key, {}).items()
        ]

    def _move(
        self, key: str, value: str, before: frozenset[TaintSet], after: frozenset[TaintSet]
    ) -> None:
        if before == after:
            return
        tainted = self._tainted.setdefault(key, {})
        if _is_tainted(before):
            del tainted[before][value]
            if not tainted[before]:
                del tainted[before]
        if _is_tainted(after):
            tainted.setdefault(after, {})[value] = None
        if not tainted:
            del self._tainted[key]


def _is_tainted(taint_sets: frozenset[TaintSet]) -> bool:
    return bool(taint_sets) and () not in taint_sets

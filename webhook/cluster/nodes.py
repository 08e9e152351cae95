"""Store of Nodes that counts schedulable Nodes by label; updates the counts on every change."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from webhook.cluster import wire
from webhook.cluster.store import Key, Store, share, share_labels
from webhook.cluster.taints import TaintIndex
from webhook.policy.facts import TaintedDomains
from webhook.policy.model import Node


class NodeStore(Store[wire.NodeObject]):
    """Store of all Nodes; the counts exclude Nodes marked unschedulable."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._schedulable = 0
        self._labelled: Counter[str] = Counter()  # schedulable nodes by label key
        self._taints = TaintIndex()

    def __len__(self) -> int:
        return len(self._nodes)

    def __iter__(self) -> Iterator[Node]:
        return iter(self._nodes.values())

    def put(self, thing: wire.NodeObject) -> None:
        """Add a Node, or replace the one with the same name."""
        node = Node(thing.name, share_labels(thing.labels), thing.taints, thing.unschedulable)
        known = self._nodes.get(node.name)
        if known == node:
            return  # most changes of Nodes are heartbeats
        if known is not None:
            self._count(known, -1)
        self._nodes[share(node.name)] = node
        self._count(node, 1)

    def remove(self, namespace: str, name: str) -> None:  # noqa: ARG002 - it is in none
        """Remove a Node; do nothing if it is not in the store."""
        known = self._nodes.pop(name, None)
        if known is not None:
            self._count(known, -1)

    def iterate_keys(self) -> Iterator[Key]:
        """Iterate over the keys of all Nodes."""
        return (("", name) for name in self._nodes)

    def schedulable_nodes(self) -> int:
        """Count the Nodes that are not marked unschedulable."""
        return self._schedulable

    def nodes_with(self, key: str) -> int:
        """Count the schedulable Nodes that have a label key."""
        return self._labelled[key]

    def domains(self, key: str) -> int:
        """Count the values of a label on schedulable Nodes."""
        return self._taints.count_domains(key)

    def label_keys(self) -> Collection[str]:
        """Return the keys of all labels of schedulable Nodes."""
        return self._labelled.keys()

    def tainted_domains(self, key: str) -> Sequence[TaintedDomains]:
        """Return the values of a label whose schedulable Nodes are all tainted."""
        return self._taints.tainted_domains(key)

    def _count(self, node: Node, change: int) -> None:
        if node.unschedulable:
            return
        self._schedulable += change
        self._taints.count(node, change)
        for key in node.labels:
            self._labelled[key] += change
            if not self._labelled[key]:
                del self._labelled[key]

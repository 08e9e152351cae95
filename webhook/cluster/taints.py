"""
Index of the topology domains whose Nodes are all tainted, updated on every change of a Node.

``TaintIndex.tainted_domains`` is the entry point. Domains with the same combinations of taints
share one entry, so the cost of a lookup grows with the kinds of Node pools, not with the number of
Nodes.
"""

from collections import Counter
from collections.abc import Sequence

from webhook.policy.facts import TaintedDomains
from webhook.policy.model import Node, Taint
from webhook.policy.placement.nodes import EXCLUDING

TaintSet = tuple[Taint, ...]
"""The taints of a Node that keep pods away, in order; may be empty."""


class TaintIndex:
    """For every label key, the topology domains by the taints of their Nodes."""

    def __init__(self) -> None:
        # by label key and value: number of Nodes by taint set
        self._domains: dict[str, dict[str, Counter[TaintSet]]] = {}
        # by label key and taint sets: values of the domains whose Nodes are all tainted
        self._tainted: dict[str, dict[frozenset[TaintSet], dict[str, None]]] = {}

    def count(self, node: Node, change: int) -> None:
        """Add a Node that is not cordoned (1), or remove one with its labels and taints (-1)."""
        taint_set = tuple(taint for taint in node.taints if taint.effect in EXCLUDING)
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

    def count_domains(self, key: str) -> int:
        """Count the domains of a label key."""
        return len(self._domains.get(key, ()))

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

"""
Index of the topology domains whose Nodes are all tainted, updated on every change of a Node.

``TaintIndex.domains`` is the entry point. Domains with the same combinations of taints share one
entry, so the cost of a lookup grows with the kinds of Node pools, not with the number of Nodes.
"""

from collections import Counter
from collections.abc import Sequence

from webhook.policy.facts import TaintedDomains
from webhook.policy.model import Node, Taint
from webhook.policy.placement.taints import EXCLUDING

TaintSet = tuple[Taint, ...]
"""The taints of a Node that keep pods away, in order; may be empty."""


class TaintIndex:
    """Index of the domains of every label key by the taint sets of their Nodes."""

    def __init__(self) -> None:
        self._ways: dict[
            str, dict[str, Counter[TaintSet]]
        ] = {}  # by key and value: Nodes by taint set
        self._closed: dict[
            str, dict[frozenset[TaintSet], dict[str, None]]
        ] = {}  # by key: values of all-tainted domains

    def count(self, node: Node, change: int) -> None:
        """
        Add a Node to the counts or remove it; O(its labels).

        Args:
            node: A Node that is not cordoned.
            change: 1 to add; -1 to remove a Node that was added with the same labels and taints.
        """
        way = tuple(taint for taint in node.taints if taint.effect in EXCLUDING)
        for key, value in node.labels.items():
            values = self._ways.setdefault(key, {})
            ways = values.get(value)
            if ways is None:
                ways = values[value] = Counter()
            before = frozenset(ways)
            ways[way] += change
            if not ways[way]:
                del ways[way]
            if not ways:
                del values[value]
            if not values:
                del self._ways[key]
            self._file(key, value, before, frozenset(ways))

    def domains(self, key: str) -> Sequence[TaintedDomains]:
        """Return the domains of a label key whose Nodes are all tainted."""
        return [
            TaintedDomains(tuple(ways), values.keys())
            for ways, values in self._closed.get(key, {}).items()
        ]

    def _file(
        self, key: str, value: str, before: frozenset[TaintSet], after: frozenset[TaintSet]
    ) -> None:
        if before == after:
            return
        closed = self._closed.setdefault(key, {})
        if _is_closed(before):
            del closed[before][value]
            if not closed[before]:
                del closed[before]
        if _is_closed(after):
            closed.setdefault(after, {})[value] = None
        if not closed:
            del self._closed[key]


def _is_closed(ways: frozenset[TaintSet]) -> bool:
    return bool(ways) and () not in ways

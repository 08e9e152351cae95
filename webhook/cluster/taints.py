"""
Which domains hold tainted Nodes only, and with which taints; counted as Nodes change.

Domains whose Nodes are tainted in the same ways are one entry, so that a question costs as much as
a cluster has uses for its Nodes, however many Nodes there are of each.
"""

from collections import Counter
from collections.abc import Sequence

from webhook.policy.facts import TaintedDomains
from webhook.policy.model import Node, Taint
from webhook.policy.placement.taints import EXCLUDING

TaintSet = tuple[Taint, ...]
"""The taints of a Node that keep pods away, in order; empty if there is none."""


class TaintIndex:
    """The domains of every label key, by the ways in which their Nodes are tainted."""

    def __init__(self) -> None:
        self._ways: dict[
            str, dict[str, Counter[TaintSet]]
        ] = {}  # by key and value: Nodes of each way
        self._closed: dict[
            str, dict[frozenset[TaintSet], dict[str, None]]
        ] = {}  # by key: the answer

    def count(self, node: Node, change: int) -> None:
        """
        Count a Node, or count it no more; O(its labels).

        Args:
            node: A Node that is not cordoned.
            change: 1 or, for a Node that was counted as it is, -1.
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
        """Give the domains of a label key whose Nodes all are tainted."""
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

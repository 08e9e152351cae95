"""
Nodes that are interchangeable, so that a search need not try each of them: ``NodeSymmetry``.

Two nodes are alike if kube-scheduler finds no difference between them but the value of a topology
key that no other node has, such as their hostname. If all other constraints have one key, such as
the zone, its domains are interchangeable too, if they consist of like nodes.

If no constraint distinguishes the nodes of a domain, only the order of removal does, by the pods on
a node. ``merges_nodes`` leaves that out: then a state stands for all that have as many pods on like
nodes of a domain, and there are far fewer states.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeAlias, TypeVar

from webhook.explain.rollingupdate.state import NodePods, RolloutState
from webhook.policy.model import Node

T = TypeVar("T")

_Cell: TypeAlias = tuple[str | None, ...]
"""The values of the topology keys that nodes share, in order."""

_Content: TypeAlias = tuple[tuple[int, NodePods, bool], ...]
"""The nodes with pods of a cell, sorted: what they are like, their pods, and whether marked."""


class NodeSymmetry:
    """
    The symmetry of the nodes of a cluster.

    Attributes:
        can_merge: Whether no constraint distinguishes the nodes of a domain.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        keys: Sequence[str],
        signatures: Mapping[str, Hashable],
        *,
        merges_nodes: bool = False,
    ) -> None:
        """
        Group the nodes; O(nodes x keys).

        Args:
            keys: All topology keys of constraints.
            signatures: Node name -> what else distinguishes it.
            merges_nodes: Only if ``can_merge``, and if removal does not depend on the nodes.
        """
        self._merges = merges_nodes
        shared = [key for key in keys if not _is_unique(key, nodes)]
        unique = [key for key in keys if key not in shared]
        self.can_merge = not unique
        self._cells: dict[str, _Cell] = {
            node.name: tuple(node.labels.get(key) for key in shared) for node in nodes
        }
        self._likeness = _number(
            {
                node.name: (signatures[node.name], *(key in node.labels for key in unique))
                for node in nodes
            }
        )
        self._classes = _number(self._describe_cells(may_swap=len(shared) == 1))

    def _describe_cells(self, *, may_swap: bool) -> dict[_Cell, Hashable]:
        members: dict[_Cell, Counter[int]] = {}
        for name, cell in self._cells.items():
            members.setdefault(cell, Counter())[self._likeness[name]] += 1
        if not may_swap:
            return {cell: cell for cell in members}
        # nodes without the key form no domain
        return {cell: (frozenset(found.items()), None in cell) for cell, found in members.items()}

    def key(self, state: RolloutState) -> Hashable:
        """Return a key that equivalent states have in common; O(nodes with pods)."""
        contents = self._find_contents(state)
        placed = sorted((self._classes[cell], content) for cell, content in contents.items())
        removal = state.removal
        rest = (removal.number, removal.owner, removal.removal) if removal else ()
        marked = removal.nodes if removal else ()
        # Pods on nodes that are not known count in no domain, but their controller counts them.
        unknown = [(pods, name in marked) for name, pods in state.placed if name not in self._cells]
        return (
            *(state.sizes, state.stage, state.pending, state.starting, rest),
            *(tuple(placed), tuple(sorted(unknown))),
        )

    def choose_different(self, state: RolloutState, names: Iterable[str]) -> list[str]:
        """Return the names of nodes without those that are equivalent to one before them."""
        contents, placed = self._find_contents(state), dict(state.placed)
        marked = state.removal.nodes if state.removal else ()
        found: dict[Hashable, str] = {}
        for name in names:
            cell, pods = self._cells.get(name), placed.get(name, ())
            if cell is None:
                found.setdefault((pods, name in marked), name)
                continue
            of_node = (self._likeness[name], () if self._merges else pods, name in marked)
            key = (self._classes[cell], contents.get(cell, ()), of_node)
            found.setdefault(key, name)
        return list(found.values())

    def _find_contents(self, state: RolloutState) -> dict[_Cell, _Content]:
        marked = state.removal.nodes if state.removal else ()
        found: dict[_Cell, list[tuple[int, NodePods, bool]]] = {}
        for name, pods in state.placed:
            cell = self._cells.get(name)
            if cell is not None:
                found.setdefault(cell, []).append((self._likeness[name], pods, name in marked))
        join = _merge if self._merges else tuple
        return {cell: join(sorted(content)) for cell, content in found.items()}


def _merge(content: Iterable[tuple[int, NodePods, bool]]) -> _Content:
    """Add up the pods of like nodes."""
    merged: dict[tuple[int, bool], list[int]] = {}
    for likeness, pods, is_marked in content:
        merged.setdefault((likeness, is_marked), []).extend(pods)
    return tuple((key[0], tuple(sorted(pods)), key[1]) for key, pods in sorted(merged.items()))


def _is_unique(key: str, nodes: Iterable[Node]) -> bool:
    """Whether no two nodes have the same value of a key."""
    values = [node.labels[key] for node in nodes if key in node.labels]
    return len(set(values)) == len(values)


def _number(described: Mapping[T, Hashable]) -> dict[T, int]:
    """Replace descriptions by numbers, equal ones by the same number."""
    numbers: dict[Hashable, int] = {}
    return {key: numbers.setdefault(value, len(numbers)) for key, value in described.items()}

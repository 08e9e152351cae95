"""
The values of a node label that a pod requires, whatever nodes there are.

Entry points: ``find_allowed``, ``allowed_values``, ``forbids_label`` for requirements that a node
lacks the label, and ``admits_no_node`` for requirements that no node can satisfy. Fields of nodes,
and the operators Gt and Lt, are not looked at.

Source: component-helpers scheduling/corev1/nodeaffinity ``RequiredNodeAffinity.Match``.
"""

from collections.abc import Collection
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from webhook.policy.placement.nodeaffinity import NodeSelectorTerm
from webhook.policy.placement.nodes import Demands
from webhook.policy.selectors import DOES_NOT_EXIST, IN, NOT_IN


class NodeLabelValues(NamedTuple):
    """
    The values of a label that a pod allows; a node without the label has none.

    Attributes:
        but: Whether the values are those that are not allowed, and all others are.
    """

    values: AbstractSet[str]
    but: bool = False

    @property
    def are_all(self) -> bool:
        """Whether every value is allowed."""
        return self.but and not self.values

    def count(self, known: Collection[str]) -> int:
        """Count the values of a collection that are allowed, without iterating over it."""
        listed = sum(value in known for value in self.values)
        return len(known) - listed if self.but else listed

    def find_one(self, known: Collection[str]) -> str:
        """Find one of the values that ``count`` counts; there is one."""
        if self.but:
            return next(value for value in known if value not in self.values)
        return min(value for value in self.values if value in known)


ALL_VALUES = NodeLabelValues(frozenset(), but=True)


def find_allowed(key: str, demands: Demands) -> NodeLabelValues:
    """Find the values of a label that nodeSelector and required node affinity allow."""
    terms = [_find_of_term(key, term, demands) for term in _list_possible(demands)]
    listed = set[str]().union(*(one.values for one in terms if not one.but))
    excluded = [one.values for one in terms if one.but]
    if not excluded:
        return NodeLabelValues(listed)
    return NodeLabelValues(set(excluded[0]).intersection(*excluded).difference(listed), but=True)


def allowed_values(key: str, demands: Demands) -> AbstractSet[str] | None:
    """
    Collect the values of a label that nodeSelector and required node affinity allow.

    Returns:
        None for any but some; empty if no node with the label can satisfy them.
    """
    found = find_allowed(key, demands)
    return None if found.but else found.values


def count_allowed_values(key: str, demands: Demands) -> int | None:
    """Count the values that ``allowed_values`` collects; None for any but some."""
    allowed = allowed_values(key, demands)
    return None if allowed is None else len(allowed)


def forbids_label(key: str, demands: Demands) -> bool:
    """Whether required node affinity admits, by one of its terms, only nodes without a label."""
    return any(
        one.key == key and one.operator == DOES_NOT_EXIST
        for term in _list_possible(demands)
        for one in term.match_expressions or ()
    )


def requires_others(key: str, demands: Demands) -> bool:
    """Whether nodeSelector or required node affinity is also about something else than a label."""
    terms = demands.terms or ()
    return any(name != key for name, _ in demands.pairs) or any(
        term.match_fields or any(one.key != key for one in term.match_expressions or ())
        for term in terms
    )


def admits_no_node(demands: Demands) -> bool:
    """Whether nodeSelector and required node affinity exclude every node, also one to come."""
    return not _list_possible(demands)


def _list_possible(demands: Demands) -> list[NodeSelectorTerm]:
    """List the terms that a node can satisfy together with nodeSelector; one term for none."""
    terms = (NodeSelectorTerm(),) if demands.terms is None else demands.terms
    return [
        term
        for term in terms
        if all(_find_values(key, term, demands) != set() for key in _list_keys(term, demands))
    ]


def _list_keys(term: NodeSelectorTerm, demands: Demands) -> set[str]:
    """List the labels that requirements are about; joined demands may require two values of one."""
    written = {one.key for one in term.match_expressions or ()}
    return written.union(key for key, _ in demands.pairs)


def _find_values(key: str, term: NodeSelectorTerm, demands: Demands) -> AbstractSet[str] | None:
    """Find the values of a label of which a term requires one; None if it requires none."""
    found = _find_of_term(key, term, demands)
    is_required = any(name == key for name, _ in demands.pairs) or any(
        one.key == key and one.operator == IN for one in term.match_expressions or ()
    )
    return found.values if is_required else None


def _find_of_term(key: str, term: NodeSelectorTerm, demands: Demands) -> NodeLabelValues:
    """Find the values of a label that a term allows beside nodeSelector."""
    written = [one for one in term.match_expressions or () if one.key == key]
    if any(one.operator == DOES_NOT_EXIST for one in written):
        return NodeLabelValues(frozenset())
    excluded = set[str]().union(*(one.values for one in written if one.operator == NOT_IN))
    listed = [{value} for name, value in demands.pairs if name == key]
    listed += [set(one.values) for one in written if one.operator == IN]
    if not listed:
        return NodeLabelValues(excluded, but=True)
    return NodeLabelValues(listed[0].intersection(*listed).difference(excluded))

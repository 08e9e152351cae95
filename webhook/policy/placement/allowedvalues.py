"""
The values of a node label that a pod requires, whatever nodes there are.

Entry points: ``allowed_values``, ``forbids_label`` for requirements that a node lacks the label,
and ``admits_no_node`` for requirements that no node can satisfy. Fields of nodes, and the operators
Gt and Lt, are not looked at.

Source: component-helpers scheduling/corev1/nodeaffinity ``RequiredNodeAffinity.Match``.
"""

from collections.abc import Set as AbstractSet

from webhook.policy.placement.nodeaffinity import NodeSelectorTerm
from webhook.policy.placement.nodes import Demands
from webhook.policy.selectors import DOES_NOT_EXIST, IN, NOT_IN


def allowed_values(key: str, demands: Demands) -> AbstractSet[str] | None:
    """
    Collect the values of a label that nodeSelector and required node affinity allow.

    Returns:
        None for any; empty if no node can satisfy them.
    """
    allowed: set[str] = set()
    for term in _list_possible(demands):
        values = _find_values(key, term, demands)
        if values is None:
            return None
        allowed |= values
    return allowed


def count_allowed_values(key: str, demands: Demands) -> int | None:
    """Count the values that ``allowed_values`` collects; None for any."""
    allowed = allowed_values(key, demands)
    return None if allowed is None else len(allowed)


def forbids_label(key: str, demands: Demands) -> bool:
    """Whether required node affinity admits, by one of its terms, only nodes without a label."""
    return any(
        one.key == key and one.operator == DOES_NOT_EXIST
        for term in _list_possible(demands)
        for one in term.match_expressions or ()
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


def _find_values(key: str, term: NodeSelectorTerm, demands: Demands) -> set[str] | None:
    """Find the values of a label that a term allows beside nodeSelector; None for any."""
    written = [one for one in term.match_expressions or () if one.key == key]
    listed = [{value} for name, value in demands.pairs if name == key]
    listed += [set(one.values) for one in written if one.operator == IN]
    if not listed:
        return None
    if any(one.operator == DOES_NOT_EXIST for one in written):
        return set()
    excluded = (one.values for one in written if one.operator == NOT_IN)
    return listed[0].intersection(*listed).difference(*excluded)

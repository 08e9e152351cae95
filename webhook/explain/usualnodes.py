"""
The node whose resources new nodes are supposed to have: ``find_usual_node``.

Nodes of one machine type differ by some KiB, so that nodes with similar resources make a group.
"""

from collections.abc import Iterable
from operator import itemgetter
from typing import TypeAlias

from webhook.explain.scenario import Scenario
from webhook.policy.model import Node
from webhook.policy.placement.filters.resources import Resources
from webhook.policy.placement.nodes import find_mismatch, find_untolerated

SIMILAR = 0.05  # the part by which amounts of one machine type may differ

_Amounts: TypeAlias = tuple[tuple[str, int], ...]
"""Resource names and amounts, in an order that puts CPU and memory first."""


def find_usual_node(scenario: Scenario) -> str:
    """
    Find the smallest node of the most common kind; of the smallest kind if several are.

    Nodes that the pod cannot use are left out if there are others: those with other labels than it
    demands, and those that are cordoned or have a taint that it does not tolerate.

    Returns:
        Its name; empty if the resources of no node are known.
    """
    allocatable = scenario.cluster.allocatable
    known = [node for node in scenario.topology.nodes if node.name in allocatable]
    usable = [node for node in known if _is_usable(node, scenario)]
    matching = [node for node in usable if find_mismatch(node, scenario.pod.demands) is None]
    names = [node.name for node in matching or usable or known]
    found = _find_most_common((_list_amounts(allocatable[name]), name) for name in names)
    return found[0] if found else ""


def _is_usable(node: Node, scenario: Scenario) -> bool:
    tolerations = scenario.pod.demands.tolerations or ()
    return not (node.unschedulable or find_untolerated(node.taints, tolerations))


def _find_most_common(nodes: Iterable[tuple[_Amounts, str]]) -> list[str]:
    """Find the names of the most common kind of nodes, the smallest node first."""
    groups: list[tuple[_Amounts, list[str]]] = []
    for amounts, name in sorted(nodes, key=itemgetter(0)):
        group = next((group for least, group in groups if _are_similar(least, amounts)), None)
        if group is None:
            groups.append((amounts, [name]))
        else:
            group.append(name)
    return max((group for _, group in groups), key=len, default=list[str]())


def _are_similar(one: _Amounts, other: _Amounts) -> bool:
    """Whether two nodes have the same resources, in similar amounts."""
    return len(one) == len(other) and all(
        name == known and abs(amount - least) <= SIMILAR * max(amount, least)
        for (known, least), (name, amount) in zip(one, other, strict=True)
    )


def _list_amounts(resources: Resources) -> _Amounts:
    return (
        ("", resources.milli_cpu),
        ("", resources.memory),
        ("", resources.ephemeral_storage),
        ("", resources.pods),
        *sorted(resources.scalars.items()),
    )

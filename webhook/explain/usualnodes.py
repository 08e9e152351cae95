"""
The node whose resources new nodes are supposed to have: ``find_usual_node``.

Nodes of one machine type differ by some KiB, so that nodes with similar resources make a group.
"""

from collections.abc import Iterable
from functools import reduce
from itertools import chain
from typing import TypeAlias

from webhook.explain.scenario import Scenario
from webhook.policy.model import Node
from webhook.policy.placement.filters.nodefilters import find_conflicts, find_shortage
from webhook.policy.placement.filters.placedpods import EMPTY_NODE
from webhook.policy.placement.filters.resources import Resources
from webhook.policy.placement.nodes import admits_node, find_untolerated

SIMILAR = 0.05  # the part by which amounts of one machine type may differ

_Amounts: TypeAlias = tuple[tuple[str, int], ...]
"""Resource names and amounts, in an order that puts CPU and memory first."""


def find_usual_node(scenario: Scenario) -> str:
    """
    Find the smallest node of the most common kind; of the smallest kind if several are.

    Nodes that the pod cannot use are left out if there are others: those with a taint that it does
    not tolerate, then those with other labels than it demands, those that it does not fit even with
    nothing but the pods that a new node has too, and those that take no new pods at the moment.

    Returns:
        Its name; empty if the resources of no node are known.
    """
    pool = _list_pool(scenario)
    kinds = chain(
        _list_kinds((node.name for node in pool if _is_open(node, scenario)), scenario),
        _list_kinds((node.name for node in pool if not _is_open(node, scenario)), scenario),
    )
    names = list(chain.from_iterable(kinds))
    return next((name for name in names if _fits_anew(name, scenario)), next(iter(names), ""))


def _list_pool(scenario: Scenario) -> list[Node]:
    """List the nodes of known resources whose lasting taints and labels the pod accepts."""
    demands, allocatable = scenario.pod.demands.lasting, scenario.cluster.allocatable
    tolerations = demands.tolerations or ()
    known = [node for node in scenario.topology.nodes if node.name in allocatable]
    tolerated = [node for node in known if not find_untolerated(node.taints, tolerations)]
    return [node for node in tolerated if admits_node(demands, node)] or tolerated or known


def _is_open(node: Node, scenario: Scenario) -> bool:
    tolerations = scenario.pod.demands.tolerations or ()
    return not (node.unschedulable or find_untolerated(node.taints, tolerations))


def _fits_anew(name: str, scenario: Scenario) -> bool:
    """Whether a new node like one has room and host ports for the pod."""
    cluster, pod = scenario.cluster, scenario.pod
    room = cluster.allocatable[name]
    if find_shortage(pod.requests, room, EMPTY_NODE):
        return False
    usage = reduce(lambda taken, one: taken.plus(one, 1), cluster.daemons.get(name, ()), EMPTY_NODE)
    has_ports = not find_conflicts(pod.ports, usage.ports)
    return has_ports and find_shortage(pod.requests, room, usage) is None


def _list_kinds(names: Iterable[str], scenario: Scenario) -> list[list[str]]:
    """List the kinds of nodes, the most common first; each is the names, the smallest first."""
    allocatable = scenario.cluster.allocatable
    alike: dict[_Amounts, list[str]] = {}
    for name in names:
        alike.setdefault(_list_amounts(allocatable[name]), []).append(name)
    kinds: list[tuple[_Amounts, list[str]]] = []
    for amounts, some in sorted(alike.items()):
        kind = next((kind for least, kind in kinds if _are_similar(least, amounts)), None)
        if kind is None:
            kinds.append((amounts, some))
        else:
            kind += some
    return sorted((kind for _, kind in kinds), key=len, reverse=True)


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

"""
The filters that look at a node and what its pods take: cordon, name, taints, ports, resources.

Source: kube-scheduler plugins/{nodeunschedulable,nodename,tainttoleration,nodeaffinity,nodeports,
noderesources}.
"""

from collections.abc import Iterable, Iterator

from webhook.policy.model import Node
from webhook.policy.placement.filters.cluster import SchedulingCluster
from webhook.policy.placement.filters.filterpods import EVERY_ADDRESS, FilterPod, HostPort
from webhook.policy.placement.filters.placedpods import NodeUsage
from webhook.policy.placement.filters.rejections import Check, FilterRejection
from webhook.policy.placement.filters.resources import Resources
from webhook.policy.placement.nodes import UNSCHEDULABLE, admits_node, find_untolerated, tolerates

CORDON = FilterRejection("NodeUnschedulable", ("node(s) were unschedulable",), is_resolvable=False)
OTHER_NAME = FilterRejection(
    "NodeName", ("node(s) didn't match the requested node name",), is_resolvable=False
)
TAINT = FilterRejection(
    "TaintToleration", ("node(s) had untolerated taint(s)",), is_resolvable=False
)
NODE_AFFINITY = FilterRejection(
    "NodeAffinity", ("node(s) didn't match Pod's node affinity/selector",), is_resolvable=False
)
CONFLICT = FilterRejection("NodeAffinity", ("pod affinity terms conflict",), is_resolvable=False)
OTHER_NODE = FilterRejection(
    "NodeAffinity", ("node(s) didn't satisfy plugin(s) [NodeAffinity]",), is_resolvable=False
)
RESOURCES = "NodeResourcesFit"

PORTS = FilterRejection(
    "NodePorts", ("node(s) didn't have free ports for the requested pod ports",)
)


def prepare_cordon(pod: FilterPod, _: SchedulingCluster) -> Check | None:
    """Prepare NodeUnschedulable."""
    if any(tolerates(toleration, UNSCHEDULABLE) for toleration in pod.demands.tolerations or ()):
        return None
    return lambda node: CORDON if node.unschedulable else None


def prepare_name(pod: FilterPod, _: SchedulingCluster) -> Check | None:
    """Prepare NodeName."""
    if not pod.node_name:
        return None
    return lambda node: None if node.name == pod.node_name else OTHER_NAME


def prepare_taints(pod: FilterPod, _: SchedulingCluster) -> Check:
    """Prepare TaintToleration."""
    tolerations = pod.demands.tolerations or ()
    return lambda node: TAINT if find_untolerated(node.taints, tolerations) else None


def prepare_affinity(pod: FilterPod, _: SchedulingCluster) -> Check | FilterRejection | None:
    """Prepare NodeAffinity; a pod whose terms each name different nodes fits none."""
    demands = pod.demands
    if pod.required_names == frozenset():
        return CONFLICT
    if not demands.pairs and demands.terms is None:
        return None
    return lambda node: None if admits_node(demands, node) else NODE_AFFINITY


def prepare_ports(pod: FilterPod, cluster: SchedulingCluster) -> Check | None:
    """Prepare NodePorts."""
    wanted, placed = pod.ports, cluster.placed
    if not wanted:
        return None

    def check(node: Node) -> FilterRejection | None:
        return PORTS if find_conflicts(wanted, placed.usage(node.name).ports) else None

    return check


def find_conflicts(wanted: Iterable[HostPort], used: Iterable[HostPort]) -> list[HostPort]:
    """List the host ports of a pod that ports of a node's pods exclude."""
    return [port for port in wanted if any(_conflict(port, other) for other in used)]


def _conflict(port: HostPort, other: HostPort) -> bool:
    """
    Whether two host ports exclude each other on a node.

    Source: kube-scheduler framework/types.go ``HostPortInfo.CheckConflict``.
    """
    shares_address = port.address == other.address or EVERY_ADDRESS in (port.address, other.address)
    return shares_address and (port.port, port.protocol) == (other.port, other.protocol)


def prepare_resources(pod: FilterPod, cluster: SchedulingCluster) -> Check:
    """Prepare NodeResourcesFit."""
    requests, allocatable, placed = pod.requests, cluster.allocatable, cluster.placed

    def check(node: Node) -> FilterRejection | None:
        room = allocatable.get(node.name)
        return None if room is None else find_shortage(requests, room, placed.usage(node.name))

    return check


def find_shortage(requests: Resources, room: Resources, usage: NodeUsage) -> FilterRejection | None:
    """Find what a node has too little of for requests; None if they fit."""
    found = tuple(_find_insufficient(requests, room, usage.requests))
    reasons = tuple(f"Insufficient {name}" for name, _ in found)
    if usage.pods >= room.pods:
        reasons = ("Too many pods", *reasons)
    if not reasons:
        return None
    is_resolvable = not any(exceeds for _, exceeds in found)
    return FilterRejection(RESOURCES, reasons, is_resolvable=is_resolvable)


def _find_insufficient(
    requests: Resources, room: Resources, used: Resources
) -> Iterator[tuple[str, bool]]:
    """
    Find the resources of which a node has too little.

    Returns:
        Names, each with whether the request exceeds even what the empty node has.

    Source: fit.go ``fitsRequest``.
    """
    if requests.milli_cpu > room.milli_cpu - used.milli_cpu and requests.milli_cpu > 0:
        yield "cpu", requests.milli_cpu > room.milli_cpu
    if requests.memory > room.memory - used.memory and requests.memory > 0:
        yield "memory", requests.memory > room.memory
    storage = requests.ephemeral_storage
    if storage > room.ephemeral_storage - used.ephemeral_storage and storage > 0:
        yield "ephemeral-storage", storage > room.ephemeral_storage
    for name, number in sorted(requests.scalars.items()):
        total = room.scalars.get(name, 0)
        if number and number > total - used.scalars.get(name, 0):
            yield name, number > total

"""
The objects of a cluster as what the scheduler sees at one moment.

``read_cluster`` is the entry point; ``ClusterObjects`` decodes its input from JSON.
"""

from collections.abc import Iterable

import msgspec

from webhook.cluster import wire
from webhook.cluster.scheduling.podobjects import ApiPod
from webhook.cluster.scheduling.pods import read_pod
from webhook.cluster.scheduling.quantities import Quantities, check_quantities, parse_amounts
from webhook.cluster.scheduling.requests import to_resources
from webhook.cluster.scheduling.storage import read_storage
from webhook.cluster.scheduling.storageobjects import StorageObjects
from webhook.policy.api.versions import Version
from webhook.policy.model import Node
from webhook.policy.placement.census import FINISHED
from webhook.policy.placement.filters.cluster import SchedulingCluster, group_daemons
from webhook.policy.placement.filters.filterpods import FilterPod
from webhook.policy.placement.filters.placedpods import PlacedPods
from webhook.policy.placement.filters.resources import Resources
from webhook.policy.placement.topology import Topology


class _NodeStatus(msgspec.Struct, frozen=True, gc=False):
    """The status of a node."""

    allocatable: Quantities | None = None
    capacity: Quantities | None = None

    def __post_init__(self) -> None:
        """Refuse malformed quantities."""
        check_quantities(self.allocatable, "allocatable")
        check_quantities(self.capacity, "capacity")


class ApiNode(wire.NodeObject, frozen=True, gc=False):
    """A Node, v1, with its resources."""

    status: _NodeStatus | None = None

    @property
    def node(self) -> Node:
        """The node without its resources."""
        return Node(self.name, self.labels, self.taints, unschedulable=self.unschedulable)

    @property
    def allocatable(self) -> Resources | None:
        """
        The resources that it has for pods; None if it does not say.

        Source: pkg/apis/core/v1/defaults.go ``SetDefaults_NodeStatus``.
        """
        status = self.status or _NodeStatus()
        written = status.capacity if status.allocatable is None else status.allocatable
        return None if written is None else to_resources(parse_amounts(written))


def map_allocatable(nodes: Iterable[ApiNode]) -> dict[str, Resources]:
    """Map the names of nodes to their resources; those that do not say are left out."""
    return {node.name: room for node in nodes if (room := node.allocatable) is not None}


class ClusterObjects(StorageObjects, frozen=True, rename="camel"):
    """The objects of a cluster that the scheduler reads; None is the same as absent."""

    nodes: tuple[ApiNode, ...] | None = None
    pods: tuple[ApiPod, ...] | None = None
    namespaces: tuple[wire.NamespaceObject, ...] | None = None


def read_cluster(objects: ClusterObjects, version: Version) -> SchedulingCluster:
    """
    Index the objects of a cluster; O(objects).

    Args:
        version: Of the scheduler.
    """
    nodes = objects.nodes or ()
    pods = list(read_placed(objects.pods or (), version))
    return SchedulingCluster(
        topology=Topology(node.node for node in nodes),
        # A manifest or an audit's snapshot has no status: the room of its node is not known.
        allocatable=map_allocatable(nodes),
        placed=PlacedPods(pods),
        daemons=group_daemons(pods),
        namespaces={namespace.name: namespace.labels for namespace in objects.namespaces or ()},
        storage=read_storage(objects),
        version=version,
    )


def read_placed(pods: Iterable[ApiPod], version: Version) -> Iterable[FilterPod]:
    """Yield the pods that take something of a node: they have a node, and have not ended."""
    for pod in pods:
        phase = pod.status.phase if pod.status else None
        if pod.spec and pod.spec.node_name and phase not in FINISHED:
            yield read_pod(pod, version)

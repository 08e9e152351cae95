"""A cluster as the scheduler sees it at one moment: ``SchedulingCluster``."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

from webhook.policy.api.versions import NEWEST_VERSION, Version
from webhook.policy.model import Node
from webhook.policy.placement.filters.filterpods import FilterPod
from webhook.policy.placement.filters.placedpods import NodeUsage, PlacedPods
from webhook.policy.placement.filters.resources import Resources
from webhook.policy.placement.filters.storage import NO_STORAGE, Storage
from webhook.policy.placement.topology import Topology


@dataclass(frozen=True)
class SchedulingCluster:
    """
    All that filters look at besides the pod.

    Other nodes or other storage make another value; pods are added to and removed from ``placed``.

    Attributes:
        allocatable: Node name -> resources for pods. A node that is absent has room for any pod.
        placed: The pods that have a node, whether it exists or not.
        namespaces: Name -> labels of the Namespace.
        version: Of the scheduler.
        daemons: Node name -> those of its pods that a new node like it has too.
        nominated: Node name -> pods without a node that are nominated for it, and whose priority is
            not lower than that of the pod to place.
    """

    topology: Topology
    allocatable: Mapping[str, Resources] = field(default_factory=dict[str, Resources])
    placed: PlacedPods = field(default_factory=PlacedPods)
    namespaces: Mapping[str, Mapping[str, str]] = field(
        default_factory=dict[str, Mapping[str, str]]
    )
    storage: Storage = NO_STORAGE
    version: Version = NEWEST_VERSION
    daemons: Mapping[str, Sequence[FilterPod]] = field(
        default_factory=dict[str, Sequence[FilterPod]]
    )
    nominated: Mapping[str, Sequence[FilterPod]] = field(
        default_factory=dict[str, Sequence[FilterPod]]
    )

    @property
    def nodes(self) -> Mapping[str, Node]:
        """The nodes by name."""
        return self.topology.by_name

    def usage(self, node: str) -> NodeUsage:
        """Return what the pods of a node take, with those that are nominated for it."""
        nominated = self.nominated.get(node, ())
        return reduce(lambda usage, pod: usage.plus(pod, 1), nominated, self.placed.usage(node))

    def with_nodes(self, nodes: Iterable[Node]) -> "SchedulingCluster":
        """Return the cluster with these nodes alone; new ones have room for any pod."""
        return replace(self, topology=Topology(nodes))

    def change_nodes(self, nodes: Iterable[Node], like: str = "") -> "SchedulingCluster":
        """
        Return the cluster with other nodes instead of those of the same names, and with new ones.

        Args:
            like: The node whose resources new ones have, and whose DaemonSets have pods on them.
                If its resources are not known, new nodes have room for any pod.
        """
        changed = {node.name: node for node in nodes}
        topology = self.topology.change(changed.values())
        new = [name for name in changed if name not in self.nodes]
        if not new or like not in self.allocatable:
            return replace(self, topology=topology)
        allocatable = {**self.allocatable, **dict.fromkeys(new, self.allocatable[like])}
        placed = self._add_daemons(new, self.daemons.get(like, ()))
        return replace(self, topology=topology, allocatable=allocatable, placed=placed)

    def without_daemons(self, names: Iterable[tuple[str, str]]) -> "SchedulingCluster":
        """Return the cluster whose new nodes lack some pods: their namespaces and names."""
        left_out = set(names)
        kept = {
            node: [pod for pod in pods if (pod.namespace, pod.name) not in left_out]
            for node, pods in self.daemons.items()
        }
        return replace(self, daemons=kept)

    def _add_daemons(self, nodes: Iterable[str], pods: Sequence[FilterPod]) -> PlacedPods:
        """Add pods to each of some nodes, in a copy; O(pods of their namespaces)."""
        if not pods:
            return self.placed
        placed = self.placed.copy()
        for name in nodes:
            for pod in pods:
                placed.add(pod, name)
        return placed


def group_daemons(pods: Iterable[FilterPod]) -> Mapping[str, Sequence[FilterPod]]:
    """
    Group the pods that a new node has too by their nodes; those that are being deleted are none.

    Source: cluster-autoscaler simulator/node_info_utils.go ``podsExpectedOnFreshNode``.
    """
    found: dict[str, list[FilterPod]] = {}
    for pod in pods:
        if pod.is_daemon and not pod.is_terminating:
            found.setdefault(pod.node_name, []).append(pod)
    return found

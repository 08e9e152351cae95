"""A cluster as the scheduler sees it at one moment: ``SchedulingCluster``."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from webhook.policy.api.versions import NEWEST_VERSION, Version
from webhook.policy.model import Node
from webhook.policy.placement.filters.placedpods import PlacedPods
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
    """

    topology: Topology
    allocatable: Mapping[str, Resources] = field(default_factory=dict[str, Resources])
    placed: PlacedPods = field(default_factory=PlacedPods)
    namespaces: Mapping[str, Mapping[str, str]] = field(
        default_factory=dict[str, Mapping[str, str]]
    )
    storage: Storage = NO_STORAGE
    version: Version = NEWEST_VERSION

    @cached_property
    def nodes(self) -> Mapping[str, Node]:
        """The nodes by name."""
        return {node.name: node for node in self.topology.nodes}

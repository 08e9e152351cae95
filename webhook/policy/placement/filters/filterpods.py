"""
Pods as values for filters: ``FilterPod``.

The same value serves a pod to place and a pod that has its node, so that a placed pod counts.
"""

from collections.abc import Mapping

import msgspec

from webhook.policy.model import LabelSelector
from webhook.policy.placement.filters.resources import NO_RESOURCES, Resources
from webhook.policy.placement.filters.storage import DriverVolume
from webhook.policy.placement.tallies import IncomingPod
from webhook.policy.selectors import matches

EVERY_ADDRESS = "0.0.0.0"  # noqa: S104 - a port on all addresses of a node, in a pod


class HostPort(msgspec.Struct, frozen=True, gc=False):
    """A port that a pod takes on its node; the address ``0.0.0.0`` stands for all of them."""

    address: str
    protocol: str
    port: int


class PodVolume(msgspec.Struct, frozen=True, gc=False):
    """
    A volume of a pod that filters look at.

    Attributes:
        kind: The field of the volume in the API, such as ``persistentVolumeClaim``.
        name: Name of the claim, or what identifies the disk.
        namespace: Of the claim.
        owner: For an ephemeral volume the uid of its pod, which must own the claim.
        monitors: Addresses of the Ceph monitors, one of which must be the same.
        migrated: The volume of the CSI driver that has replaced its in-tree plugin; None for
            others.
    """

    kind: str
    name: str
    namespace: str = ""
    owner: str = ""
    read_only: bool = False
    monitors: tuple[str, ...] = ()
    migrated: DriverVolume | None = None


CLAIM, EPHEMERAL = "persistentVolumeClaim", "ephemeral"
GCE_DISK, BLOCK_STORE, ISCSI, RBD = "gcePersistentDisk", "awsElasticBlockStore", "iscsi", "rbd"
AZURE_DISK, CINDER, PORTWORX = "azureDisk", "cinder", "portworxVolume"


class AffinityTerm(msgspec.Struct, frozen=True, gc=False):
    """
    A required term of a pod's affinity or anti-affinity, with its namespaces.

    Attributes:
        namespaces: Names, sorted.
        namespace_selector: Further namespaces, by their labels; None selects none.
        identity: Equal for equal terms.
    """

    topology_key: str
    selector: LabelSelector | None
    namespaces: tuple[str, ...]
    namespace_selector: LabelSelector | None
    identity: bytes = b""

    def selects(
        self, namespace: str, labels: Mapping[str, str], namespace_labels: Mapping[str, str]
    ) -> bool:
        """
        Whether the term selects a pod.

        Args:
            namespace_labels: Labels of the pod's namespace; empty if it is unknown.

        Source: kube-scheduler framework/types.go ``AffinityTerm.Matches``.
        """
        is_in = namespace in self.namespaces or matches(self.namespace_selector, namespace_labels)
        return is_in and matches(self.selector, labels)


class FilterPod(IncomingPod, frozen=True, kw_only=True):
    """
    A pod with all that filters look at.

    Attributes:
        node_name: Its node; empty for a pod to place.
        required_names: The nodes that its required affinity names; None if it names none.
        is_terminating: Whether it is being deleted; it still takes what it requests.
        is_daemon: Whether nodes like its own have such a pod too: it is one of a DaemonSet, or a
            static one.
        requests: With the overhead.
        overhead: What the RuntimeClass adds to the requests of the containers.
        volumes: Those that may keep it off a node, in order.
    """

    name: str = ""
    uid: str = ""
    node_name: str = ""
    required_names: frozenset[str] | None = None
    is_terminating: bool = False
    is_daemon: bool = False
    requests: Resources = NO_RESOURCES
    overhead: Resources = NO_RESOURCES
    ports: tuple[HostPort, ...] = ()
    affinity: tuple[AffinityTerm, ...] = ()
    anti_affinity: tuple[AffinityTerm, ...] = ()
    volumes: tuple[PodVolume, ...] = ()

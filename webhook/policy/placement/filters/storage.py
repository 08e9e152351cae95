"""
The storage of a cluster as values for filters: ``Storage``.

Sizes are in billionths of a byte, since the scheduler compares them exactly.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from webhook.policy.model import LabelSelector
from webhook.policy.placement.nodeaffinity import NodeSelectorTerm

UNIT = 10**9  # billionths of a byte


class VolumeTraits(msgspec.Struct, frozen=True, kw_only=True):
    """What a claim requires of a volume, or what a volume has."""

    class_name: str = ""
    size: int = 0
    mode: str = ""
    attributes_class: str = ""
    access_modes: frozenset[str] = frozenset()


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """
    A PersistentVolumeClaim.

    Attributes:
        owner: Uid of the pod that controls it; empty if none does.
        volume: Name of its volume; empty before it is bound, unless the user chose one.
        is_bound: Whether the binding is complete.
        selected_node: The node for which a volume is being provisioned; None if there is none.
        selector: Selects volumes by their labels; None selects all.
    """

    namespace: str
    name: str
    uid: str = ""
    owner: str = ""
    volume: str = ""
    traits: VolumeTraits = VolumeTraits()
    has_size: bool = False
    is_bound: bool = False
    is_lost: bool = False
    is_terminating: bool = False
    selected_node: str | None = None
    selector: LabelSelector | None = None


class DriverVolume(NamedTuple):
    """A volume of a CSI driver; equal parts mean the same volume."""

    driver: str
    handle: str


class MigratedVolume(msgspec.Struct, frozen=True):
    """
    A volume of an in-tree plugin, as one of the CSI driver that has replaced the plugin.

    Attributes:
        plugin: Name of the plugin.
        terms: A node must match one of these to access it, if its plugin is migrated there; None
            if any node can.
    """

    plugin: str
    volume: DriverVolume
    terms: tuple[NodeSelectorTerm, ...] | None = None


class ClaimReference(NamedTuple):
    """The claim that a volume is bound to, or reserved for; an empty uid stands for any."""

    namespace: str
    name: str
    uid: str = ""


class Volume(msgspec.Struct, frozen=True, kw_only=True):
    """
    A PersistentVolume.

    Attributes:
        terms: A node must match one of these to access it; None if any node can.
        csi: None if it is not a volume of a CSI driver.
        migrated: None if it is not one of an in-tree plugin that a CSI driver has replaced.
        is_available: Whether its phase is Available.
    """

    name: str
    labels: Mapping[str, str] = {}
    traits: VolumeTraits = VolumeTraits()
    terms: tuple[NodeSelectorTerm, ...] | None = None
    claim: ClaimReference | None = None
    csi: DriverVolume | None = None
    migrated: MigratedVolume | None = None
    is_available: bool = False
    is_terminating: bool = False


class VolumeClass(msgspec.Struct, frozen=True):
    """
    A StorageClass, as far as it decides on nodes.

    Attributes:
        is_delayed: Whether a volume is bound only when the pod has a node.
        topologies: Terms of which a node must match one, if there are any. A node matches a term
            if each of the labels has one of the values; no node matches a term without labels.
    """

    provisioner: str = ""
    is_delayed: bool = False
    topologies: tuple[tuple[tuple[str, tuple[str, ...]], ...], ...] = ()


class CsiNode(msgspec.Struct, frozen=True):
    """
    The CSI drivers of a node.

    Attributes:
        limits: Driver -> most volumes on the node.
        migrated: Names of the in-tree plugins that its kubelet leaves to drivers.
    """

    drivers: frozenset[str] = frozenset()
    limits: Mapping[str, int] = {}
    migrated: frozenset[str] = frozenset()


class CsiDriver(msgspec.Struct, frozen=True):
    """
    A CSIDriver.

    Attributes:
        reports_capacity: Whether it says how much space is free.
        is_required: Whether pods with its volumes need a node where it is installed.
    """

    reports_capacity: bool = False
    is_required: bool = False


class StorageCapacity(msgspec.Struct, frozen=True):
    """
    Free space for a volume of a class on some nodes.

    Attributes:
        size: Whole bytes; None if it is unknown.
        nodes: Selects the nodes; None selects none.
    """

    class_name: str
    size: int | None = None
    nodes: LabelSelector | None = None


class Storage(msgspec.Struct, frozen=True):
    """
    The storage objects of a cluster.

    Attributes:
        claims: Namespace and name -> claim.
        volumes: Name -> volume.
        classes: Name -> storage class.
        csi_nodes: Node name -> its CSI drivers.
        csi_drivers: Name -> driver.
        attachments: Node name -> volumes that are attached there.
    """

    claims: Mapping[tuple[str, str], Claim] = {}
    volumes: Mapping[str, Volume] = {}
    classes: Mapping[str, VolumeClass] = {}
    csi_nodes: Mapping[str, CsiNode] = {}
    csi_drivers: Mapping[str, CsiDriver] = {}
    capacities: tuple[StorageCapacity, ...] = ()
    attachments: Mapping[str, tuple[DriverVolume, ...]] = {}


NO_STORAGE = Storage()

MIGRATED = MappingProxyType(
    {
        "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
        "kubernetes.io/azure-disk": "disk.csi.azure.com",
        "kubernetes.io/cinder": "cinder.csi.openstack.org",
        "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
        "kubernetes.io/portworx-volume": "pxd.portworx.com",
        "kubernetes.io/azure-file": "",
        "kubernetes.io/vsphere-volume": "",
    }
)
"""
In-tree plugin -> the driver that has replaced it; empty if its volumes are not counted.

Source: csi-translation-lib; plugins/nodevolumelimits/utils.go.
"""

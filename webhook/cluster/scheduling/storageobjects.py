"""
The fields of storage objects that filters read, as in the API.

For every field None is the same as absent. ``storage`` turns these objects into values.

Source: k8s.io/api core/v1 types.go, storage/v1 types.go.
"""

import msgspec

from webhook.cluster.scheduling.podobjects import ResourceRequirements, UniqueMeta
from webhook.cluster.scheduling.quantities import Quantities, Quantity
from webhook.cluster.storageclasses import StorageClassObject
from webhook.policy.model import Flag, Int32, LabelSelector, Text
from webhook.policy.placement.nodeaffinity import NodeSelector


class StorageObject(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """An object of storage; its name is unique, in its namespace if it has one."""

    metadata: UniqueMeta = UniqueMeta()

    @property
    def name(self) -> str:
        """Its name."""
        return self.metadata.name


class _Phase(msgspec.Struct, frozen=True, gc=False):
    """The status of a volume or a claim."""

    phase: str | None = None


class _VolumeTraits(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """What a claim and a volume must agree on; no mode means Filesystem."""

    access_modes: tuple[str, ...] | None = None
    storage_class_name: str | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None


class _ClaimSpec(_VolumeTraits, frozen=True, rename="camel", gc=False):
    """The specification of a claim."""

    volume_name: Text = ""
    resources: ResourceRequirements | None = None
    selector: LabelSelector | None = None


class ApiClaim(StorageObject, frozen=True, rename="camel", gc=False):
    """A PersistentVolumeClaim."""

    spec: _ClaimSpec = _ClaimSpec()
    status: _Phase | None = None


class _ClaimReference(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A reference to a claim."""

    namespace: Text = ""
    name: Text = ""
    uid: Text = ""


class _CsiSource(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A volume of a CSI driver."""

    driver: Text = ""
    volume_handle: Text = ""


class _VolumeAffinity(msgspec.Struct, frozen=True, gc=False):
    """The nodes that can access a volume."""

    required: NodeSelector | None = None


class _VolumeSpec(_VolumeTraits, frozen=True, rename="camel", gc=False):
    """The specification of a volume."""

    capacity: Quantities | None = None
    claim_ref: _ClaimReference | None = None
    csi: _CsiSource | None = None
    node_affinity: _VolumeAffinity | None = None


class ApiVolume(StorageObject, frozen=True, rename="camel", gc=False):
    """A PersistentVolume."""

    spec: _VolumeSpec = _VolumeSpec()
    status: _Phase | None = None


class _DriverLimit(msgspec.Struct, frozen=True, gc=False):
    """How many volumes of a driver a node allows."""

    count: Int32 | None = None


class _NodeDriver(msgspec.Struct, frozen=True, gc=False):
    """A CSI driver on a node."""

    name: Text = ""
    allocatable: _DriverLimit | None = None


class _NodeDrivers(msgspec.Struct, frozen=True, gc=False):
    """The specification of a CSINode."""

    drivers: tuple[_NodeDriver, ...] | None = None


class ApiCsiNode(StorageObject, frozen=True, rename="camel", gc=False):
    """A CSINode, which has the name of its node."""

    spec: _NodeDrivers | None = None


class _DriverSpec(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The specification of a CSIDriver."""

    storage_capacity: Flag = False
    prevent_pod_scheduling_if_missing: Flag = False


class ApiCsiDriver(StorageObject, frozen=True, rename="camel", gc=False):
    """A CSIDriver."""

    spec: _DriverSpec = _DriverSpec()


class ApiStorageCapacity(StorageObject, frozen=True, rename="camel", gc=False):
    """A CSIStorageCapacity: the free space for volumes of a class on some nodes."""

    node_topology: LabelSelector | None = None
    storage_class_name: Text = ""
    capacity: Quantity = None
    maximum_volume_size: Quantity = None


class _AttachedVolume(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The volume of an attachment."""

    persistent_volume_name: str | None = None


class _AttachmentSpec(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The specification of a VolumeAttachment."""

    attacher: Text = ""
    node_name: Text = ""
    source: _AttachedVolume = _AttachedVolume()


class ApiAttachment(StorageObject, frozen=True, rename="camel", gc=False):
    """A VolumeAttachment."""

    spec: _AttachmentSpec = _AttachmentSpec()


class StorageObjects(msgspec.Struct, frozen=True, rename="camel"):
    """The storage objects of a cluster; None is the same as absent."""

    persistent_volumes: tuple[ApiVolume, ...] | None = None
    persistent_volume_claims: tuple[ApiClaim, ...] | None = None
    storage_classes: tuple[StorageClassObject, ...] | None = None
    csi_nodes: tuple[ApiCsiNode, ...] | None = None
    csi_drivers: tuple[ApiCsiDriver, ...] | None = None
    csi_storage_capacities: tuple[ApiStorageCapacity, ...] | None = None
    volume_attachments: tuple[ApiAttachment, ...] | None = None

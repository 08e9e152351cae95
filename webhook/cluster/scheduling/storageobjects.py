"""
The fields of storage objects that filters read, as in the API.

For every field None is the same as absent. ``storage`` turns these objects into values.

Source: k8s.io/api core/v1 types.go, storage/v1 types.go.
"""

import msgspec

from webhook.cluster.scheduling.podobjects import DiskSource, ResourceRequirements, UniqueMeta
from webhook.cluster.scheduling.quantities import (
    Quantities,
    Quantity,
    check_quantities,
    check_quantity,
)
from webhook.cluster.storageclasses import StorageClassObject
from webhook.policy.model import LabelSelector
from webhook.policy.placement.nodeaffinity import NodeSelector


class StorageObject(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """An object of storage; its name is unique, in its namespace if it has one."""

    metadata: UniqueMeta | None = None

    @property
    def meta(self) -> UniqueMeta:
        """Its metadata."""
        return self.metadata or UniqueMeta()

    @property
    def name(self) -> str:
        """Its name."""
        return self.meta.name


class _Phase(msgspec.Struct, frozen=True, gc=False):
    """The status of a volume or a claim."""

    phase: str | None = None


class _VolumeTraits(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """What a claim and a volume must agree on; no mode means Filesystem."""

    access_modes: tuple[str, ...] | None = None
    storage_class_name: str | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None


class ClaimSpec(_VolumeTraits, frozen=True, rename="camel", gc=False):
    """The specification of a claim."""

    volume_name: str | None = None
    resources: ResourceRequirements | None = None
    selector: LabelSelector | None = None


class ApiClaim(StorageObject, frozen=True, rename="camel", gc=False):
    """A PersistentVolumeClaim."""

    spec: ClaimSpec | None = None
    status: _Phase | None = None


class ApiClaimReference(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A reference to a claim."""

    namespace: str | None = None
    name: str | None = None
    uid: str | None = None


class _CsiSource(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A volume of a CSI driver."""

    driver: str | None = None
    volume_handle: str | None = None


class _VolumeAffinity(msgspec.Struct, frozen=True, gc=False):
    """The nodes that can access a volume."""

    required: NodeSelector | None = None


class VolumeSpec(_VolumeTraits, frozen=True, rename="camel", gc=False):
    """The specification of a volume."""

    capacity: Quantities | None = None
    claim_ref: ApiClaimReference | None = None
    csi: _CsiSource | None = None
    gce_persistent_disk: DiskSource | None = None
    aws_elastic_block_store: DiskSource | None = None
    azure_disk: DiskSource | None = None
    cinder: DiskSource | None = None
    portworx_volume: DiskSource | None = None
    node_affinity: _VolumeAffinity | None = None

    def __post_init__(self) -> None:
        """Refuse malformed quantities."""
        check_quantities(self.capacity, "capacity")


class ApiVolume(StorageObject, frozen=True, rename="camel", gc=False):
    """A PersistentVolume."""

    spec: VolumeSpec | None = None
    status: _Phase | None = None


class _DriverLimit(msgspec.Struct, frozen=True, gc=False):
    """How many volumes of a driver a node allows."""

    count: int | None = None


class _NodeDriver(msgspec.Struct, frozen=True, gc=False):
    """A CSI driver on a node."""

    name: str | None = None
    allocatable: _DriverLimit | None = None


class _NodeDrivers(msgspec.Struct, frozen=True, gc=False):
    """The specification of a CSINode."""

    drivers: tuple[_NodeDriver, ...] | None = None


class ApiCsiNode(StorageObject, frozen=True, rename="camel", gc=False):
    """A CSINode, which has the name of its node."""

    spec: _NodeDrivers | None = None


class DriverSpec(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The specification of a CSIDriver."""

    storage_capacity: bool | None = None
    prevent_pod_scheduling_if_missing: bool | None = None


class ApiCsiDriver(StorageObject, frozen=True, rename="camel", gc=False):
    """A CSIDriver."""

    spec: DriverSpec | None = None


class ApiStorageCapacity(StorageObject, frozen=True, rename="camel", gc=False):
    """A CSIStorageCapacity: the free space for volumes of a class on some nodes."""

    node_topology: LabelSelector | None = None
    storage_class_name: str | None = None
    capacity: Quantity = None
    maximum_volume_size: Quantity = None

    def __post_init__(self) -> None:
        """Refuse malformed quantities."""
        check_quantity(self.capacity, "capacity")
        check_quantity(self.maximum_volume_size, "maximumVolumeSize")


class _AttachedVolume(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The volume of an attachment."""

    persistent_volume_name: str | None = None


class AttachmentSpec(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The specification of a VolumeAttachment."""

    attacher: str | None = None
    node_name: str | None = None
    source: _AttachedVolume | None = None


class ApiAttachment(StorageObject, frozen=True, rename="camel", gc=False):
    """A VolumeAttachment."""

    spec: AttachmentSpec | None = None


class StorageObjects(msgspec.Struct, frozen=True, rename="camel"):
    """The storage objects of a cluster; None is the same as absent."""

    persistent_volumes: tuple[ApiVolume, ...] | None = None
    persistent_volume_claims: tuple[ApiClaim, ...] | None = None
    storage_classes: tuple[StorageClassObject, ...] | None = None
    csi_nodes: tuple[ApiCsiNode, ...] | None = None
    csi_drivers: tuple[ApiCsiDriver, ...] | None = None
    csi_storage_capacities: tuple[ApiStorageCapacity, ...] | None = None
    volume_attachments: tuple[ApiAttachment, ...] | None = None

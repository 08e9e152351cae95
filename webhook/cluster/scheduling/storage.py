"""
The storage of a cluster as values for filters: ``read_storage``.

Source: component-helpers storage/volume helpers.go, pv_helpers.go.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from webhook.cluster.scheduling.migration import PLUGINS, migrate_disk, migrate_selector
from webhook.cluster.scheduling.podobjects import UniqueMeta
from webhook.cluster.scheduling.quantities import parse_quantity, round_up
from webhook.cluster.scheduling.storageobjects import (
    ApiAttachment,
    ApiClaim,
    ApiClaimReference,
    ApiCsiDriver,
    ApiCsiNode,
    ApiStorageCapacity,
    ApiVolume,
    AttachmentSpec,
    ClaimSpec,
    DriverSpec,
    StorageObjects,
    VolumeSpec,
)
from webhook.cluster.storageclasses import StorageClassObject
from webhook.policy.placement.filters.filterpods import (
    AZURE_DISK,
    BLOCK_STORE,
    CINDER,
    GCE_DISK,
    PORTWORX,
)
from webhook.policy.placement.filters.storage import (
    Claim,
    ClaimReference,
    CsiDriver,
    CsiNode,
    DriverVolume,
    MigratedVolume,
    Storage,
    StorageCapacity,
    Volume,
    VolumeClass,
    VolumeTraits,
)
from webhook.policy.placement.nodeaffinity import (
    Affinity,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    required_terms,
)

STORAGE = "storage"  # the resource of claims and volumes
FILESYSTEM = "Filesystem"  # the mode of a claim or volume that has none

BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
"""Annotation that precedes the field ``storageClassName``. Source: core/v1."""

MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"
"""Annotation of a CSINode. Source: core/v1 ``MigratedPluginsAnnotationKey``."""

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
"""Annotations of a claim. Source: pv_helpers.go."""

DELAYED = "WaitForFirstConsumer"


def read_storage(objects: StorageObjects) -> Storage:
    """Index the storage objects of a cluster; O(objects)."""
    claims = map(_read_claim, objects.persistent_volume_claims or ())
    volumes = {one.name: _read_volume(one) for one in objects.persistent_volumes or ()}
    return Storage(
        claims={(claim.namespace, claim.name): claim for claim in claims},
        volumes=volumes,
        classes={_name_of(one): _read_class(one) for one in objects.storage_classes or ()},
        csi_nodes={one.name: _read_csi_node(one) for one in objects.csi_nodes or ()},
        csi_drivers={one.name: _read_csi_driver(one) for one in objects.csi_drivers or ()},
        capacities=tuple(map(_read_capacity, objects.csi_storage_capacities or ())),
        attachments=_read_attachments(objects.volume_attachments or (), volumes),
    )


def _read_claim(claim: ApiClaim) -> Claim:
    metadata, spec = claim.meta, claim.spec or ClaimSpec()
    requests = (spec.resources and spec.resources.requests) or {}
    owners = (owner.uid for owner in metadata.owner_references if owner.controller)
    return Claim(
        namespace=metadata.namespace,
        name=claim.name,
        uid=metadata.uid or "",
        owner=next(owners, None) or "",
        volume=spec.volume_name or "",
        traits=_read_traits(metadata, spec, parse_quantity(requests.get(STORAGE))),
        has_size=STORAGE in requests,
        is_bound=bool(spec.volume_name) and BIND_COMPLETED in metadata.annotations,
        is_lost=claim.status is not None and claim.status.phase == "Lost",
        is_terminating=metadata.deletion_timestamp is not None,
        selected_node=metadata.annotations.get(SELECTED_NODE),
        selector=spec.selector,
    )


def _read_traits(metadata: UniqueMeta, spec: ClaimSpec | VolumeSpec, size: int) -> VolumeTraits:
    """Source: helpers.go ``GetPersistentVolumeClaimClass``, ``GetPersistentVolumeClass``."""
    annotated = metadata.annotations.get(BETA_CLASS)
    return VolumeTraits(
        class_name=(spec.storage_class_name or "") if annotated is None else annotated,
        size=size,
        mode=FILESYSTEM if spec.volume_mode is None else spec.volume_mode,
        attributes_class=spec.volume_attributes_class_name or "",
        access_modes=frozenset(spec.access_modes or ()),
    )


def _read_volume(volume: ApiVolume) -> Volume:
    metadata, spec = volume.meta, volume.spec or VolumeSpec()
    claim, csi = spec.claim_ref, spec.csi
    return Volume(
        name=volume.name,
        labels=metadata.labels,
        traits=_read_traits(metadata, spec, parse_quantity((spec.capacity or {}).get(STORAGE))),
        terms=_read_terms(spec),
        claim=_read_reference(claim) if claim else None,
        csi=DriverVolume(csi.driver or "", csi.volume_handle or "") if csi else None,
        migrated=_migrate(volume),
        is_available=volume.status is not None and volume.status.phase == "Available",
        is_terminating=metadata.deletion_timestamp is not None,
    )


def _read_reference(claim: ApiClaimReference) -> ClaimReference:
    return ClaimReference(claim.namespace or "", claim.name or "", claim.uid or "")


def _read_terms(spec: VolumeSpec) -> tuple[NodeSelectorTerm, ...] | None:
    """
    Read the node affinity; ``matchFields`` are ignored, since no node name is compared.

    Source: helpers.go ``CheckNodeAffinity``.
    """
    affinity = spec.node_affinity
    return _read_selector(affinity.required) if affinity else None


def _read_selector(selector: NodeSelector | None) -> tuple[NodeSelectorTerm, ...] | None:
    terms = required_terms(Affinity(NodeAffinity(selector)))
    return None if terms is None else tuple(replace(term, match_fields=None) for term in terms)


def _migrate(volume: ApiVolume) -> MigratedVolume | None:
    """Read a volume of an in-tree plugin that a CSI driver has replaced."""
    spec, labels = volume.spec or VolumeSpec(), volume.meta.labels
    sources = {
        GCE_DISK: spec.gce_persistent_disk,
        BLOCK_STORE: spec.aws_elastic_block_store,
        AZURE_DISK: spec.azure_disk,
        CINDER: spec.cinder,
        PORTWORX: spec.portworx_volume,
    }
    kind, disk = next(((kind, disk) for kind, disk in sources.items() if disk), ("", None))
    migrated = migrate_disk(kind, disk, labels) if disk else None
    if migrated is None:
        return None
    affinity = spec.node_affinity
    selector = migrate_selector(kind, affinity.required if affinity else None, labels)
    return MigratedVolume(PLUGINS[kind], migrated, _read_selector(selector))


def _name_of(storage_class: StorageClassObject) -> str:
    return (storage_class.metadata and storage_class.metadata.name) or ""


def _read_class(storage_class: StorageClassObject) -> VolumeClass:
    """Read a class; kube-apiserver sets an absent binding mode to Immediate."""
    return VolumeClass(
        provisioner=storage_class.provisioner or "",
        is_delayed=storage_class.volume_binding_mode == DELAYED,
        topologies=tuple(
            tuple((one.key, one.values or ()) for one in term.match_label_expressions or ())
            for term in storage_class.allowed_topologies or ()
        ),
    )


def _read_csi_node(node: ApiCsiNode) -> CsiNode:
    drivers = (node.spec and node.spec.drivers) or ()
    limits = {
        driver.name or "": driver.allocatable.count
        for driver in drivers
        if driver.allocatable and driver.allocatable.count is not None
    }
    plugins = node.meta.annotations.get(MIGRATED_PLUGINS, "").split(",")
    return CsiNode(
        frozenset(driver.name or "" for driver in drivers), limits, frozenset(plugins) - {""}
    )


def _read_csi_driver(driver: ApiCsiDriver) -> CsiDriver:
    spec = driver.spec or DriverSpec()
    return CsiDriver(bool(spec.storage_capacity), bool(spec.prevent_pod_scheduling_if_missing))


def _read_capacity(capacity: ApiStorageCapacity) -> StorageCapacity:
    """Source: kube-scheduler plugins/volumebinding/binder.go ``volumeLimit``."""
    largest = capacity.maximum_volume_size
    size = capacity.capacity if largest is None else largest
    rounded = None if size is None else round_up(parse_quantity(size))
    return StorageCapacity(capacity.storage_class_name or "", rounded, capacity.node_topology)


def _read_attachments(
    attachments: Iterable[ApiAttachment], volumes: dict[str, Volume]
) -> dict[str, tuple[DriverVolume, ...]]:
    """Source: kube-scheduler plugins/nodevolumelimits/csi.go ``getNodeVolumeAttachmentInfo``."""
    attached: dict[str, tuple[DriverVolume, ...]] = {}
    for one in attachments:
        spec = one.spec or AttachmentSpec()
        volume = volumes.get((spec.source and spec.source.persistent_volume_name) or "")
        if spec.attacher and spec.node_name and volume is not None and volume.csi is not None:
            found = DriverVolume(spec.attacher, volume.csi.handle)
            attached[spec.node_name] = (*attached.get(spec.node_name, ()), found)
    return attached

"""
The filters VolumeRestrictions, NodeVolumeLimits and VolumeZone.

Volumes of in-tree plugins that CSI drivers have replaced count as volumes of these drivers.

Source: kube-scheduler plugins/{volumerestrictions,nodevolumelimits,volumezone}.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from webhook.policy.api.versions import Version
from webhook.policy.model import BETA_REGION, BETA_ZONE, REGION, ZONE, Node
from webhook.policy.placement.filters.cluster import SchedulingCluster
from webhook.policy.placement.filters.filterpods import (
    BLOCK_STORE,
    CLAIM,
    GCE_DISK,
    ISCSI,
    RBD,
    FilterPod,
    PodVolume,
)
from webhook.policy.placement.filters.rejections import Check, FilterRejection
from webhook.policy.placement.filters.storage import (
    MIGRATED,
    Claim,
    CsiNode,
    DriverVolume,
    Storage,
    Volume,
)

DISK = FilterRejection("VolumeRestrictions", ("node(s) had no available disk",))
_IN_USE_REASON = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already "
    "in-use by another pod"
)
IN_USE = FilterRejection("VolumeRestrictions", (_IN_USE_REASON,))
TOO_MANY_VOLUMES = FilterRejection("NodeVolumeLimits", ("node(s) exceed max volume count",))
OTHER_ZONE = FilterRejection(
    "VolumeZone", ("node(s) had no available volume zone",), is_resolvable=False
)

REQUIRES_DRIVER = Version(1, 37)
"""The first version that rejects nodes without a CSI driver that must be there."""


def prepare_restrictions(
    pod: FilterPod, cluster: SchedulingCluster
) -> Check | FilterRejection | None:
    """Prepare VolumeRestrictions: each claim must exist, and some volumes allow only one pod."""
    placed, disks, in_use = cluster.placed, list[PodVolume](), False
    for volume in pod.volumes:
        if volume.kind == CLAIM:
            claim = cluster.storage.claims.get((volume.namespace, volume.name))
            if claim is None:
                return reject_missing("VolumeRestrictions", "persistentvolumeclaim", volume.name)
            if "ReadWriteOncePod" in claim.traits.access_modes:
                nodes = placed.nodes_with_claim(volume.namespace, volume.name)
                in_use = in_use or any(node in cluster.nodes for node in nodes)
        elif volume.kind in _EXCLUSIVE:
            disks.append(volume)
    if not disks:
        return (lambda _: IN_USE) if in_use else None

    def check(node: Node) -> FilterRejection | None:
        used = placed.usage(node.name).volumes
        if any(_conflict(disk, other) for disk in disks for other in used):
            return DISK
        return IN_USE if in_use else None

    return check


_EXCLUSIVE = frozenset({GCE_DISK, BLOCK_STORE, ISCSI, RBD})
"""Disks that two pods of a node may not mount."""


def reject_missing(plugin: str, kind: str, name: str) -> FilterRejection:
    """Reject a pod because an object does not exist."""
    return FilterRejection(plugin, (f'{kind} "{name}" not found',), is_resolvable=False)


def _conflict(disk: PodVolume, other: PodVolume) -> bool:
    """
    Whether two volumes are the same disk, which may not be mounted twice.

    Source: volume_restrictions.go ``isVolumeConflict``.
    """
    if (disk.kind, disk.name) != (other.kind, other.name) or other.namespace:
        return False
    if disk.kind != BLOCK_STORE and disk.read_only and other.read_only:
        return False
    return not disk.monitors or not set(disk.monitors).isdisjoint(other.monitors)


def prepare_limits(pod: FilterPod, cluster: SchedulingCluster) -> Check | None:
    """Prepare NodeVolumeLimits: each CSI driver allows a number of volumes on a node."""
    storage = cluster.storage
    volumes = [one for one in pod.volumes if one.namespace or one.migrated]
    if not volumes:
        return None

    def check(node: Node) -> FilterRejection | None:
        csi_node = storage.csi_nodes.get(node.name, CsiNode())
        added = set(_list_driver_volumes(volumes, storage, node))
        if cluster.version >= REQUIRES_DRIVER:
            for driver in sorted({volume.driver for volume in added}):
                if not _is_installed(driver, storage, csi_node):
                    reason = f"{driver} CSI driver is not installed on the node"
                    return FilterRejection("NodeVolumeLimits", (reason,))
        if not added or not csi_node.limits:
            return None
        present = cluster.placed.usage(node.name).volumes
        attached = set(_list_driver_volumes(present, storage, node))
        new = Counter(volume.driver for volume in added - attached)
        used = Counter(one.driver for one in attached.union(storage.attachments.get(node.name, ())))
        limits = csi_node.limits.items()
        exceeded = any(new[driver] and used[driver] + new[driver] > most for driver, most in limits)
        return TOO_MANY_VOLUMES if exceeded else None

    return check


def _is_installed(driver: str, storage: Storage, csi_node: CsiNode) -> bool:
    found = storage.csi_drivers.get(driver)
    return found is None or not found.is_required or driver in csi_node.drivers


def _list_driver_volumes(
    volumes: Iterable[PodVolume], storage: Storage, node: Node
) -> Iterator[DriverVolume]:
    """
    List the volumes of CSI drivers.

    Without a CSINode it is not known whether in-tree plugins are migrated: they are not counted.

    Source: csi.go ``filterAttachableVolumes``, ``checkAttachableInlineVolume``.
    """
    for volume in volumes:
        if volume.migrated is not None and node.name in storage.csi_nodes:
            yield volume.migrated
        claim = storage.claims.get((volume.namespace, volume.name)) if volume.namespace else None
        if claim is not None and volume.owner in ("", claim.owner):
            found = _find_driver(claim, storage, node)
            if found.driver and found.handle:
                yield found


def _find_driver(claim: Claim, storage: Storage, node: Node) -> DriverVolume:
    """
    Find the driver of a claim's volume, or that which will provision it; empty if there is none.

    Source: csi.go ``getCSIDriverInfo``.
    """
    volume = storage.volumes.get(claim.volume)
    is_migrated = node.name in storage.csi_nodes
    if volume is not None:
        migrated = volume.migrated.volume if volume.migrated and is_migrated else None
        return volume.csi or migrated or DriverVolume("", "")
    volume_class = storage.classes.get(claim.traits.class_name)
    driver = volume_class.provisioner if volume_class else ""
    if driver in MIGRATED:
        driver = MIGRATED[driver] if is_migrated else ""
    return DriverVolume(driver, f"claim {claim.namespace}/{claim.name}")


SUCCESSORS = MappingProxyType({BETA_ZONE: ZONE, BETA_REGION: REGION})
"""Former label of a zone or region -> the label that has replaced it."""

_ZONE_LABELS = (*SUCCESSORS, *SUCCESSORS.values())
_ZONES_SEPARATOR = "__"  # between the zones of a volume


def prepare_zones(pod: FilterPod, cluster: SchedulingCluster) -> Check | FilterRejection | None:
    """Prepare VolumeZone: a node must be in the zone and region of the pod's volumes."""
    storage, zones = cluster.storage, list[tuple[str, set[str]]]()
    for used in pod.volumes:
        claim = storage.claims.get((used.namespace, used.name)) if used.kind == CLAIM else None
        if claim is None or not claim.volume:
            continue
        volume = storage.volumes.get(claim.volume)
        if volume is None:
            return reject_missing("VolumeZone", "persistentvolume", claim.volume)
        zones += read_zones(volume)
    if not zones:
        return None

    def check(node: Node) -> FilterRejection | None:
        labels = node.labels
        # A node without any such label is taken for one of a cluster in a single zone.
        if not any(label in labels for label in _ZONE_LABELS):
            return None
        fits = all(_find_zone(key, labels) in values for key, values in zones)
        return None if fits else OTHER_ZONE

    return check


def _find_zone(key: str, labels: Mapping[str, str]) -> str | None:
    return labels[key] if key in labels else labels.get(SUCCESSORS.get(key, key))


def read_zones(volume: Volume) -> Iterator[tuple[str, set[str]]]:
    """
    Read the labels of a volume that name its zones; a label with an empty name is ignored.

    Yields:
        The key of a label, and the values that a node may have.

    Source: volume_zone.go ``getPVTopologies``.
    """
    for key in _ZONE_LABELS:
        if key in volume.labels:
            names = volume.labels[key].split(_ZONES_SEPARATOR)
            zones = {name.strip() for name in names}
            if "" not in zones:
                yield key, zones

"""
Volumes of in-tree plugins as volumes of the CSI drivers that have replaced these.

Entry points: ``migrate_disk`` for a disk, and ``migrate_selector`` for the nodes that can access a
PersistentVolume. A disk that Kubernetes cannot translate has no driver.

Source: csi-translation-lib plugins/{aws_ebs,azure_disk,gce_pd,openstack_cinder,portworx}.go.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from urllib.parse import urlsplit

from msgspec.structs import replace

from webhook.cluster.scheduling.podobjects import DiskSource
from webhook.policy.model import BETA_REGION, BETA_ZONE, REGION, ZONE, LabelSelectorRequirement
from webhook.policy.placement.filters.filterpods import (
    AZURE_DISK,
    BLOCK_STORE,
    CINDER,
    GCE_DISK,
    PORTWORX,
)
from webhook.policy.placement.filters.storage import MIGRATED, DriverVolume
from webhook.policy.placement.nodeaffinity import NodeSelector, NodeSelectorTerm
from webhook.policy.selectors import IN

PLUGINS: Mapping[str, str] = MappingProxyType(
    {
        AZURE_DISK: "kubernetes.io/azure-disk",
        BLOCK_STORE: "kubernetes.io/aws-ebs",
        CINDER: "kubernetes.io/cinder",
        GCE_DISK: "kubernetes.io/gce-pd",
        PORTWORX: "kubernetes.io/portworx-volume",
    }
)
"""Field of a volume -> its in-tree plugin."""

_ZONE_KEYS: Mapping[str, str] = MappingProxyType(
    {
        BLOCK_STORE: "topology.ebs.csi.aws.com/zone",
        CINDER: "topology.cinder.csi.openstack.org/zone",
        GCE_DISK: "topology.gke.io/zone",
    }
)
"""Field of a volume -> the label that the driver gives to the nodes of a zone."""

_SEPARATOR = "__"  # between the zones of a volume
_UNSPECIFIED = "UNSPECIFIED"
_ZONE_PARTS = 3  # of a name such as europe-west1-b

_is_ebs_volume = re.compile(r"vol-[^/]*").fullmatch


def migrate_disk(
    kind: str, disk: DiskSource, labels: Mapping[str, str] = MappingProxyType({})
) -> DriverVolume | None:
    """
    Translate a disk of an in-tree plugin.

    Args:
        kind: Its field in the API.
        labels: Those of the PersistentVolume.

    Returns:
        None for a plugin that no driver has replaced, and if the disk cannot be translated.

    Source: translate.go ``TranslateInTreeInlineVolumeToCSI``, ``TranslateInTreePVToCSI``.
    """
    plugin = PLUGINS.get(kind, "")
    handle = _HANDLES[kind](disk, labels) if plugin else ""
    return DriverVolume(MIGRATED[plugin], handle) if handle else None


def _identify(disk: DiskSource, _labels: Mapping[str, str]) -> str:
    return disk.volume_id or ""


def _identify_ebs(disk: DiskSource, _labels: Mapping[str, str]) -> str:
    """Source: aws_ebs.go ``KubernetesVolumeIDToEBSVolumeID``."""
    written = disk.volume_id or ""
    if not written.startswith("aws://"):
        return written
    name = urlsplit(written).path.strip("/")
    return name if _is_ebs_volume(name) else ""


def _identify_azure(disk: DiskSource, _labels: Mapping[str, str]) -> str:
    """Only managed disks can be translated; kube-apiserver takes an absent kind for Shared."""
    return (disk.disk_uri or "") if (disk.kind or "").lower() == "managed" else ""


def _identify_gce(disk: DiskSource, labels: Mapping[str, str]) -> str:
    """Source: gce_pd.go ``TranslateInTreePVToCSI``, ``gceGetRegionFromZones``."""
    zones = (labels.get(BETA_ZONE) or labels.get(ZONE, "")).split(_SEPARATOR)
    if len(zones) == 1:
        return f"projects/{_UNSPECIFIED}/zones/{zones[0] or _UNSPECIFIED}/disks/{disk.pd_name}"
    parts = [zone.split("-") for zone in zones]
    regions = {tuple(part[:2]) for part in parts}
    if len(regions) != 1 or any(len(part) != _ZONE_PARTS for part in parts):
        return ""
    return f"projects/{_UNSPECIFIED}/regions/{'-'.join(*regions)}/disks/{disk.pd_name}"


_HANDLES: Mapping[str, Callable[[DiskSource, Mapping[str, str]], str]] = MappingProxyType(
    {
        AZURE_DISK: _identify_azure,
        BLOCK_STORE: _identify_ebs,
        CINDER: _identify,
        GCE_DISK: _identify_gce,
        PORTWORX: _identify,
    }
)
"""Field of a volume -> what finds its handle; empty if Kubernetes cannot translate it."""


def migrate_selector(
    kind: str, selector: NodeSelector | None, labels: Mapping[str, str]
) -> NodeSelector | None:
    """
    Translate the nodes that can access a PersistentVolume: by the zone label of the driver.

    Args:
        labels: Those of the volume, whose zones count if the selector has none.

    Source: in_tree_volume.go ``translateTopologyFromInTreeToCSI``.
    """
    key, terms = _ZONE_KEYS.get(kind), (selector and selector.node_selector_terms) or ()
    if key is None:
        return selector
    known = {one.key for term in terms for one in term.match_expressions or ()}
    places = (known, labels)
    zone = next((one for place in places for one in (ZONE, BETA_ZONE) if one in place), ZONE)
    renamed = {BETA_REGION: REGION} if zone == BETA_ZONE else {}
    if _has_values(terms, zone):
        renamed[zone] = key
        return NodeSelector(tuple(_rename(term, renamed) for term in terms))
    terms = tuple(_rename(term, renamed) for term in terms)
    zones = sorted({one.strip() for one in labels.get(zone, "").split(_SEPARATOR)} - {""})
    if not zones:
        return NodeSelector(terms) if selector else None
    added = LabelSelectorRequirement(key=key, operator=IN, values=tuple(zones))
    return NodeSelector(
        tuple(
            replace(term, match_expressions=(*(term.match_expressions or ()), added))
            for term in terms or (NodeSelectorTerm(),)
        )
    )


def _has_values(terms: Sequence[NodeSelectorTerm], key: str) -> bool:
    return any(
        one.key == key and one.values for term in terms for one in term.match_expressions or ()
    )


def _rename(term: NodeSelectorTerm, keys: Mapping[str, str]) -> NodeSelectorTerm:
    if not term.match_expressions:
        return term
    expressions = (replace(one, key=keys.get(one.key, one.key)) for one in term.match_expressions)
    return replace(term, match_expressions=tuple(expressions))

"""Disks of in-tree plugins are translated as csi-translation-lib does."""

import msgspec
import pytest

from webhook.cluster.scheduling.migration import PLUGINS, migrate_disk, migrate_selector
from webhook.cluster.scheduling.podobjects import DiskSource
from webhook.policy.model import ZONE, LabelSelectorRequirement
from webhook.policy.placement.filters.storage import MIGRATED, DriverVolume
from webhook.policy.placement.nodeaffinity import NodeSelector, NodeSelectorTerm

BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"
REGION = "topology.kubernetes.io/region"
EBS_ZONE = "topology.ebs.csi.aws.com/zone"
EBS, GCE, AZURE = "awsElasticBlockStore", "gcePersistentDisk", "azureDisk"
EBS_DRIVER, GCE_DRIVER = "ebs.csi.aws.com", "pd.csi.storage.gke.io"

# kind, disk, labels of the volume, what counts
DISKS: dict[str, tuple[str, dict[str, str], dict[str, str], DriverVolume | None]] = {
    "a volume of AWS": (EBS, {"volumeID": "vol-1"}, {}, DriverVolume(EBS_DRIVER, "vol-1")),
    "a volume of AWS with its zone": (
        EBS, {"volumeID": "aws://us-east-1a/vol-1"}, {}, DriverVolume(EBS_DRIVER, "vol-1")
    ),
    "a volume of AWS without its zone": (
        EBS, {"volumeID": "aws:///vol-1"}, {}, DriverVolume(EBS_DRIVER, "vol-1")
    ),
    "a broken volume of AWS": (EBS, {"volumeID": "aws://us-east-1a/disk"}, {}, None),
    "a disk of GCE": (
        GCE, {"pdName": "d"}, {},
        DriverVolume(GCE_DRIVER, "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d"),
    ),
    "a disk of a zone": (
        GCE, {"pdName": "d"}, {ZONE: "z1"},
        DriverVolume(GCE_DRIVER, "projects/UNSPECIFIED/zones/z1/disks/d"),
    ),
    "the former label takes precedence": (
        GCE, {"pdName": "d"}, {ZONE: "z1", BETA_ZONE: "z2"},
        DriverVolume(GCE_DRIVER, "projects/UNSPECIFIED/zones/z2/disks/d"),
    ),
    "a disk of a region": (
        GCE, {"pdName": "d"}, {ZONE: "europe-west1-b__europe-west1-c"},
        DriverVolume(GCE_DRIVER, "projects/UNSPECIFIED/regions/europe-west1/disks/d"),
    ),
    "a disk of two regions": (GCE, {"pdName": "d"}, {ZONE: "a-b-c__a-c-c"}, None),
    "a disk of unknown zones": (GCE, {"pdName": "d"}, {ZONE: "z1__z1"}, None),
    "a managed disk of Azure": (
        AZURE, {"diskURI": "/subscriptions/d", "kind": "Managed"}, {},
        DriverVolume("disk.csi.azure.com", "/subscriptions/d"),
    ),
    "another disk of Azure": (AZURE, {"diskURI": "d", "kind": "Shared"}, {}, None),
    "a disk of Azure by default": (AZURE, {"diskURI": "d"}, {}, None),
    "a volume of OpenStack": (
        "cinder", {"volumeID": "v"}, {}, DriverVolume("cinder.csi.openstack.org", "v")
    ),
    "a volume of Portworx": (
        "portworxVolume", {"volumeID": "v"}, {}, DriverVolume("pxd.portworx.com", "v")
    ),
    "a plugin that is not migrated": ("iscsi", {"iqn": "q"}, {}, None),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "disk", "labels", "found"), DISKS.values(), ids=DISKS.keys())
def test_disks(
    kind: str, disk: dict[str, str], labels: dict[str, str], found: DriverVolume | None
) -> None:
    assert migrate_disk(kind, msgspec.convert(disk, DiskSource), labels) == found


def test_every_plugin_has_a_driver() -> None:
    assert all(MIGRATED[plugin] for plugin in PLUGINS.values())


def needs(key: str, *values: str, operator: str = "In") -> LabelSelectorRequirement:
    return LabelSelectorRequirement(key=key, operator=operator, values=values)


def term(*expressions: LabelSelectorRequirement) -> NodeSelectorTerm:
    return NodeSelectorTerm(expressions)


def select(*terms: NodeSelectorTerm) -> NodeSelector:
    return NodeSelector(terms)


RACK, IN_A = needs("rack", "r"), needs(EBS_ZONE, "a")

# kind, selector, labels of the volume, selector of the driver's volume
SELECTORS: dict[
    str, tuple[str, NodeSelector | None, dict[str, str], NodeSelector | None]
] = {
    "nothing required": (EBS, None, {}, None),
    "no zone": (EBS, select(term(RACK)), {}, select(term(RACK))),
    "a zone": (EBS, select(term(needs(ZONE, "a"), RACK)), {}, select(term(IN_A, RACK))),
    "zones of several terms": (
        EBS, select(term(needs(ZONE, "a")), term(RACK)), {ZONE: "b"},
        select(term(IN_A), term(RACK)),
    ),
    "a zone by the former label": (
        EBS, select(term(needs(BETA_ZONE, "a"), needs(BETA_REGION, "r"))), {},
        select(term(IN_A, needs(REGION, "r"))),
    ),
    "both labels": (
        EBS, select(term(needs(ZONE, "a"), needs(BETA_ZONE, "b"))), {},
        select(term(IN_A, needs(BETA_ZONE, "b"))),
    ),
    "a label of the volume": (EBS, None, {ZONE: "a"}, select(term(IN_A))),
    "labels of several zones": (
        EBS, select(term(RACK)), {ZONE: "b__ a"}, select(term(RACK, needs(EBS_ZONE, "a", "b")))
    ),
    "a former label of the volume": (
        EBS, select(term(needs(BETA_REGION, "r"))), {BETA_ZONE: "a"},
        select(term(needs(REGION, "r"), IN_A)),
    ),
    "an empty label of the volume": (EBS, None, {ZONE: ""}, None),
    "an empty term": (EBS, select(NodeSelectorTerm()), {ZONE: "a"}, select(term(IN_A))),
    "no terms": (EBS, select(), {ZONE: "a"}, select(term(IN_A))),
    "no zone has a value": (
        EBS, select(term(needs(ZONE, operator="Exists"))), {},
        select(term(needs(ZONE, operator="Exists"))),
    ),
    "a driver without zones": (
        AZURE, select(term(needs(ZONE, "a"))), {ZONE: "b"}, select(term(needs(ZONE, "a")))
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "selector", "labels", "found"), SELECTORS.values(), ids=SELECTORS.keys()
)
def test_nodes_that_can_access_a_volume(
    kind: str, selector: NodeSelector | None, labels: dict[str, str], found: NodeSelector | None
) -> None:
    assert migrate_selector(kind, selector, labels) == found

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from webhook.cluster.scheduling.storage import read_storage
from webhook.cluster.scheduling.storageobjects import StorageObjects
from webhook.policy.model import LabelSelector, LabelSelectorRequirement
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
from webhook.policy.placement.nodeaffinity import NodeSelectorTerm

GI = 1024**3 * 10**9
BETA = {"volume.beta.kubernetes.io/storage-class": "old"}


def read(**members: Any) -> Storage:
    return read_storage(msgspec.convert(members, StorageObjects))


def read_claim(spec: Any = None, status: Any = None, **metadata: Any) -> Claim:
    named = {"name": "data", "namespace": "shop", **metadata}
    claim = {"metadata": named, "spec": spec, "status": status}
    return read(persistentVolumeClaims=[claim]).claims["shop", "data"]


def read_volume(spec: Any = None, status: Any = None, **metadata: Any) -> Volume:
    volume = {"metadata": {"name": "pv", **metadata}, "spec": spec, "status": status}
    return read(persistentVolumes=[volume]).volumes["pv"]


def test_a_cluster_without_storage() -> None:
    assert read() == Storage()


def test_a_claim_without_members() -> None:
    assert read_claim() == Claim(
        namespace="shop", name="data", traits=VolumeTraits(mode="Filesystem")
    )


def test_a_claim_that_waits_for_its_volume() -> None:
    spec = {
        "accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "volumeMode": "Block",
        "volumeAttributesClassName": "gold", "resources": {"requests": {"storage": "1Gi"}},
        "selector": {},
    }  # fmt: skip
    annotations = {"volume.kubernetes.io/selected-node": "n1"}

    assert read_claim(spec, annotations=annotations, uid="u1") == Claim(
        namespace="shop",
        name="data",
        uid="u1",
        traits=VolumeTraits(
            class_name="fast",
            size=GI,
            mode="Block",
            attributes_class="gold",
            access_modes=frozenset({"ReadWriteOnce"}),
        ),
        has_size=True,
        selected_node="n1",
        selector=LabelSelector(),
    )


BOUND = {"pv.kubernetes.io/bind-completed": "yes"}

# volume name, annotations, is bound
BINDINGS: dict[str, tuple[str, dict[str, str], bool]] = {
    "bound": ("pv", BOUND, True),
    "chosen by the user": ("pv", {}, False),
    "no volume": ("", BOUND, False),
}


@pytest.mark.parametrize(
    ("volume", "annotations", "is_bound"), BINDINGS.values(), ids=BINDINGS.keys()
)
def test_a_claim_is_bound_when_the_binding_is_complete(
    volume: str, annotations: dict[str, str], is_bound: bool
) -> None:
    claim = read_claim({"volumeName": volume}, annotations=annotations)

    assert (claim.volume, claim.is_bound) == (volume, is_bound)


def test_a_claim_is_lost_or_being_deleted() -> None:
    claim = read_claim(status={"phase": "Lost"}, deletionTimestamp="2026-01-01T00:00:00Z")

    assert (claim.is_lost, claim.is_terminating) == (True, True)
    assert not read_claim(status={"phase": "Bound"}).is_lost


def test_only_the_controller_owns_a_claim() -> None:
    owners = [{"uid": "u1"}, {"uid": "u2", "controller": True}]

    assert read_claim(ownerReferences=owners).owner == "u2"


def test_the_former_annotation_of_the_class_takes_precedence() -> None:
    assert read_claim({"storageClassName": "new"}, annotations=BETA).traits.class_name == "old"
    assert read_volume({"storageClassName": "new"}, annotations=BETA).traits.class_name == "old"


def test_a_volume_without_members() -> None:
    assert read_volume() == Volume(name="pv", traits=VolumeTraits(mode="Filesystem"))


def test_a_volume() -> None:
    spec = {
        "capacity": {"storage": "2Gi"}, "csi": {"driver": "csi.x", "volumeHandle": "h"},
        "claimRef": {"namespace": "shop", "name": "data", "uid": "u1"},
    }  # fmt: skip
    volume = read_volume(
        spec, {"phase": "Available"}, labels={"a": "b"}, deletionTimestamp="2026-01-01T00:00:00Z"
    )

    assert volume == Volume(
        name="pv",
        labels={"a": "b"},
        traits=VolumeTraits(size=2 * GI, mode="Filesystem"),
        claim=ClaimReference("shop", "data", "u1"),
        csi=DriverVolume("csi.x", "h"),
        is_available=True,
        is_terminating=True,
    )


ZONE_A = LabelSelectorRequirement(key="zone", operator="In", values=("a",))

# node affinity, terms
AFFINITIES: dict[str, tuple[Any, tuple[NodeSelectorTerm, ...] | None]] = {
    "none": (None, None),
    "nothing required": ({}, None),
    "no terms": ({"required": {}}, ()),
    "a term": (
        {"required": {"nodeSelectorTerms": [{"matchExpressions": [msgspec.to_builtins(ZONE_A)]}]}},
        (NodeSelectorTerm((ZONE_A,)),),
    ),
    "a field, which is ignored": (
        {"required": {"nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]}},
        (NodeSelectorTerm(),),
    ),
    "a term that Kubernetes cannot parse": (
        {"required": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "a", "operator": "x"}]}]}},
        (),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("affinity", "terms"), AFFINITIES.values(), ids=AFFINITIES.keys())
def test_the_nodes_that_can_access_a_volume(
    affinity: Any, terms: tuple[NodeSelectorTerm, ...] | None
) -> None:
    assert read_volume({"nodeAffinity": affinity}).terms == terms


# field of the volume, source, what counts in its place
IN_TREE: dict[str, tuple[str, dict[str, str], MigratedVolume | None]] = {
    "a disk of AWS": (
        "awsElasticBlockStore", {"volumeID": "vol-1"},
        MigratedVolume(
            "kubernetes.io/aws-ebs", DriverVolume("ebs.csi.aws.com", "vol-1"),
            (NodeSelectorTerm((ZONE_A, replace(ZONE_A, key="topology.ebs.csi.aws.com/zone"))),),
        ),
    ),
    "a disk of Azure that cannot be translated": ("azureDisk", {"diskURI": "/d"}, None),
    "a volume of no driver": ("local", {"path": "/mnt"}, None),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "source", "migrated"), IN_TREE.values(), ids=IN_TREE.keys())
def test_volumes_of_in_tree_plugins(
    kind: str, source: dict[str, str], migrated: MigratedVolume | None
) -> None:
    terms = [{"matchExpressions": [msgspec.to_builtins(ZONE_A)]}]
    affinity = {"required": {"nodeSelectorTerms": terms}}

    volume = read_volume(
        {kind: source, "nodeAffinity": affinity}, labels={"topology.kubernetes.io/zone": "a"}
    )

    assert volume.migrated == migrated
    assert volume.terms == (NodeSelectorTerm((ZONE_A,)),)


# mode, is delayed
MODES = {"WaitForFirstConsumer": True, "Immediate": False, None: False}


@pytest.mark.parametrize(("mode", "is_delayed"), MODES.items())
def test_a_class_that_waits_for_a_pod(mode: str | None, is_delayed: bool) -> None:
    written = {"metadata": {"name": "fast"}, "provisioner": "csi.x", "volumeBindingMode": mode}

    assert read(storageClasses=[written, {}]).classes == {
        "fast": VolumeClass("csi.x", is_delayed),
        "": VolumeClass(),
    }


def test_the_topologies_of_a_class() -> None:
    expressions = [{"key": "zone", "values": ["a", "b"]}, {"key": "rack"}]
    written: dict[str, Any] = {"allowedTopologies": [{"matchLabelExpressions": expressions}, {}]}

    assert read(storageClasses=[written]).classes[""].topologies == (
        (("zone", ("a", "b")), ("rack", ())),
        (),
    )


def test_the_drivers_of_a_node() -> None:
    drivers = [
        {"name": "csi.x", "allocatable": {"count": 0}},
        {"name": "csi.y"},
        {"allocatable": {}},
    ]
    nodes = [
        {"metadata": {"name": "n1"}, "spec": {"drivers": drivers}},
        {
            "metadata": {
                "name": "n2",
                "annotations": {"storage.alpha.kubernetes.io/migrated-plugins": "a,b"},
            }
        },
    ]

    assert read(csiNodes=nodes).csi_nodes == {
        "n1": CsiNode(frozenset({"csi.x", "csi.y", ""}), {"csi.x": 0}),
        "n2": CsiNode(migrated=frozenset({"a", "b"})),
    }


def test_the_drivers_of_a_cluster() -> None:
    spec = {"storageCapacity": True, "preventPodSchedulingIfMissing": True}
    drivers = [{"metadata": {"name": "csi.x"}, "spec": spec}, {"metadata": {"name": "csi.y"}}]

    assert read(csiDrivers=drivers).csi_drivers == {
        "csi.x": CsiDriver(reports_capacity=True, is_required=True),
        "csi.y": CsiDriver(),
    }


# capacity, maximum size, bytes
CAPACITIES: dict[str, tuple[str | None, str | None, int | None]] = {
    "unknown": (None, None, None),
    "the capacity": ("1Ki", None, 1024),
    "the largest volume takes precedence": ("1Ki", "7", 7),
    "rounded up": ("1500m", None, 2),
}


@pytest.mark.parametrize(
    ("capacity", "largest", "size"), CAPACITIES.values(), ids=CAPACITIES.keys()
)
def test_free_space(capacity: str | None, largest: str | None, size: int | None) -> None:
    written: dict[str, Any] = {
        "storageClassName": "fast", "capacity": capacity, "maximumVolumeSize": largest,
        "nodeTopology": {},
    }  # fmt: skip

    assert read(csiStorageCapacities=[written, {}]).capacities == (
        StorageCapacity("fast", size, LabelSelector()),
        StorageCapacity(""),
    )


def attachment(attacher: str = "csi.x", volume: str = "pv", node: str = "n1") -> dict[str, Any]:
    source = {"persistentVolumeName": volume}
    return {"spec": {"attacher": attacher, "nodeName": node, "source": source}}


def test_attached_volumes_of_drivers() -> None:
    csi = {"driver": "csi.y", "volumeHandle": "h"}
    volumes = [{"metadata": {"name": "pv"}, "spec": {"csi": csi}}, {"metadata": {"name": "local"}}]
    attachments = [
        attachment(), attachment("csi.z"), attachment(""), attachment(volume="local"),
        attachment(volume="gone"), attachment(node=""), {}, {"spec": {"attacher": "csi.x"}},
    ]  # fmt: skip

    found = read(persistentVolumes=volumes, volumeAttachments=attachments).attachments

    assert found == {"n1": (DriverVolume("csi.x", "h"), DriverVolume("csi.z", "h"))}

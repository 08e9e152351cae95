import pytest

from tests.policy.placement.filters.objects import (
    V1_36,
    V1_37,
    Json,
    cluster,
    node_object,
    pod,
    pod_object,
    run_check,
)
from tests.policy.placement.filters.volumes import (
    bound_claim,
    claim_object,
    class_object,
    csi,
    uses,
    volume_object,
)
from webhook.policy.api.versions import Version
from webhook.policy.model import ZONE
from webhook.policy.placement.filters.rejections import FilterRejection
from webhook.policy.placement.filters.volumefilters import (
    DISK,
    IN_USE,
    OTHER_ZONE,
    TOO_MANY_VOLUMES,
    prepare_limits,
    prepare_restrictions,
    prepare_zones,
)

REGION, BETA_ZONE = "topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/zone"


def gce(name: str = "d", *, read_only: bool = False) -> Json:
    return {"gcePersistentDisk": {"pdName": name, "readOnly": read_only}}


def iscsi(name: str = "q", *, read_only: bool = False) -> Json:
    return {"iscsi": {"iqn": name, "readOnly": read_only}}


def rbd(*monitors: str, image: str = "i", read_only: bool = False) -> Json:
    return {"rbd": {"monitors": monitors, "pool": "p", "image": image, "readOnly": read_only}}


AWS = {"awsElasticBlockStore": {"volumeID": "vol-1", "readOnly": True}}

# volume of the pod, volume in use, whether they exclude each other
DISKS = {
    "the same disk": (gce(), gce(), True),
    "another disk": (gce(), gce("e"), False),
    "another kind": (gce("q"), iscsi("q"), False),
    "a kind that several pods may mount": ({"cinder": {"volumeID": "v"}},) * 2 + (False,),
    "both only read": (gce(read_only=True), gce(read_only=True), False),
    "one only reads": (gce(read_only=True), gce(), True),
    "a disk of AWS, also if both only read": (AWS, AWS, True),
    "the same target": (iscsi(), iscsi(), True),
    "a target that both only read": (iscsi(read_only=True), iscsi(read_only=True), False),
    "the same image": (rbd("m1", "m2"), rbd("m2", "m3"), True),
    "another image": (rbd("m1"), rbd("m1", image="j"), False),
    "other monitors": (rbd("m1"), rbd("m2"), False),
    "an image that both only read": (rbd("m1", read_only=True), rbd("m1", read_only=True), False),
    "a claim": (gce(), uses("d"), False),
    "an ephemeral volume": ({"name": "v", "ephemeral": {}}, gce(), False),
    "a volume of no matter": ({"emptyDir": {}}, gce(), False),
}


@pytest.mark.parametrize(("wanted", "used", "conflict"), DISKS.values(), ids=DISKS.keys())
def test_a_disk_is_mounted_once(wanted: Json, used: Json, conflict: bool) -> None:
    scene = cluster(
        [node_object("n1"), node_object("n2")], [pod_object(nodeName="n1", volumes=[used])]
    )
    prepared = prepare_restrictions(pod(volumes=[wanted]), scene)

    assert run_check(prepared, scene) == {"n1": DISK if conflict else None, "n2": None}


# access modes, node of the pod that uses the claim, rejection
ONE_POD: dict[str, tuple[list[str], str, FilterRejection | None]] = {
    "in use": (["ReadWriteOncePod"], "n1", IN_USE),
    "in use on an unknown node": (["ReadWriteOncePod"], "gone", None),
    "other modes": (["ReadWriteOnce"], "n1", None),
}


@pytest.mark.parametrize(("modes", "node", "rejection"), ONE_POD.values(), ids=ONE_POD.keys())
def test_a_claim_for_one_pod(
    modes: list[str], node: str, rejection: FilterRejection | None
) -> None:
    scene = cluster(
        [node_object("n1"), node_object("n2")],
        [pod_object(nodeName=node, volumes=[uses("data")])],
        persistentVolumeClaims=[claim_object(accessModes=modes)],
    )

    for volumes in ([uses("data")], [uses("data"), gce()]):
        prepared = prepare_restrictions(pod(volumes=volumes), scene)
        assert run_check(prepared, scene) == {"n1": rejection, "n2": rejection}


def test_a_claim_must_exist() -> None:
    scene = cluster([node_object("n1")])
    reason = ('persistentvolumeclaim "data" not found',)

    assert prepare_restrictions(pod(volumes=[uses("data")]), scene) == FilterRejection(
        "VolumeRestrictions", reason, is_resolvable=False
    )


def test_a_pod_without_volumes_has_nothing_to_check() -> None:
    scene = cluster([node_object("n1")])

    for prepare in (prepare_restrictions, prepare_limits, prepare_zones):
        assert prepare(pod(), scene) is None


def csi_node(*limits: tuple[str, int | None], name: str = "n1") -> Json:
    drivers = [
        {"name": driver, **({} if count is None else {"allocatable": {"count": count}})}
        for driver, count in limits
    ]
    return {"metadata": {"name": name}, "spec": {"drivers": drivers}}


ONE = csi_node(("csi.x", 1))
EPHEMERAL = {"name": "v", "ephemeral": {"volumeClaimTemplate": {}}}


def owned(owner: str) -> Json:
    claim = claim_object("old-v")
    claim["metadata"]["ownerReferences"] = [{"uid": owner, "controller": True}]
    return claim


# Volumes: pv-x and pv-y of driver csi.x, pv-z of csi.z, local of no driver, empty of an empty one.
VOLUMES = [
    volume_object("pv-x", **csi("csi.x", "x")),
    volume_object("pv-y", **csi("csi.x", "y")),
    volume_object("pv-z", **csi("csi.z", "z")),
    volume_object("local"),
    volume_object("empty", **csi("csi.x", "")),
    volume_object("in-tree", awsElasticBlockStore={"volumeID": "aws://a/vol-1"}),
]
CLAIMS = [
    *(bound_claim(one["metadata"]["name"], one["metadata"]["name"]) for one in VOLUMES),
    claim_object("new"), claim_object("new-2"), bound_claim("gone", "lost"),
    claim_object("classless", storageClassName=None), claim_object("aws", storageClassName="aws"),
    claim_object("vsphere", storageClassName="vsphere"),
]  # fmt: skip
CLASSES = [
    class_object(),
    class_object("aws", provisioner="kubernetes.io/aws-ebs"),
    class_object("vsphere", provisioner="kubernetes.io/vsphere-volume"),
]
ATTACHED = {
    "spec": {"attacher": "csi.x", "nodeName": "n1", "source": {"persistentVolumeName": "pv-y"}}
}
INLINE = {"name": "v", "awsElasticBlockStore": {"volumeID": "vol-1"}}
AZURE = {"name": "v", "azureDisk": {"diskURI": "/d", "kind": "Managed"}}
EBS = csi_node(("ebs.csi.aws.com", 0), ("kubernetes.io/aws-ebs", 0), ("", 0))

# CSINode, claims of the pod, claims in use, attachments, whether there are too many
LIMITS: dict[str, tuple[Json | None, list[str], list[str], list[Json], bool]] = {
    "one volume": (ONE, ["pv-x"], [], [], False),
    "two volumes": (ONE, ["pv-x", "pv-y"], [], [], True),
    "one in use": (ONE, ["pv-x"], ["pv-y"], [], True),
    "the same in use": (ONE, ["pv-x"], ["pv-x"], [], False),
    "one of another driver in use": (ONE, ["pv-x"], ["pv-z"], [], False),
    "no limit for the driver": (ONE, ["pv-z"], ["pv-z"], [], False),
    "one attached": (ONE, ["pv-x"], [], [ATTACHED], True),
    "the same attached and in use": (csi_node(("csi.x", 2)), ["pv-x"], ["pv-y"], [ATTACHED], False),
    "no limit": (csi_node(("csi.x", None)), ["pv-x", "pv-y"], [], [], False),
    "no CSINode": (None, ["pv-x", "pv-y"], [], [], False),
    "no volumes of drivers": (csi_node(("csi.x", 0)), ["local", "empty"], [], [], False),
    "a volume to provision": (ONE, ["new"], ["pv-x"], [], True),
    "two volumes to provision": (ONE, ["new", "new-2"], [], [], True),
    "a volume that does not exist": (ONE, ["lost"], ["pv-x"], [], True),
    "a claim without a class": (ONE, ["classless"], ["pv-x"], [], False),
    "a volume of an in-tree plugin to provision": (EBS, ["aws"], [], [], True),
    "the same without a CSINode": (None, ["aws"], [], [], False),
    "a volume of a plugin that is not counted": (EBS, ["vsphere"], [], [], False),
    "a used claim that does not exist": (ONE, ["pv-x"], ["absent"], [], False),
}  # fmt: skip


@pytest.mark.parametrize(
    ("drivers", "claims", "used", "attached", "too_many"), LIMITS.values(), ids=LIMITS.keys()
)
def test_the_volumes_that_a_node_allows(
    drivers: Json | None, claims: list[str], used: list[str], attached: list[Json], too_many: bool
) -> None:
    scene = cluster(
        [node_object("n1")],
        [pod_object(nodeName="n1", volumes=[*map(uses, used), gce()])],
        persistentVolumes=VOLUMES,
        persistentVolumeClaims=CLAIMS,
        storageClasses=CLASSES,
        csiNodes=[drivers] if drivers else [],
        volumeAttachments=attached,
    )
    prepared = prepare_limits(pod(volumes=[*map(uses, claims)]), scene)

    assert run_check(prepared, scene) == {"n1": TOO_MANY_VOLUMES if too_many else None}


# driver and limit, volumes of the pod, volumes in use, whether there are too many
MIGRATED_LIMITS: dict[str, tuple[tuple[str, int], list[Json], list[Json], bool]] = {
    "a volume": (("ebs.csi.aws.com", 0), [uses("in-tree")], [], True),
    "a disk of the pod": (("ebs.csi.aws.com", 0), [INLINE], [], True),
    "the same disk": (("ebs.csi.aws.com", 1), [uses("in-tree")], [INLINE], False),
    "another disk": (
        ("ebs.csi.aws.com", 1), [uses("in-tree")],
        [{"name": "v", "awsElasticBlockStore": {"volumeID": "vol-2"}}], True,
    ),
    "another driver": (("ebs.csi.aws.com", 0), [AZURE], [], False),
    "a disk of Azure": (("disk.csi.azure.com", 0), [AZURE], [], True),
}  # fmt: skip


@pytest.mark.parametrize("has_node", [True, False])
@pytest.mark.parametrize(
    ("limit", "volumes", "used", "too_many"),
    MIGRATED_LIMITS.values(),
    ids=MIGRATED_LIMITS.keys(),
)
def test_in_tree_volumes_are_those_of_a_driver(
    limit: tuple[str, int],
    volumes: list[Json],
    used: list[Json],
    too_many: bool,
    has_node: bool,
) -> None:
    scene = cluster(
        [node_object("n1")],
        [pod_object(nodeName="n1", volumes=used)],
        persistentVolumes=VOLUMES,
        persistentVolumeClaims=CLAIMS,
        csiNodes=[csi_node(limit)] if has_node else [],
    )

    found = run_check(prepare_limits(pod(volumes=volumes), scene), scene)

    assert found == {"n1": TOO_MANY_VOLUMES if too_many and has_node else None}


@pytest.mark.parametrize(("owner", "too_many"), [("uid-old", True), ("another", False)])
def test_an_ephemeral_volume_counts_if_its_pod_owns_it(owner: str, too_many: bool) -> None:
    scene = cluster(
        [node_object("n1")],
        [pod_object("old", nodeName="n1", volumes=[EPHEMERAL])],
        persistentVolumes=VOLUMES,
        persistentVolumeClaims=[*CLAIMS, owned(owner)],
        storageClasses=CLASSES,
        csiNodes=[ONE],
    )
    prepared = prepare_limits(pod(volumes=[uses("pv-x")]), scene)

    assert run_check(prepared, scene) == {"n1": TOO_MANY_VOLUMES if too_many else None}


# version, CSIDriver, CSINode, whether the node is rejected
DRIVERS: dict[str, tuple[Version, Json | None, Json | None, bool]] = {
    "1.36": (V1_36, {"preventPodSchedulingIfMissing": True}, None, False),
    "a required driver": (V1_37, {"preventPodSchedulingIfMissing": True}, None, True),
    "a required driver that is installed": (
        V1_37, {"preventPodSchedulingIfMissing": True}, ONE, False
    ),
    "a required driver that is not among those of the node": (
        V1_37, {"preventPodSchedulingIfMissing": True}, csi_node(("csi.z", None)), True
    ),
    "a driver that is not required": (V1_37, {}, None, False),
    "an unknown driver": (V1_37, None, None, False),
}  # fmt: skip


@pytest.mark.parametrize(
    ("version", "driver", "drivers", "rejected"), DRIVERS.values(), ids=DRIVERS.keys()
)
def test_drivers_that_pods_require(
    version: Version, driver: Json | None, drivers: Json | None, rejected: bool
) -> None:
    scene = cluster(
        [node_object("n1")],
        version=version,
        persistentVolumes=VOLUMES,
        persistentVolumeClaims=CLAIMS,
        csiDrivers=[] if driver is None else [{"metadata": {"name": "csi.x"}, "spec": driver}],
        csiNodes=[drivers] if drivers else [],
    )
    reasons = ("csi.x CSI driver is not installed on the node",)

    found = run_check(prepare_limits(pod(volumes=[uses("pv-x")]), scene), scene)["n1"]

    assert found == (FilterRejection("NodeVolumeLimits", reasons) if rejected else None)


# labels of the volume, labels of the node, whether the node is in its zone
ZONES: dict[str, tuple[dict[str, str], dict[str, str], bool]] = {
    "the same zone": ({ZONE: "a"}, {ZONE: "a"}, True),
    "another zone": ({ZONE: "a"}, {ZONE: "b"}, False),
    "one of several zones": ({ZONE: "a__b"}, {ZONE: "b"}, True),
    "the former label": ({BETA_ZONE: "a"}, {BETA_ZONE: "a"}, True),
    "the former label, with the new one on the node": ({BETA_ZONE: "a"}, {ZONE: "a"}, True),
    "the former label, with another zone": ({BETA_ZONE: "a"}, {ZONE: "b"}, False),
    "the new label, with the former one on the node": ({ZONE: "a"}, {BETA_ZONE: "a"}, False),
    "a node without zones": ({ZONE: "a"}, {"rack": "1"}, True),
    "a node with a region alone": ({ZONE: "a"}, {REGION: "r"}, False),
    "zone and region": ({ZONE: "a", REGION: "r"}, {ZONE: "a", REGION: "r"}, True),
    "another region": ({ZONE: "a", REGION: "r"}, {ZONE: "a", REGION: "s"}, False),
    "a label with an empty zone": ({ZONE: "a__"}, {ZONE: "b"}, True),
    "a volume without zones": ({}, {ZONE: "b"}, True),
}


@pytest.mark.parametrize(("volume", "node", "fits"), ZONES.values(), ids=ZONES.keys())
def test_the_zones_of_a_volume(volume: dict[str, str], node: dict[str, str], fits: bool) -> None:
    scene = cluster(
        [node_object("n1", labels=node)],
        persistentVolumes=[volume_object("pv", labels=volume)],
        persistentVolumeClaims=[bound_claim("pv")],
    )
    prepared = prepare_zones(pod(volumes=[uses("data")]), scene)

    assert run_check(prepared, scene) == {"n1": None if fits else OTHER_ZONE}


def test_claims_without_a_volume_have_no_zone() -> None:
    scene = cluster([node_object("n1")], persistentVolumeClaims=[claim_object()])

    assert prepare_zones(pod(volumes=[uses("data"), uses("gone"), gce()]), scene) is None


def test_the_volume_of_a_claim_must_exist() -> None:
    scene = cluster([node_object("n1")], persistentVolumeClaims=[bound_claim("pv")])

    assert prepare_zones(pod(volumes=[uses("data")]), scene) == FilterRejection(
        "VolumeZone", ('persistentvolume "pv" not found',), is_resolvable=False
    )

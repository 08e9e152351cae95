from typing import Any

import pytest

from tests.policy.placement.filters.objects import Json, cluster, node_object, pod, run_check
from tests.policy.placement.filters.volumes import (
    bound_claim,
    claim_object,
    class_object,
    in_zones,
    uses,
    volume_object,
)
from webhook.policy.model import ZONE
from webhook.policy.placement.filters.rejections import FilterRejection
from webhook.policy.placement.filters.volumebinding import (
    ABSENT_VOLUME,
    NO_SPACE,
    NO_VOLUME,
    NODE_CONFLICT,
    prepare_binding,
)

NODES = [node_object("n1", labels={"zone": "a"}), node_object("n2", labels={"zone": "b"})]
EPHEMERAL = {"name": "v", "ephemeral": {"volumeClaimTemplate": {}}}
DELETED = "2026-01-01T00:00:00Z"


def rejections(*volumes: Json, **members: Any) -> dict[str, tuple[str, ...]]:
    """The reasons of each node that is rejected."""
    scene = cluster(NODES, **members)
    found = run_check(prepare_binding(pod(volumes=list(volumes)), scene), scene)
    rejected = {name: one for name, one in found.items() if one}
    assert all(
        (one.plugin, one.is_resolvable) == ("VolumeBinding", False) for one in rejected.values()
    )
    return {name: one.reasons for name, one in rejected.items()}


def owned(owner: str) -> Json:
    claim = claim_object("web-v")
    claim["metadata"]["ownerReferences"] = [{"uid": owner, "controller": True}]
    return claim


# volume, claims, reason
PROBLEMS: dict[str, tuple[Json, list[Json], str]] = {
    "no claim": (uses("data"), [], 'persistentvolumeclaim "data" not found'),
    "no claim of an ephemeral volume": (
        EPHEMERAL, [],
        'waiting for ephemeral volume controller to create the persistentvolumeclaim "web-v"',
    ),
    "a claim of another pod": (
        EPHEMERAL, [owned("other")],
        "PVC shop/web-v was not created for pod shop/web (pod is not owner)",
    ),
    "a lost claim": (
        uses("data"), [{**bound_claim("pv"), "status": {"phase": "Lost"}}],
        'persistentvolumeclaim "data" bound to non-existent persistentvolume "pv"',
    ),
    "a claim that is being deleted": (
        uses("data"),
        [{"metadata": {"name": "data", "namespace": "shop", "deletionTimestamp": DELETED}}],
        'persistentvolumeclaim "data" is being deleted',
    ),
    "a claim that is bound at once": (
        uses("data"), [claim_object(storageClassName="slow")],
        "pod has unbound immediate PersistentVolumeClaims",
    ),
    "a claim of an unknown class": (
        uses("data"), [claim_object(storageClassName="gone")],
        "pod has unbound immediate PersistentVolumeClaims",
    ),
    "a claim for which the user has chosen a volume": (
        uses("data"), [claim_object(volumeName="pv")],
        "pod has unbound immediate PersistentVolumeClaims",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("volume", "claims", "reason"), PROBLEMS.values(), ids=PROBLEMS.keys())
def test_claims_that_no_node_can_satisfy(volume: Json, claims: list[Json], reason: str) -> None:
    scene = cluster(
        NODES,
        persistentVolumeClaims=claims,
        storageClasses=[class_object(), class_object("slow", "Immediate")],
    )

    assert prepare_binding(pod(volumes=[volume]), scene) == FilterRejection(
        "VolumeBinding", (reason,), is_resolvable=False
    )


def test_a_pod_without_claims_has_nothing_to_check() -> None:
    scene = cluster(NODES)

    assert prepare_binding(pod(volumes=[{"gcePersistentDisk": {"pdName": "d"}}]), scene) is None


def test_bound_volumes_are_accessed_from_their_nodes() -> None:
    found = rejections(
        uses("data"),
        uses("logs"),
        persistentVolumes=[volume_object("pv", **in_zones("a")), volume_object("any")],
        persistentVolumeClaims=[bound_claim("pv"), bound_claim("any", "logs")],
    )

    assert found == {"n2": (NODE_CONFLICT,)}


# plugins that are migrated on a node, nodes that are rejected
MIGRATIONS: dict[str, tuple[str | None, list[str]]] = {
    "the label of volumes counts": ("kubernetes.io/gce-pd", ["n2"]),
    "the label of the driver counts": ("kubernetes.io/gce-pd,kubernetes.io/aws-ebs", ["n1"]),
    "no CSINode": (None, ["n2"]),
}


@pytest.mark.parametrize(("plugins", "rejected"), MIGRATIONS.values(), ids=MIGRATIONS.keys())
def test_a_migrated_volume_is_accessed_by_the_zone_of_its_driver(
    plugins: str | None, rejected: list[str]
) -> None:
    nodes = [
        node_object("n1", labels={ZONE: "a", "topology.ebs.csi.aws.com/zone": "b"}),
        node_object("n2", labels={ZONE: "b", "topology.ebs.csi.aws.com/zone": "a"}),
    ]
    affinity = in_zones("a")["nodeAffinity"]
    affinity["required"]["nodeSelectorTerms"][0]["matchExpressions"][0]["key"] = ZONE
    source = {"awsElasticBlockStore": {"volumeID": "vol-1"}, "nodeAffinity": affinity}
    annotations = {"storage.alpha.kubernetes.io/migrated-plugins": plugins}
    known = [{"metadata": {"name": name, "annotations": annotations}} for name in ("n1", "n2")]
    scene = cluster(
        nodes,
        persistentVolumes=[volume_object("pv", **source)],
        persistentVolumeClaims=[bound_claim("pv")],
        csiNodes=known if plugins else [],
    )

    found = run_check(prepare_binding(pod(volumes=[uses("data")]), scene), scene)

    assert [name for name, one in found.items() if one] == rejected


def test_the_volume_of_a_bound_claim_must_exist() -> None:
    found = rejections(uses("data"), persistentVolumeClaims=[bound_claim("gone")])

    assert found == dict.fromkeys(("n1", "n2"), (ABSENT_VOLUME,))


LOCAL = class_object(provisioner="kubernetes.io/no-provisioner")
ZONE_A = [{"matchLabelExpressions": [{"key": "zone", "values": ["a"]}]}]

# class, claims, volumes, names of the nodes that are rejected
DELAYED: dict[str, tuple[Json, list[Json], list[Json], set[str]]] = {
    "a free volume": (LOCAL, [claim_object()], [volume_object(**in_zones("a"))], {"n2"}),
    "no volume": (LOCAL, [claim_object()], [], {"n1", "n2"}),
    "one volume for two claims": (
        LOCAL, [claim_object(), claim_object("logs")], [volume_object()], {"n1", "n2"}
    ),
    "a volume for each claim": (
        LOCAL, [claim_object(size="2Gi"), claim_object("logs")],
        [volume_object("large", "2Gi"), volume_object("small")], set(),
    ),
    "the smallest claim gets the smallest volume": (
        LOCAL, [claim_object(size="3Gi"), claim_object("logs", "1Gi")],
        [volume_object("large", "3Gi"), volume_object("small", "2Gi")], set(),
    ),
    "a volume to provision": (class_object(), [claim_object()], [], set()),
    "no provisioner": (class_object(provisioner=""), [claim_object()], [], {"n1", "n2"}),
    "allowed topologies": (class_object(allowedTopologies=ZONE_A), [claim_object()], [], {"n2"}),
    "a term without labels": (
        class_object(allowedTopologies=[{}]), [claim_object()], [], {"n1", "n2"}
    ),
    "one of several topologies": (
        class_object(allowedTopologies=[{}, *ZONE_A]), [claim_object()], [], {"n2"}
    ),
    "a free volume in another topology": (
        class_object(allowedTopologies=ZONE_A), [claim_object()],
        [volume_object(**in_zones("b"))], set(),
    ),
    "a selected node": (
        class_object(), [claim_object(annotations={"volume.kubernetes.io/selected-node": "n1"})],
        [], {"n2"},
    ),
    "a selected node in another topology": (
        class_object(allowedTopologies=ZONE_A),
        [claim_object(annotations={"volume.kubernetes.io/selected-node": "n2"})], [], {"n1", "n2"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("written", "claims", "volumes", "rejected"), DELAYED.values(), ids=DELAYED.keys()
)
def test_claims_that_wait_for_a_node(
    written: Json, claims: list[Json], volumes: list[Json], rejected: set[str]
) -> None:
    found = rejections(
        *(uses(claim["metadata"]["name"]) for claim in claims),
        persistentVolumeClaims=claims,
        persistentVolumes=volumes,
        storageClasses=[written],
    )

    assert found == dict.fromkeys(rejected, (NO_VOLUME,))


def space(size: str | None, *, name: str = "fast", **topology: str) -> Json:
    selector = {"matchLabels": topology} if topology else None
    return {"storageClassName": name, "capacity": size, "nodeTopology": selector}


# driver, capacities, size, names of the nodes that are rejected
SPACE: dict[str, tuple[Json | None, list[Json], str | None, set[str]]] = {
    "an unknown driver": (None, [], "1Gi", set()),
    "a driver that reports nothing": ({}, [], "1Gi", set()),
    "no space": ({"storageCapacity": True}, [], "1Gi", {"n1", "n2"}),
    "space in a zone": ({"storageCapacity": True}, [space("1Gi", zone="a")], "1Gi", {"n2"}),
    "too little space": ({"storageCapacity": True}, [space("1Gi", zone="a")], "2Gi", {"n1", "n2"}),
    "space of another class": (
        {"storageCapacity": True}, [space("1Gi", name="slow", zone="a")], "1Gi", {"n1", "n2"}
    ),
    "space of unknown size": (
        {"storageCapacity": True}, [space(None, zone="a")], "1Gi", {"n1", "n2"}
    ),
    "space that no node can access": (
        {"storageCapacity": True}, [space("1Gi")], "1Gi", {"n1", "n2"}
    ),
    "a claim without a size": ({"storageCapacity": True}, [], None, set()),
}  # fmt: skip


@pytest.mark.parametrize(
    ("driver", "capacities", "size", "rejected"), SPACE.values(), ids=SPACE.keys()
)
def test_the_free_space_of_a_driver(
    driver: Json | None, capacities: list[Json], size: str | None, rejected: set[str]
) -> None:
    claim = claim_object() if size is None else claim_object(size=size)
    if size is None:
        claim["spec"]["resources"] = {}
    found = rejections(
        uses("data"),
        persistentVolumeClaims=[claim],
        storageClasses=[class_object()],
        csiDrivers=[] if driver is None else [{"metadata": {"name": "csi.x"}, "spec": driver}],
        csiStorageCapacities=capacities,
    )

    assert found == dict.fromkeys(rejected, (NO_SPACE,))


def test_reasons_of_bound_and_other_claims_are_given_together() -> None:
    own = {"namespace": "shop", "name": "data"}
    found = rejections(
        uses("data"),
        uses("logs"),
        persistentVolumes=[volume_object("pv", claimRef=own, **in_zones("a"))],
        persistentVolumeClaims=[bound_claim("pv"), claim_object("logs")],
        storageClasses=[LOCAL],
    )

    assert found == {"n1": (NO_VOLUME,), "n2": (NODE_CONFLICT, NO_VOLUME)}


def test_the_claim_of_an_ephemeral_volume_belongs_to_its_pod() -> None:
    found = rejections(EPHEMERAL, persistentVolumeClaims=[owned("uid-web")], storageClasses=[LOCAL])

    assert found == dict.fromkeys(("n1", "n2"), (NO_VOLUME,))

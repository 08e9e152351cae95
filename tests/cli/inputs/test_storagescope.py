"""The storage that volumes need is read only for pods that have some, and what lacks is named."""

from typing import Any

import msgspec
import pytest
import yaml

from tests.apiserver import ApiServer, refuse
from tests.cli.inputs.shopcluster import SERVER, manifest_cluster
from tests.policy.placement.filters.objects import pod
from webhook.cli.inputs.cluster import open_cluster
from webhook.cli.inputs.storagescope import (
    ABSENT_CLAIMS,
    CREATED_CLAIMS,
    LIMITS,
    NEW_CLAIMS,
    UNKNOWN_CLAIMS,
    PodClaims,
    StorageReader,
)
from webhook.cluster.scheduling.storageobjects import ApiClaim
from webhook.policy.placement.filters.filterpods import FilterPod
from webhook.policy.placement.filters.storage import NO_STORAGE

CLAIM = """\
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: shop%s}
spec: {storageClassName: fast%s}
"""
BOUND = CLAIM % (', annotations: {pv.kubernetes.io/bind-completed: "yes"}', ", volumeName: v1")
UNBOUND = CLAIM % ("", "")
VOLUME = "---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {name: v1}\n"
CLASS = "---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: fast}\n"
DEFAULT_CLASS = CLASS.replace(
    "name: fast", 'name: fast, annotations: {storageclass.kubernetes.io/is-default-class: "true"}'
)
CSI_NODE = "---\napiVersion: storage.k8s.io/v1\nkind: CSINode\nmetadata: {name: n1}\n"

WITH_CLAIM: dict[str, Any] = {
    "volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]
}

# the objects of files, whether the volume counts, what is named
FILES = {
    "all of a bound claim": (BOUND + VOLUME + CSI_NODE, True, ()),
    "all of a claim without a volume": (UNBOUND + CLASS + CSI_NODE, True, ()),
    "a claim of the default class": (
        UNBOUND.replace("storageClassName: fast", "") + DEFAULT_CLASS + CSI_NODE,
        True,
        (),
    ),
    "no CSINode": (BOUND + VOLUME, True, (LIMITS,)),
    "no claim": (VOLUME + CLASS, False, ("volumes: no PersistentVolumeClaim could be read",)),
    "no volume": (BOUND + CLASS, False, ("volumes: no PersistentVolume could be read",)),
    "no class": (UNBOUND + VOLUME, False, ("volumes: no StorageClass could be read",)),
}


@pytest.mark.parametrize(("text", "counts", "unread"), FILES.values(), ids=FILES)
def test_volumes_count_if_all_that_decides_on_them_is_there(
    text: str, counts: bool, unread: tuple[str, ...]
) -> None:
    found = StorageReader(manifest_cluster(text)[0]).read(pod(**WITH_CLAIM))

    assert (bool(found.pod.volumes), found.unread) == (counts, unread)
    assert {one.traits.class_name for one in found.storage.claims.values()} <= {"fast"}


# the claims that running pods mount, the volumes that count, what is named
MOUNTED: dict[str, tuple[list[str], list[str], tuple[str, ...]]] = {
    "a claim that the files have": (["data"], ["data", "logs"], ()),
    "a claim that they lack": (["data", "logs"], ["data"], (f"{ABSENT_CLAIMS}: logs",)),
    "a claim of another pod": (["other"], ["data", "logs"], ()),
    "no claim": ([], ["data", "logs"], ()),
}


@pytest.mark.parametrize(("mounted", "names", "unread"), MOUNTED.values(), ids=MOUNTED)
def test_claims_that_running_pods_mount_exist_though_the_files_lack_them(
    mounted: list[str], names: list[str], unread: tuple[str, ...]
) -> None:
    claimed = [
        {"name": name, "persistentVolumeClaim": {"claimName": name}} for name in ("data", "logs")
    ]
    reader = StorageReader(manifest_cluster(BOUND + VOLUME + CSI_NODE)[0])

    found = reader.read(pod(volumes=claimed), mounted=[("shop", name) for name in mounted])

    assert ([volume.name for volume in found.pod.volumes], found.unread) == (names, unread)


def test_a_live_cluster_shows_that_a_mounted_claim_was_deleted(api: ApiServer) -> None:
    api.add(*yaml.safe_load_all(BOUND.replace("name: data", "name: other").partition("---\n")[2]))
    with open_cluster(SERVER, manifest_cluster(VOLUME)[0], ()) as cluster:
        found = StorageReader(cluster).read(pod(**WITH_CLAIM), mounted=[("shop", "data")])

    assert [volume.name for volume in found.pod.volumes] == ["data"]
    assert not any(ABSENT_CLAIMS in one for one in found.unread)


def test_a_pod_without_claims_needs_no_storage() -> None:
    found = StorageReader(manifest_cluster(BOUND)[0]).read(pod())

    assert (found.storage, found.unread) == (NO_STORAGE, ())


@pytest.mark.parametrize(("uid", "left"), [("", 0), ("u1", 1)])
def test_ephemeral_claims_exist_only_with_their_pod(uid: str, left: int) -> None:
    text = (BOUND + VOLUME + CSI_NODE).replace("name: data", "name: web-d")
    ephemeral = pod(volumes=[{"name": "d", "ephemeral": {}}])
    written = FilterPod("shop", {}, uid=uid, volumes=ephemeral.volumes)

    found = StorageReader(manifest_cluster(text)[0]).read(written)

    assert (len(found.pod.volumes), found.unread) == (left, () if left else (NEW_CLAIMS,))


# the objects of files, the claims, the volumes of the pod, what is named
GIVEN: dict[str, tuple[str, PodClaims, list[str], tuple[str, ...]]] = {
    "a claim": (BOUND + VOLUME + CSI_NODE, PodClaims(("data",)), ["data", "own"], ()),
    "one of two": (
        BOUND + VOLUME + CSI_NODE, PodClaims(("logs", "data")), ["data", "own"], (UNKNOWN_CLAIMS,)
    ),
    "a deleted claim": (
        BOUND + VOLUME + CSI_NODE, PodClaims(("data",), are_deleted=True), ["own"],
        (UNKNOWN_CLAIMS,),
    ),
    "no claim": (VOLUME, PodClaims(("data",)), ["own"], (UNKNOWN_CLAIMS,)),
    "a claim whose volume could not be read": (
        BOUND, PodClaims(("data",)), ["own"], ("volumes: no PersistentVolume could be read",)
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "claims", "names", "unread"), GIVEN.values(), ids=GIVEN)
def test_claims_that_a_controller_gives_count_if_they_exist(
    text: str, claims: PodClaims, names: list[str], unread: tuple[str, ...]
) -> None:
    own = pod(volumes=[{"name": "d", "awsElasticBlockStore": {"volumeID": "own"}}])

    found = StorageReader(manifest_cluster(text)[0]).read(own, claims)

    assert ([volume.name for volume in found.pod.volumes], found.unread) == (names, unread)
    assert found.storage is not NO_STORAGE


DELAYED = CLASS.rstrip("\n") + "\nvolumeBindingMode: WaitForFirstConsumer\n"


def planned(
    name: str | None = "fast", *, are_deleted: bool = False, are_used: bool = False
) -> PodClaims:
    written = {
        "metadata": {"name": "data", "namespace": "shop"}, "spec": {"storageClassName": name}
    }  # fmt: skip
    return PodClaims(("data",), are_deleted, (msgspec.convert(written, ApiClaim),), are_used)


# the objects of files, the claims, the class of the claim that counts, what is named
PLANNED: dict[str, tuple[str, PodClaims, str | None, tuple[str, ...]]] = {
    "a class that waits": (DELAYED + CSI_NODE, planned(), "fast", ()),
    "the default class": (
        DELAYED.replace("name: fast", DEFAULT_CLASS.partition("{")[2].partition("}\n")[0])
        + CSI_NODE,
        planned(None), "fast", (),
    ),
    "no class": (DELAYED + CSI_NODE, planned(None), None, (UNKNOWN_CLAIMS,)),
    "a class that binds at once": (
        CLASS + CSI_NODE, planned(), None,
        (f"{CREATED_CLAIMS} fast, which does not wait for the pod",),
    ),
    "an unknown class": (
        DELAYED + CSI_NODE, planned("slow"), None,
        (f"{CREATED_CLAIMS} slow, which could not be read",),
    ),
    "a claim that exists": (BOUND + VOLUME + DELAYED + CSI_NODE, planned(), "fast", ()),
    "a claim that is deleted": (
        BOUND + VOLUME + DELAYED + CSI_NODE, planned(are_deleted=True), "fast", ()
    ),
    "a used claim": (
        BOUND + VOLUME + DELAYED + CSI_NODE, planned(are_used=True), "fast", ()
    ),
    "a used claim that the files lack": (
        DELAYED + CSI_NODE, planned(are_used=True), None, (UNKNOWN_CLAIMS,)
    ),
    "a used claim that is deleted": (
        DELAYED + CSI_NODE, planned(are_used=True, are_deleted=True), "fast", ()
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "claims", "name", "unread"), PLANNED.values(), ids=PLANNED.keys())
def test_claims_that_will_be_created(
    text: str, claims: PodClaims, name: str | None, unread: tuple[str, ...]
) -> None:
    reader = StorageReader(manifest_cluster(text)[0])
    reader.read(pod(**WITH_CLAIM))
    reader.plan_claims([claims], "shop")

    found = reader.read(pod(), claims)

    assert found.unread == unread
    assert bool(found.pod.volumes) is (name is not None)
    known = found.storage.claims.get(("shop", "data"))
    assert (known and known.traits.class_name) == name
    assert known is None or known.is_bound is ("PersistentVolume\n" in text and not claims[1])


def test_which_claims_will_be_created_is_not_known_without_the_right_to_list_them(
    api: ApiServer,
) -> None:
    api.add(*yaml.safe_load_all(DELAYED.partition("---\n")[2]))
    api.answers["GET /api/v1/persistentvolumeclaims"] = refuse("forbidden")
    with open_cluster(SERVER, manifest_cluster("")[0], ()) as cluster:
        reader = StorageReader(cluster)
        reader.plan_claims([planned()], "shop")

        assert reader.read(pod(), planned()).unread == (UNKNOWN_CLAIMS,)


def test_a_live_cluster_shows_that_a_used_claim_was_deleted(api: ApiServer) -> None:
    api.add(*yaml.safe_load_all(DELAYED.partition("---\n")[2]))
    api.define("v1", "PersistentVolumeClaim")
    with open_cluster(SERVER, manifest_cluster("")[0], ()) as cluster:
        reader = StorageReader(cluster)
        reader.plan_claims([planned(are_used=True)], "shop")

        assert ("shop", "data") in reader.read(pod(), planned(are_used=True)).storage.claims

"""The storage that volumes need is read only for pods that have some, and what lacks is named."""

from typing import Any

import pytest

from tests.cli.inputs.test_cluster import manifest_cluster
from tests.policy.placement.filters.objects import pod
from webhook.cli.inputs.storagescope import (
    LIMITS,
    NEW_CLAIMS,
    UNKNOWN_CLAIMS,
    PodClaims,
    StorageReader,
)
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

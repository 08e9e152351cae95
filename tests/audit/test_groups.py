"""Pods are grouped by the workload that owns them, and by what they have in common."""

from typing import Any

import msgspec
import pytest

from webhook.audit.groups import LONGEST_CHAIN, ObjectKey, PodGroups, key_of
from webhook.audit.snapshot import SnapshotPod, SnapshotWorkload
from webhook.policy.advice.subject import Subject, SubjectPod
from webhook.policy.model import GroupKind, ObjectMeta, OwnerReference

REPLICA_SET = GroupKind("apps", "ReplicaSet")
DEPLOYMENT = GroupKind("apps", "Deployment")


def reference(kind: str, name: str) -> OwnerReference:
    return OwnerReference(api_version="apps/v1", kind=kind, name=name, controller=True)


def workload(kind: str, name: str, *owners: OwnerReference) -> SnapshotWorkload:
    metadata = ObjectMeta(name=name, namespace="shop", owner_references=owners)
    subject = Subject(
        kind=GroupKind("apps", kind), metadata=metadata, namespace="shop", pod=SubjectPod()
    )
    return SnapshotWorkload(api_version="apps/v1", subject=subject)


def pod(name: str, node: str = "", owner: str = "web-1", **changes: Any) -> SnapshotPod:
    owners = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "controller": True}]
    metadata = {"name": name, "namespace": "shop", "ownerReferences": owners if owner else []}
    value = {"metadata": metadata, "spec": {"nodeName": node}, **changes}
    return msgspec.convert(value, SnapshotPod)


KNOWN = (
    workload("Deployment", "web"),
    workload("ReplicaSet", "web-1", reference("Deployment", "web")),
)

OWNERS = {
    "the outermost known controller": (KNOWN, "web-1", ObjectKey("shop", DEPLOYMENT, "web")),
    "the innermost known one": (KNOWN[1:], "web-1", ObjectKey("shop", REPLICA_SET, "web-1")),
    "an unknown one": ((), "web-1", ObjectKey("shop", REPLICA_SET, "web-1")),
    "none": ((), "", ObjectKey("shop", GroupKind("", "Pod"), "a")),
}


@pytest.mark.parametrize(("known", "owner", "key"), OWNERS.values(), ids=OWNERS)
def test_a_pod_belongs_to_its_owner(
    known: tuple[SnapshotWorkload, ...], owner: str, key: ObjectKey
) -> None:
    groups = PodGroups(known)

    groups.add([pod("a", owner=owner)])

    assert list(groups.found) == [key]


def test_equal_pods_are_counted_by_node() -> None:
    groups = PodGroups(KNOWN)

    groups.add([pod("a", "x"), pod("b", "x"), pod("c", "y"), pod("d")])

    ((group,),) = (found.values() for found in groups.found.values())
    assert group.nodes == {"x": 2, "y": 1, "": 1}


def test_finished_pods_are_left_out() -> None:
    groups = PodGroups(KNOWN)

    groups.add([pod("a", status={"phase": "Succeeded"})])

    assert groups.found == {}


def test_controllers_in_a_circle_end_at_the_first() -> None:
    chain = [
        workload("ReplicaSet", "web-1", reference("ReplicaSet", "web-2")),
        workload("ReplicaSet", "web-2", reference("ReplicaSet", "web-1")),
    ]
    groups = PodGroups(chain)

    groups.add([pod(str(index)) for index in range(LONGEST_CHAIN)])

    assert list(groups.found) == [ObjectKey("shop", REPLICA_SET, "web-1")]


def test_a_subject_of_a_known_controller_is_within_it() -> None:
    groups = PodGroups(KNOWN)

    assert groups.is_within(KNOWN[1].subject)
    assert not groups.is_within(KNOWN[0].subject)
    assert key_of(KNOWN[0].subject) == ObjectKey("shop", DEPLOYMENT, "web")

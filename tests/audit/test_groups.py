"""Pods are grouped by the workload that owns them, and by what they have in common."""

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from webhook.audit.groups import LONGEST_CHAIN, ObjectKey, PodGroups, controller_of, key_of
from webhook.audit.references import TemplateReference
from webhook.audit.snapshot import SnapshotWorkload
from webhook.audit.snapshotpods import AWAITS_SPREAD, SnapshotPod, SnapshotPodMetadata
from webhook.policy.advice.subject import Subject, SubjectPod
from webhook.policy.kinds import KNATIVE_SERVICE, LEADER_WORKER_SET, POD, ROLLOUT, STATEFUL_SET
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

    groups.add([pod("a", "x", owner=owner)])

    assert list(groups.found) == [key]


HASHED = {"labels": {"pod-template-hash": "6d4c"}}
BY_NAME = {
    "the Deployment that its name shows": (KNOWN[:1], "web-6d4c", HASHED, DEPLOYMENT),
    "an unknown Deployment": (KNOWN[:1], "api-6d4c", HASHED, REPLICA_SET),
    "a name without the hash": (KNOWN[:1], "web-6d4", HASHED, REPLICA_SET),
    "a ReplicaSet that is known": (
        (*KNOWN, workload("ReplicaSet", "web-6d4c")), "web-6d4c", HASHED, REPLICA_SET
    ),
    "a controller of another kind": (
        KNOWN[:1],
        "web-6d4c",
        HASHED | {"ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web-6d4c", "controller": True}
        ]},
        GroupKind("apps", "StatefulSet"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("known", "owner", "metadata", "kind"), BY_NAME.values(), ids=BY_NAME.keys()
)
def test_a_pod_of_an_unknown_replica_set_belongs_to(
    known: tuple[SnapshotWorkload, ...], owner: str, metadata: dict[str, Any], kind: GroupKind
) -> None:
    groups = PodGroups(known)
    written = pod("a", owner=owner)
    assert written.metadata is not None
    changed = msgspec.convert(metadata, SnapshotPodMetadata)
    labelled = replace(written.metadata, labels=changed.labels)
    if changed.owner_references:
        labelled = replace(labelled, owner_references=changed.owner_references)

    groups.add([replace(written, metadata=labelled)])

    assert [key.kind for key in groups.found] == [kind]


def test_equal_pods_are_counted_by_node() -> None:
    groups = PodGroups(KNOWN)

    groups.add([pod("a", "x"), pod("b", "x"), pod("c", "y"), pod("d")])

    ((group,),) = (found.values() for found in groups.found.values())
    assert group.nodes == {"x": 2, "y": 1, "": 1}


def test_finished_pods_are_left_out() -> None:
    groups = PodGroups(KNOWN)

    groups.add([pod("a", status={"phase": "Succeeded"})])

    assert groups.found == {}


def test_manifests_of_pods_are_left_out() -> None:
    groups = PodGroups(())

    groups.add([pod("a", owner="")])

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


def knative(name: str, *, labels: dict[str, str]) -> tuple[SnapshotWorkload, ...]:
    """Make a Knative Service, a Deployment of a Revision with labels, and a ReplicaSet of that."""
    service = Subject(
        kind=KNATIVE_SERVICE,
        metadata=ObjectMeta(name=name, namespace="shop"),
        namespace="shop",
        pod=SubjectPod(),
    )
    revision = OwnerReference("serving.knative.dev/v1", "Revision", f"{name}-1", controller=True)
    made = workload("Deployment", f"{name}-1-deployment", revision)
    labelled = replace(made.subject, metadata=replace(made.subject.metadata, labels=labels))
    return (
        SnapshotWorkload(api_version="serving.knative.dev/v1", subject=service),
        replace(made, subject=labelled),
        workload("ReplicaSet", "web-1", reference("Deployment", f"{name}-1-deployment")),
    )


@pytest.mark.parametrize(
    ("labels", "owner"),
    [
        ({"serving.knative.dev/service": "web"}, ObjectKey("shop", KNATIVE_SERVICE, "web")),
        (
            {"serving.knative.dev/service": "other"},
            ObjectKey("shop", DEPLOYMENT, "web-1-deployment"),
        ),
        ({}, ObjectKey("shop", DEPLOYMENT, "web-1-deployment")),
    ],
)
def test_the_pods_of_a_revision_belong_to_its_knative_service(
    labels: dict[str, str], owner: ObjectKey
) -> None:
    known = knative("web", labels=labels)
    groups = PodGroups(known)

    groups.add([pod("a", "x")])

    assert list(groups.found) == [owner]
    assert groups.is_within(known[1].subject) is (owner.kind == KNATIVE_SERVICE)


def test_the_controller_of_an_object_is_the_one_written_there() -> None:
    owned = ObjectMeta(owner_references=(reference("ReplicaSet", "web-1"),))

    assert controller_of("shop", owned) == ObjectKey("shop", REPLICA_SET, "web-1")
    assert controller_of("shop", ObjectMeta()) is None


@pytest.mark.parametrize(
    ("known", "owner"),
    [(KNOWN, ObjectKey("shop", DEPLOYMENT, "web")), ((), None)],
    ids=["the template is known", "the template is unknown"],
)
def test_pods_of_a_reference_belong_to_the_object_that_refers(
    known: tuple[SnapshotWorkload, ...], owner: ObjectKey | None
) -> None:
    refers = TemplateReference(
        namespace="shop", kind=ROLLOUT, name="web", target=DEPLOYMENT, template="web"
    )
    groups = PodGroups(known, [refers])
    owners = [
        {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "web", "controller": True}
    ]

    groups.add([pod("a", metadata={"name": "a", "namespace": "shop", "ownerReferences": owners})])

    key = ObjectKey("shop", ROLLOUT, "web")
    assert list(groups.found) == [key]
    assert groups.templates.get(key) == owner


AWAITING = {"phase": "Pending", "conditions": [msgspec.to_builtins(AWAITS_SPREAD)]}


def test_pods_that_constraints_keep_pending_have_a_group_of_their_own() -> None:
    groups = PodGroups(KNOWN)

    bound = pod("c", "node-1", status=AWAITING)  # its condition is out of date
    groups.add([pod("a"), pod("b", status=AWAITING), bound, pod("d", status=AWAITING)])

    (found,) = groups.found.values()
    assert [(group.awaits_spread, group.nodes) for group in found.values()] == [
        (False, {"": 1, "node-1": 1}),
        (True, {"": 2}),
    ]


def owned_by(api_version: str, kind: str, name: str) -> OwnerReference:
    return OwnerReference(api_version=api_version, kind=kind, name=name, controller=True)


OF_SET = owned_by("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "llm")
LEADER_SETS = workload("StatefulSet", "llm", OF_SET)
WORKERS = workload("StatefulSet", "llm-0", owned_by("v1", "Pod", "llm-0"))
GROUPED = (
    SnapshotWorkload(
        api_version="leaderworkerset.x-k8s.io/v1",
        subject=Subject(
            kind=LEADER_WORKER_SET,
            metadata=ObjectMeta(name="llm", namespace="shop"),
            namespace="shop",
            pod=SubjectPod(),
        ),
    ),
    LEADER_SETS,
    WORKERS,
)


def member(name: str, controller: str, phase: str = "Running") -> SnapshotPod:
    owners = [
        {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": controller, "controller": True}
    ]
    metadata = {"name": name, "namespace": "shop", "ownerReferences": owners if controller else []}
    return msgspec.convert({"metadata": metadata, "status": {"phase": phase}}, SnapshotPod)


LED = {
    "to the workload of its leader": (
        GROUPED, member("llm-0", "llm"), [ObjectKey("shop", LEADER_WORKER_SET, "llm")]
    ),
    "to that of a leader that has ended": (
        GROUPED, member("llm-0", "llm", "Failed"), [ObjectKey("shop", LEADER_WORKER_SET, "llm")]
    ),
    "to the StatefulSet of the leaders": (
        GROUPED[1:], member("llm-0", "llm"), [ObjectKey("shop", STATEFUL_SET, "llm")]
    ),
    "to that of the workers, below an unknown one": (
        GROUPED[2:],
        member("llm-0", "llm"),
        [ObjectKey("shop", STATEFUL_SET, "llm-0"), ObjectKey("shop", STATEFUL_SET, "llm")],
    ),
    "to that of the workers, below a bare pod": (
        GROUPED,
        member("llm-0", ""),
        [ObjectKey("shop", STATEFUL_SET, "llm-0"), ObjectKey("shop", POD, "llm-0")],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("known", "leader", "owners"), LED.values(), ids=LED)
def test_a_pod_whose_controller_a_pod_controls_belongs(
    known: tuple[SnapshotWorkload, ...], leader: SnapshotPod, owners: list[ObjectKey]
) -> None:
    groups = PodGroups(known)

    groups.add([member("llm-0-1", "llm-0"), leader])

    assert list(groups.found) == owners
    assert groups.is_within(WORKERS.subject) == (len(owners) == 1)

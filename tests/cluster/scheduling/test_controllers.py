"""The controllers of pods, the templates of replacements, and rollouts that run."""

from typing import Any

import msgspec
import pytest

from webhook.cluster.scheduling.controllers import Owners, WorkloadObject, find_owner
from webhook.cluster.scheduling.podobjects import ApiPod, UniqueMeta

Json = dict[str, Any]

HASH = "controller-revision-hash"
TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": {"nodeSelector": {"disk": "ssd"}}}
STATUS = {"currentRevision": "db-1", "updateRevision": "db-2"}


def pod(name: str, kind: str = "", owner: str = "", **labels: str) -> ApiPod:
    owners = [{"kind": kind, "name": owner, "controller": True}] if kind else []
    metadata = {"name": name, "namespace": "shop", "labels": labels, "ownerReferences": owners}
    return msgspec.convert({"metadata": metadata}, ApiPod)


def controller(name: str, owner: str = "", **members: Any) -> WorkloadObject:
    owners = [{"kind": "Deployment", "name": owner, "controller": True}] if owner else []
    metadata = {"name": name, "namespace": "shop", "ownerReferences": owners}
    return msgspec.convert({"metadata": metadata, **members}, WorkloadObject)


def test_the_root_of_a_pod() -> None:
    one = pod("web-5d9c-x", "ReplicaSet", "web-5d9c")
    known = Owners({"ReplicaSet": [controller("web-5d9c", "web")], "Deployment": None})
    bare = Owners({"ReplicaSet": [controller("web-5d9c")]})
    hashed = pod("x", "ReplicaSet", "web-5d9c", **{"pod-template-hash": "5d9c"})

    assert known.name_workload(one) == "Deployment/web"
    assert bare.name_workload(one) == "ReplicaSet/web-5d9c"
    assert Owners({}).name_workload(one) == "ReplicaSet/web-5d9c"
    assert Owners({}).name_workload(hashed) == "Deployment/web"
    assert Owners({}).name_workload(pod("db-0", "StatefulSet", "db")) == "StatefulSet/db"
    assert Owners({}).name_workload(ApiPod()) == ""
    assert find_owner(UniqueMeta()) is None


@pytest.mark.parametrize(
    ("revision", "workload"),
    [("ReplicationController", "DeploymentConfig"), ("ReplicaSet", "Rollout")],
)
def test_the_revision_of_a_workload_that_is_not_known(revision: str, workload: str) -> None:
    owner = {"kind": workload, "name": "web", "controller": True}
    metadata = {"name": "web-1", "namespace": "shop", "ownerReferences": [owner]}
    found = msgspec.convert({"metadata": metadata, "spec": {"replicas": 3}}, WorkloadObject)
    pods = [pod(f"web-1-{number}", revision, "web-1") for number in range(2)]

    owners = Owners({revision: [found]})

    assert {owners.name_workload(one) for one in pods} == {f"{workload}/web"}
    assert Owners({}).name_workload(pods[0]) == f"{revision}/web-1"
    assert owners.count_replicas(pods) == 3  # those of the revision, for its budgets
    assert [*owners.count_missing(pods).values()] == [1]


def test_the_pods_of_a_leader_worker_set() -> None:
    named = {"leaderworkerset.sigs.k8s.io/name": "llm"}
    worker = pod("llm-0-1", "StatefulSet", "llm-0", **named)

    owners = Owners({"StatefulSet": [controller("llm-0", spec={"replicas": 2})]})

    assert owners.name_workload(worker) == "LeaderWorkerSet/llm"
    assert owners.name_workload(pod("x", "Foo", "x", **named)) == "Foo/x"
    assert owners.count_replicas([worker]) == 2  # that of the StatefulSet, for its budgets


def test_the_replicas_of_controllers() -> None:
    pods = [pod(f"db-{number}", "StatefulSet", "db") for number in range(2)]

    def count(*found: WorkloadObject) -> int:
        return Owners({"StatefulSet": found}).count_replicas([*pods, pod("bare")])

    assert count() == 2
    assert count(controller("db")) == 2  # of a file, which leaves the number to the cluster
    assert count(controller("db", spec={"replicas": 5})) == 5


LEAVING = {"name": "x", "namespace": "shop", "deletionTimestamp": "2026-01-01T00:00:00Z"}


def test_replicas_without_pods() -> None:
    pods = [pod(f"db-{number}", "StatefulSet", "db") for number in range(2)]
    others = [ApiPod(), msgspec.convert({"metadata": LEAVING}, ApiPod)]

    def count(*found: WorkloadObject) -> list[tuple[str, int]]:
        counts = Owners({"StatefulSet": found}).count_missing([*pods, *others])
        return [(one.name, number) for one, number in counts.items()]

    assert count(controller("db", spec={"replicas": 1})) == [("db", -1)]
    assert count(controller("db", spec={"replicas": 2})) == [("db", 0)]
    assert count(controller("db", spec={"replicas": 5})) == [("db", 3)]
    assert count(controller("db", spec={})) == count(controller("db")) == count() == []


def test_replicas_of_a_deployment_whose_replica_sets_are_not_known() -> None:
    hashes = [pod("x", "ReplicaSet", f"web-{at}", **{"pod-template-hash": at}) for at in "ab"]

    def count(replicas: int) -> list[int]:
        found = controller("web", spec={"replicas": replicas})
        return [*Owners({"Deployment": [found]}).count_missing(hashes).values()]

    assert count(3) == [1]
    assert count(1) == [0]


def test_the_template_of_a_replica_set_is_its_own() -> None:
    one = pod("web-5d9c-x", "ReplicaSet", "web-5d9c")
    owners = Owners({"ReplicaSet": [controller("web-5d9c", spec={"template": TEMPLATE})]})

    found = owners.find_template(one)

    assert found is not None
    assert found.pod.spec is not None
    assert found.pod.spec.node_selector == {"disk": "ssd"}
    assert not found.is_other
    assert owners.find_template(pod("bare")) is None
    assert owners.find_template(pod("x", "ReplicaSet", "other")) is None
    assert Owners({"ReplicaSet": [controller("web-5d9c")]}).find_template(one) is None


def rolling(partition: int | None) -> Json:
    return {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}}


SETS: dict[str, tuple[Json, Json | None, str, bool | None]] = {
    "updated": (rolling(0), STATUS, "db-2", False),
    "not yet updated": (rolling(0), STATUS, "db-1", True),
    "above the partition": (rolling(1), STATUS, "db-1", True),
    "below the partition": (rolling(2), STATUS, "db-1", None),
    "OnDelete": ({"type": "OnDelete"}, STATUS, "db-1", True),
    "OnDelete, updated": ({"type": "OnDelete"}, STATUS, "db-2", False),
    "without a status": (rolling(0), None, "db-1", False),
    "without a partition": (
        {"type": "RollingUpdate"},
        {**STATUS, "currentReplicas": 2},
        "db-1",
        None,
    ),
}
"""Strategy, status, revision of the pod -> whether the template has another one; None without."""


@pytest.mark.parametrize(("strategy", "status", "revision", "is_other"), SETS.values(), ids=SETS)
def test_the_template_of_a_stateful_set(
    strategy: Json, status: Json | None, revision: str, is_other: bool | None
) -> None:
    claims = [{"metadata": {"name": "data"}}]
    spec = {"template": TEMPLATE, "updateStrategy": strategy, "volumeClaimTemplates": claims}
    owners = Owners({"StatefulSet": [controller("db", spec=spec, status=status)]})

    found = owners.find_template(pod("db-1", "StatefulSet", "db", **{HASH: revision}))

    assert (None if found is None else found.is_other) is is_other
    if found is not None:
        assert found.claims == ("data",)
        assert found.labels == ({HASH: "db-2"} if status else {})


def test_a_controller_without_a_specification_has_default_revisions() -> None:
    assert controller("db").encode_revisions()["spec"] == {
        "updateStrategy": None,
        "ordinals": None,
    }


def observe(spec: Json, status: Json | None, generation: int | None = 2) -> WorkloadObject:
    written = {"metadata": {"name": "web", "generation": generation}, "spec": spec}
    return msgspec.convert(written | ({} if status is None else {"status": status}), WorkloadObject)


def observed(**members: Any) -> Json:
    return {"observedGeneration": 2, **members}


# spec, status, whether a Deployment rolls out a new revision
ROLLING_DEPLOYMENTS: dict[str, tuple[Json, Json | None, bool]] = {
    "all pods are updated": ({}, observed(replicas=3, updatedReplicas=3), False),
    "some pods are old": ({}, observed(replicas=4, updatedReplicas=1), True),
    "no pod is updated yet": ({}, observed(replicas=3), True),
    "a replacement is not created yet": (
        {"replicas": 3}, observed(replicas=2, updatedReplicas=2), False
    ),
    "the template is not observed yet": (
        {}, {"observedGeneration": 1, "replicas": 3, "updatedReplicas": 3}, True
    ),
    "it is paused": ({"paused": True}, observed(replicas=4, updatedReplicas=1), False),
    "it has no pods": ({"replicas": 0}, observed(), False),
    "a status without a generation": ({}, {"replicas": 3, "updatedReplicas": 3}, False),
    "a manifest": ({"replicas": 3}, None, False),
}  # fmt: skip


@pytest.mark.parametrize(
    ("spec", "status", "expected"), ROLLING_DEPLOYMENTS.values(), ids=ROLLING_DEPLOYMENTS.keys()
)
def test_a_rollout_of_a_deployment(spec: Json, status: Json | None, *, expected: bool) -> None:
    assert observe(spec, status).is_rolling is expected


def strategy(type_: str | None = None, partition: int | None = None, **members: Any) -> Json:
    rolling = None if partition is None else {"partition": partition}
    return {"updateStrategy": {"type": type_, "rollingUpdate": rolling}, **members}


NEW = {"updateRevision": "db-2"}

# name and revision of a pod, spec, status, whether the rollout of its StatefulSet deletes it
ROLLING_SETS: dict[str, tuple[str, str, Json, Json | None, bool]] = {
    "an updated pod": ("db-1", "db-2", {}, NEW, False),
    "an old pod": ("db-1", "db-1", {}, NEW, True),
    "an old pod and the strategy": ("db-1", "db-1", strategy("RollingUpdate"), NEW, True),
    "OnDelete": ("db-1", "db-1", strategy("OnDelete"), NEW, False),
    "below the partition": ("db-1", "db-1", strategy(partition=2), NEW, False),
    "above the partition": ("db-2", "db-1", strategy(partition=2), NEW, True),
    "below the partition, which counts from the first ordinal": (
        "db-6", "db-1", strategy(partition=2, ordinals={"start": 5}), NEW, False
    ),
    "no revision": ("db-1", "db-1", {}, {}, False),
    "a manifest": ("db-1", "db-1", {}, None, False),
    "a pod without an ordinal": ("db", "db-1", {}, NEW, False),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "revision", "spec", "status", "expected"),
    ROLLING_SETS.values(),
    ids=ROLLING_SETS.keys(),
)
def test_a_rollout_of_a_stateful_set(
    name: str, revision: str, spec: Json, status: Json | None, *, expected: bool
) -> None:
    labels = {"controller-revision-hash": revision}

    assert observe(spec, status).updates_pod(name, labels) is expected


def test_a_negative_number_of_replicas_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"replicas is -1: must be .*: write 0 or"):
        controller("db", spec={"replicas": -1})


def test_a_pod_shows_the_rollout_of_its_workload() -> None:
    web, db = pod("web-x", "ReplicaSet", "web-5d9c"), pod("db-1", "StatefulSet", "db")
    updating = controller("db", spec={"updateStrategy": rolling(0)}, status=STATUS)
    begun = controller("web", spec={}, status={"replicas": 3, "updatedReplicas": 1})
    owners = Owners(
        {
            "ReplicaSet": [controller("web-5d9c", "web")],
            "Deployment": [begun],
            "StatefulSet": [updating],
        }
    )

    assert owners.is_rolling(web)
    assert owners.is_rolling(db)
    assert not owners.is_rolling(pod("bare"))
    assert not Owners({}).is_rolling(web)

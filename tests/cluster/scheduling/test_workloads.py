from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from webhook.cluster.scheduling.podobjects import ApiPod
from webhook.cluster.scheduling.workloads import (
    WorkloadObjects,
    WorkloadScope,
    is_ready,
    read_scope,
    read_workload_pods,
)
from webhook.policy.api import gates
from webhook.policy.api.versions import Version
from webhook.policy.model import SCHEDULE_ANYWAY, ZONE, Constraint, LabelSelector
from webhook.policy.placement.spreads import DefaultConstraints
from webhook.rebalance.pods import EvictionObstacle

V1_36 = Version(1, 36)
WEB = {"app": "web"}
SELECTS_WEB = {"matchLabels": WEB}

Json = dict[str, Any]


def owned(kind: str, name: str) -> Json:
    return {"ownerReferences": [{"kind": kind, "name": name, "controller": True}]}


def pod(name: str, owner: Json | None = None, **members: Any) -> Json:
    """A pod on node ``a1``; further members are those of its metadata, or its status."""
    status = members.pop("status", {})
    metadata = {"name": name, "namespace": "shop", "labels": WEB, **(owner or {}), **members}
    return {"metadata": metadata, "spec": {"nodeName": "a1"}, "status": status}


def controller(name: str, replicas: int | None = None, owner: Json | None = None) -> Json:
    metadata = {"name": name, "namespace": "shop", **(owner or {})}
    return {"metadata": metadata, "spec": {"replicas": replicas}}


def scope_of(objects: Json, namespace: str = "shop") -> WorkloadScope:
    nodes = [{"metadata": {"name": "a1"}}]
    decoded = msgspec.convert({"nodes": nodes, **objects}, WorkloadObjects)
    return read_scope(decoded, gates.resolve(V1_36, {}), namespace)


def workload_of(one: Json, **objects: Any) -> str:
    return scope_of({"pods": [one], **objects}).pods[0].workload


REPLICA_SET = pod("web-5d9c-x", owned("ReplicaSet", "web-5d9c"))
HASHED = pod("web", owned("ReplicaSet", "web-5d9c"), labels={"pod-template-hash": "5d9c"})


def test_the_workload_of_a_pod() -> None:
    of_deployment = controller("web-5d9c", 1, owned("Deployment", "web"))

    assert workload_of(pod("web")) == ""
    assert workload_of(pod("web-0", owned("StatefulSet", "web"))) == "StatefulSet/web"
    assert workload_of(REPLICA_SET) == "ReplicaSet/web-5d9c"
    assert workload_of(REPLICA_SET, replicaSets=[of_deployment]) == "Deployment/web"
    assert workload_of(REPLICA_SET, replicaSets=[controller("web-5d9c")]) == "ReplicaSet/web-5d9c"
    assert workload_of(HASHED) == "Deployment/web"


OBSTACLES: dict[str, tuple[Json, EvictionObstacle | None]] = {
    "of a controller": (REPLICA_SET, None),
    "bare": (pod("web"), EvictionObstacle.NO_CONTROLLER),
    "of a DaemonSet": (pod("web", owned("DaemonSet", "web")), EvictionObstacle.DAEMON_SET),
    "of a LeaderWorkerSet": (
        pod("web", owned("StatefulSet", "web"), labels={"leaderworkerset.sigs.k8s.io/name": "web"}),
        EvictionObstacle.GROUP,
    ),
    "of a Job": (pod("web", owned("Job", "web")), EvictionObstacle.JOB),
    "static": (
        pod("web", owned("Node", "a1"), annotations={"kubernetes.io/config.mirror": "x"}),
        EvictionObstacle.STATIC,
    ),
    "being deleted": (
        pod("web", owned("ReplicaSet", "web"), deletionTimestamp="2026-01-01T00:00:00Z"),
        EvictionObstacle.TERMINATING,
    ),
    "without metadata": ({"spec": {"nodeName": "a1"}}, EvictionObstacle.NO_CONTROLLER),
}


@pytest.mark.parametrize(("one", "obstacle"), OBSTACLES.values(), ids=OBSTACLES)
def test_pods_that_are_not_evicted(one: Json, obstacle: EvictionObstacle | None) -> None:
    assert scope_of({"pods": [one]}, "").pods[0].obstacle is obstacle


@pytest.mark.parametrize("node", ["", "a1"])
def test_pods_whose_template_names_the_node_are_not_evicted(node: str) -> None:
    template = {"metadata": {}, "spec": {"nodeName": node}}
    keeper = controller("web-5d9c", 1)
    keeper["spec"]["template"] = template

    (one,) = scope_of({"pods": [REPLICA_SET], "replicaSets": [keeper]}).pods

    assert one.obstacle is (EvictionObstacle.BOUND if node else None)


HASH = "controller-revision-hash"
SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}


@pytest.mark.parametrize(
    ("members", "hash_of_pod", "obstacle"),
    [
        ({"matchLabelKeys": [HASH]}, "db-1", EvictionObstacle.REVISION),
        ({"matchLabelKeys": [HASH]}, "db-2", None),
        ({"labelSelector": {"matchLabels": {HASH: "db-1"}}}, "db-1", EvictionObstacle.REVISION),
        ({"labelSelector": {"matchLabels": {"app": "db"}}}, "db-1", None),
    ],
    ids=["an old pod", "a new pod", "an old pod, by its selector", "revisions together"],
)
def test_old_pods_whose_constraints_tell_revisions_apart_are_not_evicted(
    members: Json, hash_of_pod: str, obstacle: EvictionObstacle | None
) -> None:
    keeper = controller("db", 1)
    keeper["spec"]["template"] = {"metadata": {"labels": {"app": "db"}}, "spec": {}}
    keeper["status"] = {"currentRevision": "db-1", "updateRevision": "db-2"}
    labels = {"app": "db", HASH: hash_of_pod}
    old = pod("db-0", owned("StatefulSet", "db"), labels=labels)
    old["spec"]["topologySpreadConstraints"] = [{**SPREAD, **members}]

    (one,) = scope_of({"pods": [old], "statefulSets": [keeper]}).pods

    assert one.obstacle is obstacle


def running(ready: str) -> Json:
    return {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]}


READY: dict[str, tuple[Json, bool]] = {
    "ready": (running("True"), True),
    "not ready": (running("False"), False),
    "starting": ({"phase": "Pending"}, False),
    "running, of a file": ({"phase": "Running"}, True),
    "without a status": ({}, True),
}


@pytest.mark.parametrize(("status", "ready"), READY.values(), ids=READY)
def test_pods_that_are_healthy(status: Json, ready: bool) -> None:
    assert is_ready(msgspec.convert({"status": status}, ApiPod)) is ready


def test_the_pods_of_a_namespace_with_their_replacements() -> None:
    finished = pod("done", status={"phase": "Succeeded"})
    scope = scope_of({"pods": [pod("web-0"), pod("other", namespace="far"), finished]})

    assert [one.pod.name for one in scope.pods] == ["web-0"]
    assert scope.pods[0].pod.node_name == "a1"
    assert scope.pods[0].replacement.node_name == ""
    assert [one.pod.name for one in scope_of({"pods": [pod("a"), {"spec": None}]}, "").pods] == [
        "a",
        "",
    ]
    assert scope.cluster.placed.usage("a1").pods == 2
    assert not scope_of({}).pods


def test_default_constraints_of_the_scheduler() -> None:
    soft = Constraint(max_skew=1, topology_key=ZONE, when_unsatisfiable=SCHEDULE_ANYWAY)
    defaults = DefaultConstraints((soft,), LabelSelector(WEB))
    objects = msgspec.convert({"pods": [pod("web-0")]}, WorkloadObjects)

    scope = read_scope(objects, gates.resolve(V1_36, {}), "shop", lambda _: defaults)

    assert len(scope.pods[0].spreads.soft) == 1


def test_a_replacement_demands_what_the_template_demands() -> None:
    template = {"spec": {"nodeSelector": {"disk": "ssd"}}}
    replica_set = {"metadata": controller("web-5d9c")["metadata"], "spec": {"template": template}}

    (one,) = scope_of({"pods": [REPLICA_SET], "replicaSets": [replica_set]}).pods

    assert one.replacement.demands.pairs == (("disk", "ssd"),)
    assert one.pod.demands.pairs == ()
    assert one.differences == ("nodeSelector disk=ssd",)
    assert not one.is_surplus


def test_a_pod_of_a_controller_with_too_many_pods() -> None:
    scope = scope_of({"pods": [REPLICA_SET], "replicaSets": [controller("web-5d9c", 0)]})

    assert scope.pods[0].is_surplus


def budget_of(spec: Json, *pods: Json, **objects: Any) -> tuple[int | None, int]:
    """The pods that must stay healthy, and those that are."""
    budget = {"metadata": {"name": "web", "namespace": "shop"}, "spec": spec}
    scope = scope_of({"pods": pods, "podDisruptionBudgets": [budget], **objects})
    return scope.budgets[0].desired, scope.budgets[0].healthy


UNREADY = pod("web-2", owned("StatefulSet", "web"), status={"phase": "Pending"})
LEAVING = pod("web-3", owned("StatefulSet", "web"), deletionTimestamp="2026-01-01T00:00:00Z")
OF_SET = [pod(f"web-{number}", owned("StatefulSet", "web")) for number in range(2)]


def stateful_sets(replicas: int | None) -> Mapping[str, list[Json]]:
    return {"statefulSets": [controller("web", replicas)]}


def test_budgets_count_the_desired_replicas_of_controllers() -> None:
    spec = {"selector": SELECTS_WEB, "maxUnavailable": 1}
    pods = [*OF_SET, UNREADY, LEAVING]

    assert budget_of(spec, *pods, **stateful_sets(5)) == (4, 2)
    assert budget_of(spec, *pods, **stateful_sets(None)) == (3, 2)  # as many as there are pods
    assert budget_of(spec, *pods) == (3, 2)
    assert budget_of(spec, pod("bare")) == (None, 1)
    bare = {"metadata": controller("web")["metadata"]}
    assert budget_of(spec, *pods, statefulSets=[bare]) == (3, 2)


def test_budgets_by_the_healthy_pods() -> None:
    spec = {"selector": SELECTS_WEB, "minAvailable": "50%"}
    other = pod("x", labels={"app": "x"})

    assert budget_of(spec, *OF_SET, other, **stateful_sets(2)) == (1, 2)
    assert budget_of({"selector": None, "minAvailable": 1}, *OF_SET) == (None, 0)


def test_the_policy_for_pods_that_are_not_healthy() -> None:
    def allows(policy: str | None) -> bool:
        spec = {"selector": SELECTS_WEB, "unhealthyPodEvictionPolicy": policy}
        budget = {"metadata": {"name": "web", "namespace": "shop"}, "spec": spec}
        return scope_of({"podDisruptionBudgets": [budget]}).budgets[0].allows_unhealthy

    assert (allows("AlwaysAllow"), allows("IfHealthyBudget"), allows(None)) == (True, False, False)


def test_pods_are_read_without_the_cluster_around_them() -> None:
    objects = msgspec.convert({"pods": [REPLICA_SET, pod("bare")]}, WorkloadObjects)
    on = gates.resolve(V1_36, {})

    assert read_workload_pods(objects, on, "shop") == read_scope(objects, on).pods
    assert read_workload_pods(objects, on, "other") == ()


@pytest.mark.parametrize(
    ("status", "is_exhausted"),
    [
        ({"disruptionsAllowed": 0, "observedGeneration": 2}, True),
        ({"disruptionsAllowed": 1, "observedGeneration": 2}, False),
        ({"disruptionsAllowed": 0, "observedGeneration": 1}, False),
        ({}, False),
        (None, False),
    ],
)
def test_budgets_whose_current_status_allows_nothing(
    status: Json | None, is_exhausted: bool
) -> None:
    metadata = {"name": "web", "namespace": "shop", "generation": 2}
    budget = {"metadata": metadata, "spec": {"minAvailable": 1}, "status": status}

    (found,) = scope_of({"podDisruptionBudgets": [budget]}).budgets

    assert found.is_exhausted is is_exhausted


def test_a_negative_number_of_replicas_is_an_error() -> None:
    deployment = {"metadata": {"name": "web"}, "spec": {"replicas": -3}}

    with pytest.raises(msgspec.ValidationError, match=r"replicas is -3: .*: write 0 or more"):
        msgspec.convert({"deployments": [deployment]}, WorkloadObjects)


@pytest.mark.parametrize("bound", ["foo%", "50", -1])
def test_bounds_that_an_api_server_refuses(bound: str | int) -> None:
    with pytest.raises(msgspec.ValidationError, match=r"maxUnavailable is .*: write a number"):
        budget_of({"maxUnavailable": bound})


ROLLING = {"status": {"replicas": 2, "updatedReplicas": 1}}
OLD = pod("db-1", owned("StatefulSet", "db"), labels={"controller-revision-hash": "db-1"})
REVISED = controller("db") | {"status": {"updateRevision": "db-2"}}

# pod, other objects, whether it shows a rollout
ROLLOUTS: dict[str, tuple[Json, Json, bool]] = {
    "of a Deployment": (HASHED, {"deployments": [controller("web") | ROLLING]}, True),
    "of a Deployment that is updated": (HASHED, {"deployments": [controller("web")]}, False),
    "of a StatefulSet": (OLD, {"statefulSets": [REVISED]}, True),
    "of a StatefulSet that is updated": (OLD, {"statefulSets": [controller("db")]}, False),
    "a pod that is being deleted": (
        OLD | {"metadata": OLD["metadata"] | {"deletionTimestamp": "2026-01-01T00:00:00Z"}},
        {"statefulSets": [REVISED]},
        False,
    ),
    "of a bare ReplicaSet": (
        REPLICA_SET,
        {"replicaSets": [controller("web-5d9c") | ROLLING]},
        False,
    ),
    "of an unknown controller": (HASHED, {}, False),
    "bare": (pod("web"), {}, False),
}


@pytest.mark.parametrize(("one", "objects", "expected"), ROLLOUTS.values(), ids=ROLLOUTS.keys())
def test_a_pod_shows_the_rollout_of_its_workload(
    one: Json, objects: Json, *, expected: bool
) -> None:
    assert scope_of({"pods": [one], **objects}).pods[0].is_rolling is expected

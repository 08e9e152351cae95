import json
from typing import Any

import msgspec
import pytest

from tests.audit import world
from webhook.audit.reader import ObjectReader, build_read_error
from webhook.audit.snapshot import Snapshot
from webhook.audit.snapshotpods import AWAITS_SPREAD, SnapshotPodStatus
from webhook.cluster.facts import VersionKind
from webhook.policy.kinds import BUILT_IN_KINDS, DEPLOYMENT
from webhook.policy.model import LabelSelector

LEVELS = 9000
DEEP = '{"a":' * LEVELS + "{}" + "}" * LEVELS  # no encoder of Python writes it

KINDS: tuple[VersionKind, ...] = (
    ("v1", "Node"),
    ("v1", "Namespace"),
    ("v1", "Service"),
    ("v1", "Pod"),
    ("v1", "ReplicationController"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "ReplicaSet"),
    ("batch/v1", "CronJob"),
    ("autoscaling/v2", "HorizontalPodAutoscaler"),
    ("keda.sh/v1alpha1", "ScaledObject"),
    ("storage.k8s.io/v1", "StorageClass"),
    ("node.k8s.io/v1", "RuntimeClass"),
    ("scheduling.k8s.io/v1alpha2", "PodGroup"),
    ("argoproj.io/v1alpha1", "Rollout"),
)


def put(version_kind: VersionKind, text: str) -> Snapshot:
    """Put an object of a kind into an empty snapshot."""
    configuration, snapshot = world.CONFIGURATION, Snapshot()
    reader = ObjectReader(configuration)
    reader.put(snapshot, version_kind, msgspec.Raw(text.encode()))
    return snapshot


@pytest.mark.parametrize("version_kind", KINDS, ids="/".join)
@pytest.mark.parametrize("member", ["metadata", "spec"])
def test_deep_members_that_are_not_read_change_nothing(
    version_kind: VersionKind, member: str
) -> None:
    obj: dict[str, Any] = {"metadata": {"name": "it", "namespace": "shop"}, "spec": {}}
    obj[member]["unread"] = "@"
    text = json.dumps(obj)

    deep = put(version_kind, text.replace('"@"', DEEP))

    assert deep == put(version_kind, text)


OWNED = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "controller": True}]
PODS: dict[str, tuple[dict[str, Any], int]] = {
    "a pod without a controller": ({"metadata": {"name": "a"}}, 1),
    "a pod with a controller": ({"metadata": {"name": "a", "ownerReferences": OWNED}}, 0),
    "a pod without metadata": ({}, 1),
}


@pytest.mark.parametrize(("pod", "workloads"), PODS.values(), ids=PODS)
def test_only_a_pod_without_a_controller_is_a_workload(pod: dict[str, Any], workloads: int) -> None:
    snapshot = put(("v1", "Pod"), json.dumps(pod))

    assert (len(snapshot.pods), len(snapshot.workloads)) == (1, workloads)


@pytest.mark.parametrize(
    ("metadata", "stored"),
    [
        ({"uid": "u1", "resourceVersion": "7"}, True),
        ({"uid": "u1"}, False),
        ({"ownerReferences": OWNED}, True),
    ],
)
def test_a_pod_keeps_only_the_mark_that_it_was_stored(
    metadata: dict[str, Any], stored: bool
) -> None:
    obj = {"metadata": {"name": "a", **metadata}, "status": {"phase": "Running"}}
    snapshot = put(("v1", "Pod"), json.dumps(obj))

    (pod,) = snapshot.pods
    assert pod.stored == stored
    assert all(workload.subject.stored == stored for workload in snapshot.workloads)
    assert pod.metadata is not None
    assert (pod.metadata.uid, pod.metadata.resource_version) == (None, None)


READY = {"type": "Ready", "status": "True"}
STUCK = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": f"0/2 nodes are available: 2 {AWAITS_SPREAD.message}.",
}


@pytest.mark.parametrize(
    ("status", "kept"),
    [
        (None, None),
        ({"phase": "Running"}, SnapshotPodStatus("Running")),
        ({"phase": "Running", "conditions": [READY]}, SnapshotPodStatus("Running")),
        (
            {"phase": "Pending", "conditions": [READY, STUCK]},
            SnapshotPodStatus("Pending", (AWAITS_SPREAD,)),
        ),
    ],
)
def test_a_pod_keeps_only_the_condition_that_constraints_cause(
    status: Any, kept: SnapshotPodStatus | None
) -> None:
    (pod,) = put(("v1", "Pod"), json.dumps({"metadata": {"name": "a"}, "status": status})).pods

    assert pod.status == kept


COMPLETE = {"conditions": [{"type": "Complete", "status": "True"}]}
RUNS = {"parallelism": 4, "completions": 6, "template": {}}

JOB, BROADCAST_JOB = ("batch/v1", "Job"), ("apps.kruise.io/v1", "BroadcastJob")

# kind, spec, status, then its replicas, whether it is suspended, whether it has finished
JOBS: dict[str, tuple[VersionKind, Any, Any, tuple[int | None, bool, bool]]] = {
    "a Job": (JOB, RUNS, None, (4, False, False)),
    "a Job with two pods left": (JOB, RUNS, {"succeeded": 4}, (2, False, False)),
    "a suspended Job": (JOB, RUNS | {"suspend": True}, None, (4, True, False)),
    "a Job that is complete": (JOB, RUNS, COMPLETE, (0, False, True)),
    "a BroadcastJob": (BROADCAST_JOB, RUNS, None, (None, False, False)),
    "a BroadcastJob that is complete": (BROADCAST_JOB, RUNS, COMPLETE, (0, False, True)),
}


@pytest.mark.parametrize(("version_kind", "spec", "status", "shown"), JOBS.values(), ids=JOBS)
def test_the_status_of_a_job_shows_the_pods_that_are_left(
    version_kind: VersionKind, spec: Any, status: Any, shown: tuple[int | None, bool, bool]
) -> None:
    obj = {"metadata": {"name": "load"}, "spec": spec, "status": status}

    (workload,) = put(version_kind, json.dumps(obj)).workloads

    job = workload.subject
    assert (job.replicas, job.suspended, job.finished) == shown


def test_the_selector_of_a_controller_is_an_owner() -> None:
    metadata = {"name": "web", "namespace": "shop"}
    obj = {"metadata": metadata, "spec": {"selector": {"matchLabels": {"app": "web"}}}}

    (owner,) = put(("apps/v1", "ReplicaSet"), json.dumps(obj)).owners

    assert (owner.kind, owner.namespace, owner.name) == ("ReplicaSet", "shop", "web")
    assert owner.selector == LabelSelector({"app": "web"})


@pytest.mark.parametrize("version", ["v1", "v2", "v2beta2"])
def test_an_autoscaler_of_any_version_is_read(version: str) -> None:
    spec = {"scaleTargetRef": {"kind": "ReplicationController", "name": "web"}, "maxReplicas": 3}
    obj = {"metadata": {"name": "web", "namespace": "shop"}, "spec": spec}

    (found,) = put(
        (f"autoscaling/{version}", "HorizontalPodAutoscaler"), json.dumps(obj)
    ).autoscalers

    assert (found.namespace, found.target_name, found.most) == ("shop", "web", 3)


def test_a_storage_class_is_read() -> None:
    (found,) = put(
        ("storage.k8s.io/v1", "StorageClass"), '{"metadata": {"name": "fast"}}'
    ).storage_classes

    assert found.name == "fast"


def test_a_runtime_class_is_read() -> None:
    (found,) = put(
        ("node.k8s.io/v1", "RuntimeClass"), '{"metadata": {"name": "kata"}, "handler": "kata"}'
    ).runtime_classes

    assert found.name == "kata"


@pytest.mark.parametrize(
    ("text", "source"),
    [
        (
            f'{{"metadata":{{"name":"web","namespace":"shop","a":{DEEP}}},"spec":[]}}',
            "/apis/apps/v1/namespaces/shop/deployments/web",
        ),
        ('{"metadata":{"name":5}}', "/apis/apps/v1/deployments"),
    ],
)
def test_an_object_that_cannot_be_read_is_named_if_it_has_a_name(text: str, source: str) -> None:
    error = msgspec.ValidationError("Expected `object`, got `array`")

    problem = build_read_error(BUILT_IN_KINDS[DEPLOYMENT], msgspec.Raw(text.encode()), error)

    assert (problem.source, problem.problem) == (source, "Expected `object`, got `array`")


MISSPELT = """
{"metadata": {"name": "web"}, "spec": {"template": {"spec": {
  "topologySpreadConstraints": [{"minDomain": 3}]
}}}}
"""


@pytest.mark.parametrize(
    ("version_kind", "rules"),
    [(("argoproj.io/v1alpha1", "Rollout"), ["TSC011"]), (("apps/v1", "Deployment"), [])],
)
def test_unknown_fields_of_custom_kinds_are_found_in_a_cluster(
    version_kind: VersionKind, rules: list[str]
) -> None:
    (workload,) = put(version_kind, MISSPELT).workloads

    assert [finding.rule for finding in workload.strict] == rules


REFERENCES = {
    "another object has the template": (
        {"workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "base"}},
        ["base"],
    ),
    "there is no template": ({}, []),
}


@pytest.mark.parametrize(("spec", "templates"), REFERENCES.values(), ids=REFERENCES)
def test_a_rollout_without_a_template_may_refer_to_one(
    spec: dict[str, Any], templates: list[str]
) -> None:
    obj = {"metadata": {"name": "web", "namespace": "shop"}, "spec": spec}

    snapshot = put(("argoproj.io/v1alpha1", "Rollout"), json.dumps(obj))

    assert [reference.template for reference in snapshot.references] == templates
    assert snapshot.workloads == []


def test_every_template_of_an_object_is_a_workload() -> None:
    template: dict[str, Any] = {"spec": {"template": {"spec": {}}}}
    jobs = [{"name": name, "template": template} for name in ("driver", "workers")]
    obj = {"metadata": {"name": "train"}, "spec": {"replicatedJobs": jobs}}

    found = put(("jobset.x-k8s.io/v1alpha2", "JobSet"), json.dumps(obj)).workloads

    assert [workload.subject.part for workload in found] == ["driver", "workers"]


# API version, partition, whether the revision depends on the ordinal, revision
PARTITIONS = [
    ("apps/v1", 0, False, {"controller-revision-hash": "new"}),
    ("apps/v1", 2, True, {}),
    ("apps.kruise.io/v1beta1", 2, False, {}),
]


@pytest.mark.parametrize(("version", "partition", "depends", "revision"), PARTITIONS)
def test_the_revision_of_the_next_pod_is_read(
    version: str, partition: int, depends: bool, revision: dict[str, str]
) -> None:
    strategy = {"rollingUpdate": {"partition": partition}}
    spec = {"updateStrategy": strategy, "template": {"spec": {}}}
    status = {"currentRevision": "old", "updateRevision": "new"}
    obj = {"metadata": {"name": "db"}, "spec": spec, "status": status}

    (workload,) = put((version, "StatefulSet"), json.dumps(obj)).workloads

    assert (workload.subject.partitioned is not None) is depends
    assert workload.subject.revision == revision


def test_an_exception_is_a_fact() -> None:
    spec = {"rules": ["TSC110"], "reason": "old"}
    obj = {"metadata": {"name": "legacy", "namespace": "shop"}, "spec": spec}

    snapshot = put(("evenspread.io/v1alpha1", "SpreadPolicyException"), json.dumps(obj))

    assert [(one.namespace, one.name) for one in snapshot.exceptions] == [("shop", "legacy")]

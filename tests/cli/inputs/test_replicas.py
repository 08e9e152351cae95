"""The pods of a workload are those that its controllers manage, or would adopt."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from tests.cli.inputs.manifestclusters import cluster_of_text
from webhook.cli.inputs.replicas import is_like, select_replicas
from webhook.cli.inputs.subjects import ExplainSubject
from webhook.policy import kinds
from webhook.policy.model import GroupKind
from webhook.policy.paths import FieldPath
from webhook.policy.placement.census import ObservedPod
from webhook.policy.placement.nodes import SchedulingPod

TEMPLATE: dict[str, Any] = {"spec": {}}
OPEN_SHIFT = kinds.DEPLOYMENT_CONFIG
CLONE_SET = GroupKind("apps.kruise.io", "CloneSet")


def controller(kind: str, name: str) -> dict[str, Any]:
    return {"apiVersion": "x/v1", "kind": kind, "name": name, "controller": True}


def select(
    kind: GroupKind,
    labels: Mapping[str, str],
    owner: dict[str, Any] | None = None,
    *,
    name: str = "web-0",
    selector: object = None,
    others: str = "",
) -> bool:
    """Whether a pod belongs to the workload ``web`` of this kind."""
    metadata = {"name": "web", "namespace": "shop"}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {}}
    spec = {"selector": selector, "template": template} if selector else {"template": template}
    subject = ExplainSubject(
        kind, ("spec", "template"), "shop", {"metadata": metadata, "spec": spec}, exists=True
    )
    owners = [owner] if owner else []
    pod = {"metadata": {"name": name, "labels": labels, "ownerReferences": owners}}
    cluster = cluster_of_text(others)
    return bool(select_replicas(subject, [msgspec.convert(pod, ObservedPod)], cluster))


APP = {"app": "web"}
HASHED = APP | {"pod-template-hash": "h1"}
PAIRS = {"matchLabels": APP}
SET = controller("ReplicaSet", "web-h1")
OWNER = "{apiVersion: apps/v1, kind: %s, name: %s, controller: true}"
REPLICA_SET = (
    "{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-h1, namespace: shop, "
    "ownerReferences: [%s]}, spec: {selector: {matchLabels: {pod-template-hash: h1}}}}"
)
UNSELECTING = REPLICA_SET.replace("{matchLabels: {pod-template-hash: h1}}", "null")

# kind, labels of a pod, its controller, further arguments, whether the pod belongs to the workload
PODS: dict[str, tuple[GroupKind, dict[str, str], dict[str, Any] | None, dict[str, Any], bool]] = {
    "its own ReplicaSet": (kinds.DEPLOYMENT, HASHED, SET, {"selector": PAIRS}, True),
    "a ReplicaSet whose name has another hash": (
        kinds.DEPLOYMENT, APP, SET, {"selector": PAIRS}, False,
    ),
    "a ReplicaSet with a name that starts alike": (
        kinds.DEPLOYMENT, APP, controller("ReplicaSet", "web-api-h1"), {"selector": PAIRS}, False,
    ),
    "a ReplicaSet that it owns": (
        kinds.DEPLOYMENT, HASHED, SET,
        {"selector": PAIRS, "others": REPLICA_SET % (OWNER % ("Deployment", "web"))}, True,
    ),
    "a ReplicaSet that it owns, which does not select the pod": (
        kinds.DEPLOYMENT, APP, SET,
        {"selector": PAIRS, "others": REPLICA_SET % (OWNER % ("Deployment", "web"))}, False,
    ),
    "a ReplicaSet that does not exist": (
        kinds.DEPLOYMENT, HASHED, controller("ReplicaSet", "web-h2"),
        {"selector": PAIRS, "others": REPLICA_SET % (OWNER % ("Deployment", "web"))}, False,
    ),
    "a ReplicaSet that it owns, without a selector": (
        kinds.DEPLOYMENT, APP, SET,
        {"selector": PAIRS, "others": UNSELECTING % (OWNER % ("Deployment", "web"))}, True,
    ),
    "no controller, and a ReplicaSet without a selector": (
        kinds.DEPLOYMENT, APP, None,
        {"selector": PAIRS, "others": UNSELECTING % (OWNER % ("Deployment", "web"))}, False,
    ),
    "a ReplicaSet of another Deployment": (
        kinds.DEPLOYMENT, APP, SET,
        {"selector": PAIRS, "others": REPLICA_SET % (OWNER % ("Deployment", "api"))}, False,
    ),
    "labels that its selector does not select": (
        kinds.DEPLOYMENT, {"app": "x"}, SET, {"selector": PAIRS}, False,
    ),
    "no controller and no hash": (kinds.DEPLOYMENT, APP, None, {"selector": PAIRS}, False),
    "no controller, with a hash": (kinds.DEPLOYMENT, HASHED, None, {"selector": PAIRS}, True),
    "no controller, with the hash of its ReplicaSet": (
        kinds.DEPLOYMENT, HASHED, None,
        {"selector": PAIRS, "others": REPLICA_SET % (OWNER % ("Deployment", "web"))}, True,
    ),
    "no controller, with the hash of no ReplicaSet": (
        kinds.DEPLOYMENT, HASHED | {"pod-template-hash": "h2"}, None,
        {"selector": PAIRS, "others": REPLICA_SET % (OWNER % ("Deployment", "web"))}, False,
    ),
    "a ReplicaSet adopts": (kinds.REPLICA_SET, APP, None, {"selector": PAIRS}, True),
    "a ReplicationController adopts": (
        kinds.REPLICATION_CONTROLLER, APP, None, {"selector": APP}, True,
    ),
    "a ReplicaSet, by its controller": (
        kinds.REPLICA_SET, APP, controller("ReplicaSet", "web"), {"selector": PAIRS}, True,
    ),
    "another ReplicaSet": (
        kinds.REPLICA_SET, APP, controller("ReplicaSet", "api"), {"selector": PAIRS}, False,
    ),
    "a StatefulSet adopts by name": (kinds.STATEFUL_SET, APP, None, {"selector": PAIRS}, True),
    "a StatefulSet does not adopt other names": (
        kinds.STATEFUL_SET, APP, None, {"selector": PAIRS, "name": "web-x"}, False,
    ),
    "a DaemonSet adopts": (kinds.DAEMON_SET, APP, None, {"selector": PAIRS}, True),
    "a Job adopts what it selects": (kinds.JOB, APP, None, {"selector": PAIRS}, True),
    "a Job adopts its name": (kinds.JOB, APP | {"job-name": "web"}, None, {}, True),
    "a Job does not adopt labels of its template": (kinds.JOB, APP, None, {}, False),
    "a Job, by its controller": (kinds.JOB, APP, controller("Job", "web"), {}, True),
    "a Job of the CronJob, by its name": (
        kinds.CRON_JOB, APP, controller("Job", "web-29000000"), {}, True,
    ),
    "a pod without a controller is of no CronJob": (kinds.CRON_JOB, APP, None, {}, False),
    "a JobSet, by its label": (
        kinds.JOB_SET, {"jobset.sigs.k8s.io/jobset-name": "web"},
        controller("Job", "web-workers-0"), {}, True,
    ),
    "another JobSet, by its label": (
        kinds.JOB_SET, {"jobset.sigs.k8s.io/jobset-name": "api"}, controller("Job", "web-0"), {},
        False,
    ),
    "a DeploymentConfig selects by pairs": (
        OPEN_SHIFT, APP | {"deploymentconfig": "web"}, controller("ReplicationController", "web-1"),
        {"selector": APP}, True,
    ),
    "a custom kind, by its controller": (
        CLONE_SET, APP, controller("CloneSet", "web"), {"selector": PAIRS}, True,
    ),
    "a custom kind may adopt": (CLONE_SET, APP, None, {"selector": PAIRS}, True),
    "a custom kind without a selector may adopt by the labels of its template": (
        CLONE_SET, APP, None, {}, True,
    ),
    "other labels than those of a custom kind": (CLONE_SET, {"app": "x"}, None, {}, False),
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "labels", "owner", "more", "belongs"), PODS.values(), ids=PODS.keys()
)
def test_pods_belong_to_a_workload(
    kind: GroupKind,
    labels: dict[str, str],
    owner: dict[str, Any] | None,
    more: dict[str, Any],
    belongs: bool,
) -> None:
    assert select(kind, labels, owner, **more) is belongs


# labels of a pod, those of another one, whether it is like the first
LIKE: dict[str, tuple[dict[str, str], dict[str, str] | None, bool]] = {
    "more labels": (APP, HASHED, True),
    "fewer labels": (HASHED, APP, False),
    "none": (APP, None, False),
    "a pod without labels": ({}, APP, False),
}


@pytest.mark.parametrize(("labels", "others", "expected"), LIKE.values(), ids=LIKE)
def test_pods_with_all_labels_of_a_pod_are_like_it(
    labels: dict[str, str], others: dict[str, str] | None, expected: bool
) -> None:
    pod = msgspec.convert({"metadata": {"labels": labels}}, SchedulingPod)
    other = msgspec.convert({"metadata": {"labels": others}}, ObservedPod)

    assert is_like(pod, other) is expected


JOB_SET_NAME = {"jobset.sigs.k8s.io/jobset-name": "web"}
WORKER_SET = {"leaderworkerset.sigs.k8s.io/name": "web"}
OF_JOB = ("spec", "replicatedJobs", 1, "template", "spec", "template")
JOBS = {"replicatedJobs": [{}, {"name": "b", "template": {"spec": {"template": TEMPLATE}}}]}
LEADERS = ("spec", "leaderWorkerTemplate", "leaderTemplate")
WORKERS = ("spec", "leaderWorkerTemplate", "workerTemplate")
ONE = {"leaderWorkerTemplate": {"workerTemplate": TEMPLATE}}
TWO = {"leaderWorkerTemplate": {"workerTemplate": TEMPLATE, "leaderTemplate": TEMPLATE}}

# kind, path of the template, specification, labels of the pods, which of them belong to it
PARTS: dict[str, tuple[GroupKind, FieldPath, Any, list[dict[str, str]], list[bool]]] = {
    "a replicated job": (
        kinds.JOB_SET, OF_JOB, JOBS,
        [
            JOB_SET_NAME,
            JOB_SET_NAME | {"jobset.sigs.k8s.io/replicatedjob-name": "a"},
            JOB_SET_NAME | {"jobset.sigs.k8s.io/replicatedjob-name": "b"},
        ],
        [True, False, True],
    ),
    **{
        name: (
            kinds.LEADER_WORKER_SET, path, spec,
            [
                WORKER_SET | {"leaderworkerset.sigs.k8s.io/worker-index": "0"},
                WORKER_SET | {"leaderworkerset.sigs.k8s.io/worker-index": "10"},
            ],
            belong,
        )
        for name, path, spec, belong in (
            ("leaders", LEADERS, TWO, [True, False]),
            ("workers", WORKERS, TWO, [False, True]),
            ("leaders and workers", WORKERS, ONE, [True, True]),
        )
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "path", "spec", "labels", "belong"), PARTS.values(), ids=PARTS.keys()
)
def test_the_pods_of_several_templates_are_told_apart(
    kind: GroupKind, path: FieldPath, spec: Any, labels: list[dict[str, str]], belong: list[bool]
) -> None:
    value = {"metadata": {"name": "web"}, "spec": spec}
    subject = ExplainSubject(kind, path, "shop", value, exists=True)
    pods = [msgspec.convert({"metadata": {"labels": one}}, ObservedPod) for one in labels]

    found = select_replicas(subject, pods, cluster_of_text(""))

    assert [pod in found for pod in pods] == belong

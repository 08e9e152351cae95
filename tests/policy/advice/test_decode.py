from typing import Any

import msgspec
import pytest
from hypothesis import given

from tests.build import NAMESPACE, Json, job_set, kind_of, pod, spread
from tests.policy.advice.subjects import ROLLOUT, deployed, subject, workload
from tests.strategies import pods
from webhook.policy.advice.decode import decode_subject, requests_host_ports
from webhook.policy.advice.subject import Subject
from webhook.policy.kinds import (
    BUILT_IN_TEMPLATES,
    DAEMON_SET,
    DEPLOYMENT,
    DEPLOYMENT_CONFIG,
    JOB_SET,
    POD,
    REPLICATION_CONTROLLER,
    STATEFUL_SET,
)
from webhook.policy.model import GroupKind
from webhook.policy.paths import CONSTRAINTS_IN_POD
from webhook.policy.podlabels import COMPLETION_INDEX

JOB = GroupKind("batch", "Job")


def cron_job(**spec: Any) -> Json:
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "night"},
        "spec": {"jobTemplate": {"spec": {"template": pod(spread()), **spec}}},
    }


REPLICAS: dict[str, tuple[Json, int | None]] = {
    "a Deployment has replicas": (workload(replicas=3), 3),
    "a Deployment is left to an autoscaler": (workload(replicas=None), None),
    "a custom kind writes something else": (
        {**workload(replicas=None), "spec": {"template": pod(), "replicas": "many"}},
        None,
    ),
    "a truth is no number": (
        {**workload(replicas=None), "spec": {"template": pod(), "replicas": True}},
        None,
    ),
    "a Pod": (pod(), None),
    "a Job of one pod": (workload(kind=JOB, replicas=None), 1),
    "a Job of two pods at a time": (workload(kind=JOB, replicas=None, parallelism=2), 2),
    "a Job of fewer pods than it may have": (
        workload(kind=JOB, replicas=None, parallelism=5, completions=2),
        2,
    ),
    "a CronJob": (cron_job(parallelism=4), 4),
    "a CronJob of one pod": (cron_job(), 1),
}


@pytest.mark.parametrize(("obj", "expected"), REPLICAS.values(), ids=REPLICAS.keys())
def test_replicas(obj: Json, expected: int | None) -> None:
    assert subject(obj).replicas == expected


GIVEN: dict[str, tuple[Json, tuple[str, ...]]] = {
    "a Deployment": (workload(strategy={"type": "Recreate"}), ()),
    "a Job": (workload(kind=JOB, completionMode="NonIndexed"), ()),
    "an indexed Job": (workload(kind=JOB, completionMode="Indexed"), (COMPLETION_INDEX,)),
    "an indexed CronJob": (cron_job(completionMode="Indexed"), (COMPLETION_INDEX,)),
    "a Rollout with labels of canary and stable pods": (
        workload(
            kind=ROLLOUT,
            strategy={
                "canary": {
                    "canaryMetadata": {"labels": {"role": "canary"}},
                    "stableMetadata": {"labels": {"role": "stable", "age": "old"}},
                }
            },
        ),
        ("age", "role"),
    ),
    "a Rollout with labels of another type": (
        workload(kind=ROLLOUT, strategy={"blueGreen": {"activeMetadata": {"labels": ["role"]}}}),
        (),
    ),
}


@pytest.mark.parametrize(("obj", "expected"), GIVEN.values(), ids=GIVEN.keys())
def test_labels_that_fields_give_to_pods(obj: Json, expected: tuple[str, ...]) -> None:
    path = ("spec", "template") if kind_of(obj) == ROLLOUT else None

    assert subject(obj, path).given_labels == expected


PAIRS = {"app": "web", "tier": "x"}
SELECTOR: Json = {"matchLabels": PAIRS, "matchExpressions": [{"key": "a", "operator": "Exists"}]}
CUSTOM = GroupKind("example.com", "Web")

SELECTED: dict[str, tuple[Json, Json]] = {
    "a Deployment": (workload(selector=SELECTOR), PAIRS),
    "a DaemonSet": (workload(kind=DAEMON_SET, selector=SELECTOR), PAIRS),
    "a Rollout": (workload(kind=ROLLOUT, selector=SELECTOR), PAIRS),
    "a custom kind": (workload(kind=CUSTOM, selector=SELECTOR), PAIRS),
    "a custom kind that selects something else": (workload(kind=CUSTOM, selector="web"), {}),
    "a ReplicationController": (workload(kind=REPLICATION_CONTROLLER, selector=PAIRS), PAIRS),
    "a DeploymentConfig": (workload(kind=DEPLOYMENT_CONFIG, selector=PAIRS), PAIRS),
    "none": (workload(), {}),
    "null": (workload(selector=None), {}),
    "expressions": (workload(selector={**SELECTOR, "matchLabels": None}), {}),
    "a value that is no string": (workload(selector={"matchLabels": {**PAIRS, "a": 1}}), {}),
}


@pytest.mark.parametrize(("obj", "expected"), SELECTED.values(), ids=SELECTED.keys())
def test_labels_of_the_selector(obj: Json, expected: Json) -> None:
    assert subject(obj, ("spec", "template")).selector_labels == expected


def of_rollout(**strategy: Any) -> Subject:
    return subject(workload(kind=ROLLOUT, strategy=strategy), ("spec", "template"))


def of_daemon_set(**strategy: Any) -> Subject:
    return subject(workload(kind=DAEMON_SET, updateStrategy=strategy))


NO_SURGE: dict[str, tuple[Subject, bool]] = {
    "none by a number": (deployed(strategy={"rollingUpdate": {"maxSurge": 0}}), True),
    "none by a percentage": (deployed(strategy={"rollingUpdate": {"maxSurge": "0%"}}), True),
    "one": (deployed(strategy={"rollingUpdate": {"maxSurge": 1}}), False),
    "some percent": (deployed(strategy={"rollingUpdate": {"maxSurge": "10%"}}), False),
    "the default": (deployed(strategy={"rollingUpdate": {"maxUnavailable": 1}}), False),
    "another type": (deployed(strategy={"rollingUpdate": {"maxSurge": False}}), False),
    "no percentage": (deployed(strategy={"rollingUpdate": {"maxSurge": "none"}}), False),
    "no strategy": (deployed(), False),
    "a DaemonSet with the default": (subject(workload(kind=DAEMON_SET)), True),
    "a DaemonSet with none": (of_daemon_set(rollingUpdate={"maxSurge": "0%"}), True),
    "a DaemonSet with some": (of_daemon_set(rollingUpdate={"maxSurge": 1}), False),
    "a DaemonSet with OnDelete": (
        of_daemon_set(type="OnDelete", rollingUpdate={"maxSurge": 1}), True
    ),
    "a Rollout without any": (of_rollout(canary={"maxSurge": 0, "maxUnavailable": 1}), True),
    "a Rollout with the default": (of_rollout(canary={"maxUnavailable": 1}), False),
    "a Rollout whose canary has pods of its own": (
        of_rollout(canary={"maxSurge": 0, "trafficRouting": {"nginx": {}}}), False
    ),
    "a Rollout with two sets of pods": (of_rollout(blueGreen={"maxUnavailable": 1}), False),
}  # fmt: skip


@pytest.mark.parametrize(("found", "expected"), NO_SURGE.values(), ids=NO_SURGE.keys())
def test_whether_a_rollout_creates_no_pod_before_another_ends(
    found: Subject, expected: bool
) -> None:
    assert found.surges is not expected


CLAIMS: dict[str, tuple[Any, tuple[str | None, ...]]] = {
    "a class": ([{"spec": {"storageClassName": "fast"}}], ("fast",)),
    "no class": ([{"spec": {}}, {"metadata": {"name": "data"}}], (None, None)),
    "the class of existing volumes": ([{"spec": {"storageClassName": ""}}], ("",)),
    "a class in the old annotation": (
        [{"metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": "slow"}}}],
        ("slow",),
    ),
    "something else": ([{"spec": {"storageClassName": 5}}, "claim"], (None, None)),
    "no list": ({"a": 1}, ()),
    "none": (None, ()),
}


@pytest.mark.parametrize(("templates", "classes"), CLAIMS.values(), ids=CLAIMS.keys())
def test_the_classes_of_claim_templates(templates: Any, classes: tuple[str | None, ...]) -> None:
    found = subject(workload(kind=STATEFUL_SET, volumeClaimTemplates=templates))

    assert found.claim_classes == classes


def test_the_namespace_of_the_object_counts_where_there_is_no_other() -> None:
    obj = pod()
    obj["metadata"]["namespace"] = "own"

    found = decode_subject(msgspec.json.encode(obj), POD, ())

    assert found is not None
    assert found.namespace == "own"


ABSENT = {
    "no specification": {"apiVersion": "apps/v1", "kind": "Deployment"},
    "a specification that is null": {"apiVersion": "apps/v1", "kind": "Deployment", "spec": None},
    "a template that is null": {
        "apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": None}
    },
}  # fmt: skip


@pytest.mark.parametrize("obj", ABSENT.values(), ids=ABSENT.keys())
def test_without_a_template_there_is_no_subject(obj: Json) -> None:
    kind = kind_of(obj)

    assert decode_subject(msgspec.json.encode(obj), kind, BUILT_IN_TEMPLATES[kind]) is None


def test_an_object_without_metadata_has_no_name() -> None:
    found = decode_subject(b'{"spec": {}}', POD, ())

    assert found is not None
    assert str(found) == "Pod/"


BROKEN = ["{", '{"spec": []}', '{"spec": {"tolerations": {}}}', "[]"]


@pytest.mark.parametrize("text", BROKEN)
def test_an_object_that_is_no_pod_cannot_be_decoded(text: str) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode_subject(text.encode(), POD, ())


STRATEGIES: dict[str, tuple[Json, bool]] = {
    "a rolling update": ({"type": "RollingUpdate"}, False),
    "Recreate": ({"type": "Recreate"}, True),
    "none": ({}, False),
}


@pytest.mark.parametrize(("strategy", "expected"), STRATEGIES.values(), ids=STRATEGIES.keys())
def test_whether_old_pods_go_before_new_ones_come(strategy: Json, expected: bool) -> None:
    assert deployed(strategy=strategy).recreates is expected


def test_a_strategy_of_another_shape_is_none() -> None:
    assert deployed(strategy="Recreate").recreates is False


UPDATE_STRATEGIES: dict[str, tuple[Any, bool]] = {
    "OnDelete": ({"type": "OnDelete"}, True),
    "a rolling update": ({"type": "RollingUpdate"}, False),
    "none": (None, False),
    "another shape": ("OnDelete", False),
}


@pytest.mark.parametrize(
    ("strategy", "expected"), UPDATE_STRATEGIES.values(), ids=UPDATE_STRATEGIES.keys()
)
def test_whether_only_deleted_pods_get_a_new_revision(strategy: Any, expected: bool) -> None:
    found = subject(workload(kind=STATEFUL_SET, updateStrategy=strategy))

    assert found.on_delete is expected


@pytest.mark.parametrize(("written", "expected"), [(True, True), (False, False), ("yes", False)])
def test_whether_rollouts_are_paused(written: Any, expected: bool) -> None:
    assert deployed(paused=written).paused is expected
    assert not deployed().paused


# the workload, and its limits; None if there are none


def test_volume_claims_are_seen() -> None:
    assert deployed(volumeClaimTemplates=[{}]).claims
    assert not deployed(volumeClaimTemplates=[]).claims


def test_ports_of_the_node_are_read_of_a_template_and_not_of_a_pod() -> None:
    taking: Json = {
        "containers": [{"name": "web", "ports": [{"containerPort": 80, "hostPort": 80}]}]
    }

    assert deployed(template_spec=taking).alone_on_node
    assert not deployed().alone_on_node
    assert not subject(pod(**taking)).alone_on_node


def test_a_custom_kind_holds_its_template_elsewhere() -> None:
    found = subject({**workload(spread()), "apiVersion": "argoproj.io/v1"}, ("spec", "template"))

    assert found.kind == GroupKind("argoproj.io", "Deployment")
    assert found.kind not in (DEPLOYMENT, ROLLOUT)
    assert found.replicas == 6


ENTRIES: dict[str, tuple[int, str | None]] = {
    "the first": (0, "a"),
    "the last": (1, "b"),
    "one that is not there": (2, None),
}


@pytest.mark.parametrize(("index", "job"), ENTRIES.values(), ids=ENTRIES.keys())
def test_a_template_is_read_from_an_entry_of_a_list(index: int, job: str | None) -> None:
    path = ("spec", "replicatedJobs", index, "template", "spec", "template")
    obj = job_set(a=[spread()], b=[spread()])

    found = decode_subject(msgspec.json.encode(obj), JOB_SET, path)

    assert (found and found.pod.labels) == (job and {"job": job})


def test_a_bare_list_is_read_as_that_of_a_pod_without_labels() -> None:
    cluster = GroupKind("postgresql.cnpg.io", "Cluster")
    obj = {"spec": {"topologySpreadConstraints": [spread(topologyKey="rack")]}}

    found = decode_subject(msgspec.json.encode(obj), cluster, CONSTRAINTS_IN_POD)

    assert found is not None
    assert [constraint.topology_key for constraint in found.pod.constraints] == ["rack"]
    assert found.pod.labels == {}


@given(pods)
def test_any_pod_can_be_read(obj: Json) -> None:
    found = decode_subject(msgspec.json.encode(obj), POD, (), NAMESPACE)

    assert isinstance(found, Subject)
    assert found.replicas is None


LISTENS = {"ports": [{"containerPort": 80}]}
TAKES = {"ports": [{"containerPort": 80}, {"containerPort": 53, "hostPort": 53}]}

PODS: dict[str, tuple[object, bool]] = {
    "a port of the node": ({"spec": {"containers": [{}, TAKES]}}, True),
    "a port of the pod alone": ({"spec": {"containers": [LISTENS]}}, False),
    "a port of the node that is none": (
        {"spec": {"containers": [{"ports": [{"containerPort": 80, "hostPort": 0}]}]}}, False
    ),
    "the node's network": ({"spec": {"hostNetwork": True, "containers": [LISTENS]}}, True),
    "the node's network, without ports": (
        {"spec": {"hostNetwork": True, "containers": [{}]}}, False
    ),
    "an init container that is over before the others start": (
        {"spec": {"initContainers": [TAKES]}}, False
    ),
    "an init container that stays": (
        {"spec": {"initContainers": [{**TAKES, "restartPolicy": "Always"}]}}, True
    ),
    "nulls": ({"spec": {"containers": [{"ports": None}], "initContainers": None}}, False),
    "no specification": ({}, False),
}  # fmt: skip


@pytest.mark.parametrize(("pod", "requested"), PODS.values(), ids=PODS.keys())
def test_host_ports_that_a_pod_requests(pod: object, requested: bool) -> None:
    assert requests_host_ports(msgspec.json.encode(pod)) is requested

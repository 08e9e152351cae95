"""Pods as controllers create them."""

from typing import Any

import msgspec
import pytest

from tests import build
from webhook.admission.created_pods import CreatedPod, ReviewedObjects, build_created_pod
from webhook.manifests import Document, parse
from webhook.policy import kinds
from webhook.policy.firstlabels import HASH
from webhook.policy.kinds import BUILT_IN_TEMPLATES
from webhook.policy.model import GroupKind
from webhook.policy.podlabels import ADDED_LABELS

FLEET = GroupKind("example.io", "Fleet")
CONFIG = GroupKind("apps.openshift.io", "DeploymentConfig")
SERVICE = GroupKind("serving.knative.dev", "Service")
CUSTOM = (kinds.ROLLOUT, FLEET, CONFIG, SERVICE)
TEMPLATES = {**BUILT_IN_TEMPLATES, **dict.fromkeys(CUSTOM, ("spec", "template"))}


def document_of(obj: dict[str, Any]) -> Document:
    (document,) = parse(msgspec.json.encode(obj).decode(), "x.json")
    assert isinstance(document, Document)
    return document


def created(kind: GroupKind, **members: Any) -> CreatedPod:
    path = TEMPLATES[kind]
    template: Any = {"metadata": {"labels": {"app": "web", "tier": "front"}}, "spec": {}}
    for member in reversed(path):
        template = {member: template}
    workload = {
        "apiVersion": f"{kind.group}/v1" if kind.group else "v1",
        "kind": kind.kind,
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {**template["spec"], **members},
    }
    pod = build_created_pod(document_of(workload), path)
    assert pod is not None
    return pod


# workload, kind and name of the owner of its pods
OWNERS = {
    "Deployment": (kinds.DEPLOYMENT, "ReplicaSet", "web-hash"),
    "Rollout": (kinds.ROLLOUT, "ReplicaSet", "web-hash"),
    "CronJob": (kinds.CRON_JOB, "Job", "web-0"),
    "Job": (kinds.JOB, "Job", "web"),
    "ReplicaSet": (kinds.REPLICA_SET, "ReplicaSet", "web"),
    "ReplicationController": (kinds.REPLICATION_CONTROLLER, "ReplicationController", "web"),
    "StatefulSet": (kinds.STATEFUL_SET, "StatefulSet", "web"),
    "DaemonSet": (kinds.DAEMON_SET, "DaemonSet", "web"),
    "DeploymentConfig": (CONFIG, "ReplicationController", "web-0"),
    "Knative Service": (SERVICE, "ReplicaSet", "web-0"),
    "a custom kind": (FLEET, "Fleet", "web"),
}


@pytest.mark.parametrize(("kind", "owner", "name"), OWNERS.values(), ids=OWNERS.keys())
def test_the_controller_owns_the_pod(kind: GroupKind, owner: str, name: str) -> None:
    pod = created(kind)

    (reference,) = pod.document.value["metadata"]["ownerReferences"]
    assert (reference["kind"], reference["name"]) == (owner, name)
    assert reference["controller"] is True
    assert (pod.controller.kind, pod.controller.name) == (owner, name)
    assert pod.controller.namespace == pod.document.namespace == "shop"


LABELLED = sorted(TEMPLATES.keys() & ADDED_LABELS.keys() - {kinds.POD})


@pytest.mark.parametrize("kind", LABELLED, ids=str)
def test_controllers_add_labels_to_those_of_the_template(kind: GroupKind) -> None:
    labels = created(kind).document.value["metadata"]["labels"]

    assert labels["tier"] == "front"
    assert labels.keys() - {"app", "tier"} == ADDED_LABELS[kind].keys - {"app"}
    assert not any("{" in value for value in labels.values())


@pytest.mark.parametrize("kind", [kinds.JOB, kinds.CRON_JOB], ids=str)
def test_pods_of_indexed_jobs_have_an_index(kind: GroupKind) -> None:
    job = created(kind).document.value
    indexed: Any = {"completionMode": "Indexed"}
    if kind == kinds.CRON_JOB:
        template: Any = {"spec": {"template": {"spec": {}}, **indexed}}
        with_index = created(kind, jobTemplate=template)
    else:
        with_index = created(kind, **indexed)

    assert "batch.kubernetes.io/job-completion-index" not in job["metadata"]["labels"]
    labels = with_index.document.value["metadata"]["labels"]
    assert labels["batch.kubernetes.io/job-completion-index"] == "0"


def test_a_replication_controller_selects_by_pairs() -> None:
    pod = created(CONFIG, selector={"app": "web"})

    pairs = {"app": "web", "tier": "front", "deployment": "web-1"}
    assert pod.controller.value["spec"]["selector"] == pairs
    assert pod.document.value["metadata"]["labels"].items() > pairs.items()


def test_a_revision_is_selected_by_its_hash() -> None:
    selector: Any = {"matchLabels": {"app": "web"}, "matchExpressions": []}

    replica_set = created(kinds.DEPLOYMENT, selector=selector).controller

    pairs = {"app": "web", "pod-template-hash": HASH}
    assert replica_set.value["spec"]["selector"] == {**selector, "matchLabels": pairs}


def test_without_a_selector_the_labels_of_the_template_select() -> None:
    replica_set = created(kinds.DEPLOYMENT, selector=None).controller

    pairs = {"app": "web", "tier": "front", "pod-template-hash": HASH}
    assert replica_set.value["spec"]["selector"] == {"matchLabels": pairs}


def test_pods_have_the_name_of_their_template() -> None:
    path = ("spec", "replicatedJobs", 0, "template", "spec", "template")
    entry: Any = {"name": "workers", "template": {"spec": {"template": {"spec": {}}}}}
    job_set = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "web"},
        "spec": {"replicatedJobs": [entry]},
    }

    pod = build_created_pod(document_of(job_set), path)

    assert pod is not None
    labels = pod.document.value["metadata"]["labels"]
    assert labels["jobset.sigs.k8s.io/replicatedjob-name"] == "workers"


def test_the_pods_of_a_stateful_set_have_names() -> None:
    assert created(kinds.STATEFUL_SET).document.value["metadata"]["name"] == "web-0"
    assert created(kinds.REPLICA_SET).document.value["metadata"]["generateName"] == "web-"


def test_annotations_of_the_template_are_copied() -> None:
    workload = build.workload(kinds.JOB)
    workload["spec"]["template"]["metadata"] = {"annotations": {"a": "b"}, "name": "ignored"}

    pod = build_created_pod(document_of(workload), ("spec", "template"))

    assert pod is not None
    metadata = pod.document.value["metadata"]
    assert metadata["annotations"] == {"a": "b"}
    assert "name" not in metadata


def test_a_workload_without_a_name_gets_a_placeholder() -> None:
    workload = {**build.workload(kinds.JOB), "metadata": {"generateName": "web-"}}

    pod = build_created_pod(document_of(workload), ("spec", "template"))

    assert pod is not None
    assert pod.controller.name == f"web-{HASH}"
    assert "namespace" not in pod.document.value["metadata"]


def test_lines_of_the_pod_are_those_of_the_template() -> None:
    text = "apiVersion: batch/v1\nkind: Job\nspec:\n  template:\n    spec:\n      a: 1\n"
    (job,) = parse(text, "job.yaml")
    assert isinstance(job, Document)

    pod = build_created_pod(job, ("spec", "template"))

    assert pod is not None
    assert (pod.document.place(), pod.document.line(("spec", "a"))) == ("job.yaml:4", 6)


NO_PODS = {
    "a pod": (build.pod(), ()),
    "a template that no controller uses": (
        build.workload(kinds.POD_TEMPLATE),
        BUILT_IN_TEMPLATES[kinds.POD_TEMPLATE],
    ),
    "no template": ({"apiVersion": "apps/v1", "kind": "Deployment"}, ("spec", "template")),
}


@pytest.mark.parametrize(("obj", "path"), NO_PODS.values(), ids=NO_PODS.keys())
def test_some_objects_get_no_pods(obj: dict[str, Any], path: tuple[str, ...]) -> None:
    assert build_created_pod(document_of(obj), path) is None


OWNED = {"ownerReferences": [{"kind": "Deployment", "name": "web", "controller": True}]}

# objects of the files, whether they have the pods of the first one
FILES: dict[str, tuple[list[Any], bool]] = {
    "a pod of it": (
        [build.workload(kinds.JOB), build.pod(owner=build.owned_by("Job", "web"))],
        True,
    ),
    "a pod of another": (
        [build.workload(kinds.JOB), build.pod(owner=build.owned_by("Job"))],
        False,
    ),
    "its controller": (
        [{"kind": "ReplicaSet", "metadata": OWNED}, build.workload(kinds.DEPLOYMENT)],
        True,
    ),
    "its controller is elsewhere": ([{"kind": "ReplicaSet", "metadata": OWNED}], False),
    "owners of no use": ([{"kind": "Job", "metadata": {"ownerReferences": [7, {}]}}], False),
}


@pytest.mark.parametrize(("objects", "found"), FILES.values(), ids=FILES.keys())
def test_pods_of_a_workload_may_be_in_the_files(objects: list[Any], found: bool) -> None:
    documents = [document_of(obj) for obj in objects]

    assert ReviewedObjects(documents).have_pods_of(documents[0]) is found

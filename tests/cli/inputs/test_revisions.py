"""The revision of the next pod is that of the stored template, or a new one."""

import json
from typing import Any

import pytest

from tests.apiserver import ApiServer, refuse, respond
from tests.cli.inputs.manifestclusters import cluster_of
from webhook.cli.inputs.apiserver import ServerOptions
from webhook.cli.inputs.cluster import open_cluster
from webhook.cli.inputs.revisions import (
    NextRevision,
    find_kept_replicas,
    find_revision,
    find_stable,
    find_stored,
    is_unchanged,
)
from webhook.cli.inputs.subjects import ExplainSubject
from webhook.errors import ApiError
from webhook.policy.kinds import DAEMON_SET, DEPLOYMENT, ROLLOUT
from webhook.policy.model import GroupKind

CLONE_SET = GroupKind("apps.kruise.io", "CloneSet")
VERSIONS = {
    DEPLOYMENT: "apps/v1",
    DAEMON_SET: "apps/v1",
    ROLLOUT: "argoproj.io/v1alpha1",
    CLONE_SET: "apps.kruise.io/v1alpha1",
}
STORED = {"uid": "u1", "resourceVersion": "7"}
DEFAULTS = {"schedulerName": "default-scheduler", "dnsPolicy": "ClusterFirst"}


def workload(kind: GroupKind, image: str = "web:1", **members: Any) -> Any:
    """An object of a manifest, or of the cluster with the metadata that only it has."""
    metadata = {"name": "web", "namespace": "shop", **members.pop("metadata", {})}
    spec = {"containers": [{"name": "c", "image": image}], **members.pop("defaults", {})}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": spec}
    version = {"apiVersion": VERSIONS[kind], "kind": kind.kind}
    return {**version, "metadata": metadata, "spec": {"template": template}, **members}


def replica_set(number: int, image: str, kind: GroupKind = DEPLOYMENT) -> Any:
    owner = {"apiVersion": VERSIONS[kind], "kind": kind.kind, "name": "web", "controller": True}
    made = workload(
        DEPLOYMENT,
        image,
        defaults=DEFAULTS,
        metadata={
            "name": f"web-h{number}",
            "ownerReferences": [owner],
            "annotations": {"deployment.kubernetes.io/revision": str(number)},
        },
    )
    return {**made, "kind": "ReplicaSet"}


def applied(image: str) -> dict[str, str]:
    written = json.dumps(workload(DEPLOYMENT, image))
    return {"kubectl.kubernetes.io/last-applied-configuration": written}


def subject_of(kind: GroupKind, value: Any, *, exists: bool = False) -> ExplainSubject:
    return ExplainSubject(kind, ("spec", "template"), "shop", value, exists)


def find_of_manifest(kind: GroupKind, manifest: Any, *facts: Any) -> NextRevision:
    return find_revision(subject_of(kind, manifest), cluster_of(*facts, manifest))


# objects of the cluster, image of the manifest; name of the ReplicaSet, or whether it is new
REPLICA_SETS: dict[str, tuple[list[Any], str, str | bool]] = {
    "no ReplicaSet": ([], "web:1", False),
    "the only one": ([replica_set(1, "web:1")], "web:1", "web-h1"),
    "another image": ([replica_set(1, "web:1")], "web:2", True),
    "a rollback": ([replica_set(1, "web:1"), replica_set(2, "web:2")], "web:1", "web-h1"),
    "the newest of two": ([replica_set(1, "web:1"), replica_set(2, "web:1")], "web:1", "web-h2"),
    "no ReplicaSet, and the same template": (
        [workload(DEPLOYMENT, defaults=DEFAULTS)], "web:1", False
    ),
    "no ReplicaSet, and another template": (
        [workload(DEPLOYMENT, defaults=DEFAULTS)], "web:2", True
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("facts", "image", "expected"), REPLICA_SETS.values(), ids=REPLICA_SETS.keys()
)
def test_a_manifest_belongs_to_the_newest_replica_set_with_its_template(
    facts: list[Any], image: str, expected: str | bool
) -> None:
    found = find_of_manifest(DEPLOYMENT, workload(DEPLOYMENT, image), *facts)

    assert (found.subject.name if found.is_owned else found.is_new) == expected


def sized(number: int, image: str, size: int, created: str = "") -> Any:
    made = replica_set(number, image)
    made["metadata"]["creationTimestamp"] = created
    return {**made, "spec": {**made["spec"], "replicas": size}}


# ReplicaSets, image of the stored Deployment and of the manifest; name of the ReplicaSet
PAUSED: dict[str, tuple[list[Any], str, str]] = {
    "only the old one": ([sized(1, "web:1", 2)], "web:2", "web-h1"),
    "the old one has all replicas": (
        [sized(1, "web:1", 2), sized(2, "web:2", 0)], "web:2", "web-h1"
    ),
    "both have replicas": ([sized(1, "web:1", 2), sized(2, "web:2", 1)], "web:2", "web-h2"),
    "none has replicas": ([sized(1, "web:1", 0), sized(2, "web:2", 0)], "web:2", "web-h2"),
    "none has replicas or the template": (
        [sized(1, "web:1", 0, "2026-01-02"), sized(2, "web:2", 0, "2026-01-01")], "web:3", "web-h1"
    ),
}  # fmt: skip


@pytest.mark.parametrize("applied", [True, False])
@pytest.mark.parametrize(("facts", "image", "name"), PAUSED.values(), ids=PAUSED.keys())
def test_a_paused_deployment_scales_the_replica_set_that_has_replicas(
    facts: list[Any], image: str, name: str, *, applied: bool
) -> None:
    manifest = workload(DEPLOYMENT, image, metadata=STORED if applied else {})
    manifest["spec"]["paused"] = True

    found = find_of_manifest(DEPLOYMENT, manifest, *facts)

    assert (found.subject.name, found.is_owned) == (name, True)


def test_a_replica_set_without_a_template_is_not_scaled() -> None:
    manifest, abridged = workload(DEPLOYMENT, "web:2"), sized(1, "web:1", 2)
    manifest["spec"]["paused"] = True
    del abridged["spec"]["template"]

    assert find_of_manifest(DEPLOYMENT, manifest, abridged).is_new


def test_a_manifest_that_pauses_a_deployment_keeps_its_stored_template() -> None:
    stored, manifest = workload(DEPLOYMENT), workload(DEPLOYMENT, "web:2")
    manifest["spec"]["paused"] = True

    found = find_of_manifest(DEPLOYMENT, manifest, stored)

    assert (found.subject.value["spec"], found.is_new) == (stored["spec"], False)


def test_what_another_client_added_to_the_template_is_kept() -> None:
    added = {**DEFAULTS, "nodeSelector": {"disk": "ssd"}}
    own = replica_set(1, "web:1")
    own["spec"]["template"]["spec"].update(added)
    stored = workload(DEPLOYMENT, defaults=added, metadata={"annotations": applied("web:1")})

    assert find_of_manifest(DEPLOYMENT, workload(DEPLOYMENT), stored, own).is_owned
    assert find_of_manifest(DEPLOYMENT, workload(DEPLOYMENT), own).is_new


@pytest.mark.parametrize("annotation", [7, "{"])
def test_an_annotation_that_is_no_manifest_shows_nothing(annotation: Any) -> None:
    key = "kubectl.kubernetes.io/last-applied-configuration"
    stored = workload(DEPLOYMENT, metadata={"annotations": {key: annotation}})

    assert is_unchanged(subject_of(DEPLOYMENT, workload(DEPLOYMENT)), stored)


# kind, status of the stored object, image of the manifest; label, whether the revision is new
OTHERS: dict[str, tuple[GroupKind, dict[str, Any], str, dict[str, str], bool]] = {
    "a DaemonSet": (DAEMON_SET, {}, "web:1", {}, False),
    "a changed DaemonSet": (DAEMON_SET, {}, "web:2", {}, True),
    "a CloneSet": (
        CLONE_SET, {"updateRevision": "r1"}, "web:1", {"controller-revision-hash": "r1"}, False
    ),
    "a changed CloneSet": (CLONE_SET, {"updateRevision": "r1"}, "web:2", {}, True),
    "a Rollout without a ReplicaSet": (
        ROLLOUT, {"currentPodHash": "h1"}, "web:1", {"rollouts-pod-template-hash": "h1"}, False
    ),
    "a changed Rollout": (ROLLOUT, {"currentPodHash": "h1"}, "web:2", {}, True),
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "status", "image", "labels", "is_new"), OTHERS.values(), ids=OTHERS.keys()
)
def test_the_stored_object_shows_the_revision_of_an_unchanged_manifest(
    kind: GroupKind, status: dict[str, Any], image: str, labels: dict[str, str], *, is_new: bool
) -> None:
    stored = workload(kind, defaults=DEFAULTS, status=status)

    found = find_of_manifest(kind, workload(kind, image), stored)

    assert (found.labels, found.is_new, found.is_owned) == (labels, is_new, False)


def test_an_object_of_the_cluster_has_the_revision_that_its_status_shows() -> None:
    value = workload(CLONE_SET, status={"updateRevision": "r1"})
    subject = subject_of(CLONE_SET, value, exists=True)

    assert find_revision(subject, cluster_of()).labels == {"controller-revision-hash": "r1"}


def test_the_newest_replica_set_of_a_rollout_is_found_too() -> None:
    found = find_of_manifest(ROLLOUT, workload(ROLLOUT), replica_set(1, "web:1", ROLLOUT))

    assert (found.subject.name, found.is_owned) == ("web-h1", True)


def test_a_manifest_that_was_stored_is_the_object_of_the_cluster() -> None:
    value = workload(DEPLOYMENT, metadata=STORED)

    assert find_stored(subject_of(DEPLOYMENT, value), cluster_of(value)) is value
    assert find_stored(subject_of(DEPLOYMENT, workload(DEPLOYMENT)), cluster_of()) is None


def scaled(replicas: Any, applied: Any = None) -> Any:
    """Build a stored Deployment with replicas, and perhaps with those that were applied last."""
    written = json.dumps({"spec": {"replicas": applied}} if applied else {})
    key = "kubectl.kubernetes.io/last-applied-configuration"
    value = workload(DEPLOYMENT, metadata={"annotations": {key: written}})
    value["spec"]["replicas"] = replicas
    return value


# the stored object; the replicas that a manifest without replicas leaves it
KEPT: dict[str, tuple[list[Any], int | None]] = {
    "those of an autoscaler": ([scaled(4)], 4),
    "those that were applied last, which are removed": ([scaled(4, applied=4)], None),
    "no stored object": ([], None),
    "a value of a wrong type": ([scaled("4")], None),
}


@pytest.mark.parametrize(("stored", "replicas"), KEPT.values(), ids=KEPT.keys())
def test_a_manifest_without_replicas_keeps_those_of_the_stored_object(
    stored: list[Any], replicas: int | None
) -> None:
    manifest = workload(DEPLOYMENT)
    cluster = cluster_of(*stored, manifest)

    assert find_kept_replicas(subject_of(DEPLOYMENT, manifest), cluster) == replicas


def test_a_stored_object_without_a_template_of_its_own_shows_no_revision() -> None:
    stored = {**workload(ROLLOUT), "spec": {"workloadRef": {"kind": "Deployment", "name": "web"}}}
    manifest = workload(ROLLOUT)

    assert find_stored(subject_of(ROLLOUT, manifest), cluster_of(stored, manifest)) is None


def test_a_user_who_may_not_read_the_object_gets_an_answer(api: ApiServer) -> None:
    subject = subject_of(DEPLOYMENT, manifest := workload(DEPLOYMENT))
    server = ServerOptions(kubeconfig="kubeconfig")
    path = "/apis/apps/v1/namespaces/shop/deployments/web"
    api.script(path, refuse("no"), respond({}, 422))

    with open_cluster(server, cluster_of(manifest), ()) as cluster:
        assert find_stored(subject, cluster) is None
        with pytest.raises(ApiError):
            find_stored(subject, cluster)


def hashed(name: str, *path: str) -> Any:
    """Build a ReplicaSet with its hash as a label at a path."""
    value: Any = {"labels": {"rollouts-pod-template-hash": name}}
    for part in reversed(path):
        value = {part: value}
    return value


IN_METADATA = hashed("a", "metadata")
IN_TEMPLATE = hashed("a", "spec", "template", "metadata")
OTHER = hashed("b", "metadata")

# the status of a Rollout, its ReplicaSets, and the stable one
STABLE: dict[str, tuple[Any, list[Any], Any]] = {
    "the label of the ReplicaSet": ({"stableRS": "a"}, [OTHER, IN_METADATA], IN_METADATA),
    "the label of its template": ({"stableRS": "a"}, [OTHER, IN_TEMPLATE], IN_TEMPLATE),
    "none has the hash": ({"stableRS": "c"}, [OTHER, IN_METADATA], None),
    "two have the hash": ({"stableRS": "a"}, [IN_TEMPLATE, IN_METADATA], None),
    "no revision was stable yet": ({"stableRS": ""}, [OTHER, {}], None),
    "the status does not say": ({}, [OTHER, {}], None),
    "no string": ({"stableRS": 1}, [hashed("a"), {}], None),
    "no status": (None, [OTHER, {}], None),
}


@pytest.mark.parametrize(("status", "owned", "expected"), STABLE.values(), ids=STABLE.keys())
def test_the_stable_replica_set_is_the_one_that_the_status_names(
    status: Any, owned: list[Any], expected: Any
) -> None:
    assert find_stable({"status": status}, owned) is expected

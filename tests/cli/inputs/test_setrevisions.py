"""New pods of a StatefulSet have the template and the label of the revision of their ordinal."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from tests.apiserver import ApiServer, page, refuse, respond
from tests.cli.inputs.manifestclusters import cluster_of
from tests.explain.rollingupdate.rollouts import builder
from webhook.cli.inputs.apiserver import ServerOptions
from webhook.cli.inputs.cluster import open_cluster
from webhook.cli.inputs.revisions import NextRevision
from webhook.cli.inputs.setrevisions import SetRevisions, list_new_pods, restore_template
from webhook.cli.inputs.subjects import ExplainSubject
from webhook.errors import ApiError
from webhook.explain.newpods import NewPod
from webhook.policy.kinds import STATEFUL_SET
from webhook.policy.placement.census import ObservedPod

HASH = "controller-revision-hash"
DEFAULTS = {"schedulerName": "default-scheduler", "dnsPolicy": "ClusterFirst"}
STATUS = {"currentRevision": "db-1", "updateRevision": "db-2"}
UPDATED = {"currentRevision": "db-2", "updateRevision": "db-2"}


def template(image: str, **spec: Any) -> Any:
    containers = [{"name": "c", "image": image}]
    return {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": containers, **spec}}


def stateful_set(image: str, partition: int = 0, **members: Any) -> Any:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}}
    spec = {"replicas": 3, "updateStrategy": strategy, "template": template(image, **DEFAULTS)}
    metadata = {"name": "db", "namespace": "shop"}
    version = {"apiVersion": "apps/v1", "kind": "StatefulSet"}
    return {**version, "metadata": metadata, "spec": spec, **members}


def controller_revision(number: int, image: str, owner: str = "db") -> Any:
    reference = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": owner, "controller": True}
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            "name": f"{owner}-{number}", "namespace": "shop", "ownerReferences": [reference]
        },
        "revision": number,
        "data": {"spec": {"template": {"$patch": "replace", **template(image, **DEFAULTS)}}},
    }  # fmt: skip


def pod(ordinal: int, revision: str, **spec: Any) -> Any:
    labels = {"app": "db", HASH: revision, "statefulset.kubernetes.io/pod-name": f"db-{ordinal}"}
    metadata = {"name": f"db-{ordinal}", "namespace": "shop", "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def subject_of(value: Any, *, exists: bool = True) -> ExplainSubject:
    return ExplainSubject(STATEFUL_SET, ("spec", "template"), "shop", value, exists)


def observe(pods: Sequence[Any]) -> list[ObservedPod]:
    return [msgspec.convert(value, ObservedPod) for value in pods]


def find_at(ordinal: int, value: Any, *facts: Any, exists: bool = True) -> NextRevision:
    pods = [one for one in facts if one["kind"] == "Pod"]
    subject = subject_of(value, exists=exists)
    return SetRevisions(subject, observe(pods), cluster_of(*facts, value)).at(ordinal)


def image_of(revision: NextRevision) -> str:
    return str(revision.subject.value["spec"]["template"]["spec"]["containers"][0]["image"])


def test_the_status_shows_the_revision_of_an_object_of_the_cluster() -> None:
    found = find_at(0, stateful_set("db:2", status=STATUS))

    assert (found.labels, image_of(found), found.is_new) == ({HASH: "db-2"}, "db:2", False)


# the status, the ordinals of pods, the ordinals that have had one
USED: dict[str, tuple[Any, list[int], range]] = {
    "the status shows more": ({"replicas": 3}, [3], range(2, 5)),
    "a pod shows more": ({"replicas": 1}, [5], range(2, 6)),
    "pods below the first ordinal": ({}, [0], range(0)),
    "a status that cannot be read": ({"replicas": "3"}, [2], range(2, 3)),
    "neither a status nor pods": ({}, [], range(0)),
}


@pytest.mark.parametrize(("status", "ordinals", "used"), USED.values(), ids=USED)
def test_the_status_and_the_pods_show_which_ordinals_have_had_a_pod(
    status: Any, ordinals: list[int], used: range
) -> None:
    value = stateful_set("db:1", status=status)
    value["spec"]["ordinals"] = {"start": 2}
    names = [f"db-{ordinal}" for ordinal in ordinals]

    assert SetRevisions(subject_of(value), (), cluster_of()).find_used(names) == used


def test_the_next_ordinal_is_the_first_without_a_pod() -> None:
    pods = observe([pod(0, "db-1"), pod(2, "db-1")])

    revisions = SetRevisions(subject_of(stateful_set("db:1")), pods, cluster_of())

    assert (revisions.start, revisions.next_ordinal, revisions.unknown) == (0, 1, "")


# facts, image of the template, name of the revision if the template is unknown
OLDER: dict[str, tuple[list[Any], str, str]] = {
    "a ControllerRevision": (
        [controller_revision(1, "db:1"), controller_revision(2, "db:2")], "db:1", ""
    ),
    "that of another StatefulSet": ([controller_revision(1, "db:1", "other")], "db:2", "db-1"),
    "one without a template": ([{**controller_revision(1, "x"), "data": {}}], "db:2", "db-1"),
    "a pod": ([pod(1, "db-1", **template("db:1")["spec"])], "db:1", ""),
    "a pod of another revision": ([pod(1, "db-2", **template("db:1")["spec"])], "db:2", "db-1"),
    "an abridged pod": ([pod(1, "db-1", nodeName="n1")], "db:2", "db-1"),
    "nothing": ([], "db:2", "db-1"),
}  # fmt: skip


@pytest.mark.parametrize(("facts", "image", "unknown"), OLDER.values(), ids=OLDER.keys())
def test_below_the_partition_pods_have_the_template_of_the_current_revision(
    facts: list[Any], image: str, unknown: str
) -> None:
    value = stateful_set("db:2", 2, status=STATUS)

    found = find_at(1, value, *facts)

    assert (found.labels, image_of(found), found.unknown) == ({HASH: "db-1"}, image, unknown)
    assert find_at(2, value, *facts).labels == {HASH: "db-2"}
    pods = observe([one for one in facts if one["kind"] == "Pod"])
    assert SetRevisions(subject_of(value), pods, cluster_of(*facts)).unknown == unknown


def test_below_the_partition_of_a_set_that_is_up_to_date_pods_have_its_template() -> None:
    found = find_at(0, stateful_set("db:2", 2, status=UPDATED))

    assert (found.labels, found.unknown) == ({HASH: "db-2"}, "")


def test_the_first_pods_of_a_new_set_have_its_template() -> None:
    found = find_at(0, stateful_set("db:2", 2), exists=False)

    assert (found.labels, found.is_new, found.unknown) == ({}, False, "")


# facts beside the manifest, image of the manifest; labels, whether the revision is new
MANIFESTS: dict[str, tuple[list[Any], str, dict[str, str], bool]] = {
    "unchanged": ([stateful_set("db:2", status=UPDATED)], "db:2", {HASH: "db-2"}, False),
    "changed": ([stateful_set("db:2", status=UPDATED)], "db:3", {}, True),
    "unchanged, without a status": ([stateful_set("db:2")], "db:2", {}, False),
    "rolled back": (
        [
            stateful_set("db:2", status=UPDATED),
            controller_revision(1, "db:1"),
            controller_revision(2, "db:2"),
        ],
        "db:1",
        {HASH: "db-1"},
        False,
    ),
    "of a set that is not stored": ([], "db:1", {}, False),
    "of a set of which only revisions are known": (
        [controller_revision(1, "db:1")], "db:2", {}, True
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("facts", "image", "labels", "is_new"), MANIFESTS.values(), ids=MANIFESTS.keys()
)
def test_a_manifest_has_the_revision_with_its_template_or_a_new_one(
    facts: list[Any], image: str, labels: dict[str, str], *, is_new: bool
) -> None:
    found = find_at(0, stateful_set(image), *facts, exists=False)

    assert (found.labels, found.is_new, image_of(found)) == (labels, is_new, image)


def test_below_the_partition_of_a_changed_manifest_pods_have_the_stored_template() -> None:
    stored = stateful_set("db:2", status=UPDATED)

    found = find_at(0, stateful_set("db:3", 1), stored, exists=False)

    assert (found.labels, image_of(found), found.is_new) == ({HASH: "db-2"}, "db:2", False)


def test_a_template_that_the_controller_has_not_seen_is_new_unless_a_revision_has_it() -> None:
    status = {**UPDATED, "observedGeneration": 1}
    value = stateful_set("db:3", status=status)
    value["metadata"]["generation"] = 2

    assert find_at(0, value, controller_revision(2, "db:2")).is_new
    assert find_at(0, value, controller_revision(3, "db:3")).labels == {HASH: "db-3"}


def test_the_template_of_a_pod_lacks_what_its_controller_and_kube_apiserver_add() -> None:
    own = {"key": "tier", "operator": "Exists"}
    constraint = {
        "labelSelector": {"matchExpressions": [own, {"key": HASH, "operator": "In"}]},
        "matchLabelKeys": [HASH],
    }
    constraints = [constraint, {"maxSkew": 1}]
    value = pod(0, "db-1", nodeName="n1", topologySpreadConstraints=constraints)
    value["metadata"]["annotations"] = {"a": "b"}

    kept = {**constraint, "labelSelector": {"matchExpressions": [own]}}
    assert restore_template(value) == {
        "metadata": {"labels": {"app": "db"}, "annotations": {"a": "b"}},
        "spec": {"topologySpreadConstraints": [kept, {"maxSkew": 1}]},
    }


def test_a_user_who_may_not_read_revisions_gets_an_answer(api: ApiServer) -> None:
    path = "/apis/apps/v1/namespaces/shop/controllerrevisions"
    subject = subject_of(stateful_set("db:2", 1, status=STATUS))
    api.script(path, refuse("no"), page(controller_revision(1, "db:1")), respond({}, 422))

    with open_cluster(ServerOptions(kubeconfig="kubeconfig"), cluster_of(), ()) as cluster:
        assert SetRevisions(subject, (), cluster).at(0).unknown == "db-1"
        assert image_of(SetRevisions(subject, (), cluster).at(0)) == "db:1"
        with pytest.raises(ApiError):
            SetRevisions(subject, (), cluster).at(0)


@pytest.mark.parametrize(("policy", "is_parallel"), [("Parallel", True), (None, False)])
def test_new_pods_have_the_revisions_of_their_ordinals(
    policy: str | None, is_parallel: bool
) -> None:
    value = stateful_set("db:2", 1, status=STATUS)
    value["spec"] |= {"podManagementPolicy": policy, "ordinals": {"start": 3}}
    subject, build = subject_of(value), builder((), "1")
    built: list[tuple[dict[str, str], int]] = []

    def foresee(revision: NextRevision, ordinal: int) -> NewPod:
        built.append((dict(revision.labels), ordinal))
        return build(ordinal)

    succession = list_new_pods(subject, SetRevisions(subject, (), cluster_of()), foresee)

    assert (succession.start, succession.is_parallel) == (3, is_parallel)
    assert succession.build is not None
    assert succession.build(3) is succession.build(3)
    succession.build(4)
    assert built == [({HASH: "db-1"}, 3), ({HASH: "db-2"}, 4)]

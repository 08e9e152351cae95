"""Strategies of workloads are read as their controllers read them."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.cli.inputs.manifestclusters import cluster_of, workload
from tests.explain.rollingupdate.rollouts import builder
from webhook.cli.inputs.revisions import NextRevision
from webhook.cli.inputs.rollouts import NEW_REVISION, RolloutPlan, read_plan
from webhook.cli.inputs.subjects import find
from webhook.explain.newpods import NewPod
from webhook.explain.rollingupdate.setup import ReplicaSetNames
from webhook.explain.rollingupdate.sizes import BlueGreen
from webhook.policy.api.versions import Version
from webhook.policy.kinds import BUILT_IN_TEMPLATES, SHIPPED_TEMPLATES
from webhook.policy.podlabels import TEMPLATE_HASH

TEMPLATES = {**BUILT_IN_TEMPLATES, **SHIPPED_TEMPLATES}
OLD, NEW = Version(1, 36), Version(1, 37)
APPS, ARGO = "apps/v1", "argoproj.io/v1alpha1"


def foresee(revision: NextRevision, ordinal: int) -> NewPod:
    """Make a pod whose hash is that of its revision, or the name of its ReplicaSet."""
    shown = revision.subject.name if revision.is_owned else "".join(revision.labels.values())
    return builder((), shown)(ordinal)


def read(
    value: dict[str, Any],
    *objects: dict[str, Any],
    version: Version = OLD,
    exists: bool = True,
    **options: bool,
) -> RolloutPlan | None:
    cluster = cluster_of(*objects, value)
    (subject,) = find(f"{value['kind']}/web", "shop", TEMPLATES, cluster)
    return read_plan(replace(subject, exists=exists), cluster, version, foresee, [], **options)


def plan_of(value: dict[str, Any], *objects: dict[str, Any], **options: Any) -> RolloutPlan:
    plan = read(value, *objects, **options)
    assert plan is not None
    return plan


LIMITS = {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 2}}
PARTITIONED = {"partition": 1, "maxUnavailable": "67%"}
STEPS = [{"setWeight": 20}, {"pause": {}}, {"setWeight": 60}, {"setWeight": 100}]

# the workload, the version, and its strategy with three replicas
STRATEGIES: dict[str, tuple[dict[str, Any], Version, str]] = {
    "the defaults of a Deployment": (workload("Deployment"), OLD, "maxSurge 1, maxUnavailable 0"),
    "limits": (workload("Deployment", strategy=LIMITS), OLD, "maxSurge 0, maxUnavailable 2"),
    "recreate": (workload("Deployment", strategy={"type": "Recreate"}), OLD, "Recreate"),
    "a StatefulSet": (workload("StatefulSet"), OLD, "OrderedReady"),
    "a StatefulSet of 1.37": (workload("StatefulSet"), NEW, "maxUnavailable 1, OrderedReady"),
    "a partition": (
        workload("StatefulSet", updateStrategy={"rollingUpdate": PARTITIONED}), OLD,
        "partition 1, OrderedReady",
    ),
    "a partition of 1.37": (
        workload("StatefulSet", updateStrategy={"rollingUpdate": PARTITIONED},
                 podManagementPolicy="Parallel"),
        NEW, "partition 1, maxUnavailable 2, Parallel",
    ),
    "on delete": (workload("StatefulSet", updateStrategy={"type": "OnDelete"}), OLD, "OnDelete"),
    "a canary": (
        workload("Rollout", ARGO, strategy={"canary": {}}), OLD,
        "canary, maxSurge 1, maxUnavailable 0",
    ),
    "a canary with steps": (
        workload("Rollout", ARGO, strategy={"canary": {"steps": STEPS, "maxSurge": 2}}), OLD,
        "canary 20%, 60%, 100%, maxSurge 2, maxUnavailable 0",
    ),
    "blue and green": (workload("Rollout", ARGO, strategy={"blueGreen": {}}), OLD, "blueGreen"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("value", "version", "expected"), STRATEGIES.values(), ids=STRATEGIES.keys()
)
def test_strategy(value: dict[str, Any], version: Version, expected: str) -> None:
    assert str(plan_of(value, version=version).choose(3)) == expected


def test_kinds_without_a_rollout() -> None:
    assert read(workload("ReplicaSet")) is None
    assert read(workload("DaemonSet")) is None


# the strategy of a Rollout, and why it is not modelled
OBSTACLES: dict[str, tuple[Any, str]] = {
    "a traffic router": ({"canary": {"trafficRouting": {}}}, "a canary with trafficRouting is"),
    "no strategy": ({}, "it has no strategy"),
    "a strategy without members": ({"blueGreen": None}, "it has no strategy"),
    "a canary": ({"canary": {}}, ""),
}


@pytest.mark.parametrize(("strategy", "reason"), OBSTACLES.values(), ids=OBSTACLES.keys())
def test_obstacles(strategy: Any, reason: str) -> None:
    obstacle = plan_of(workload("Rollout", ARGO, strategy=strategy)).obstacle

    assert obstacle.startswith(reason)
    assert bool(obstacle) == bool(reason)


# the workload, and the beginning of each note
NOTES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "none": (workload("Deployment"), []),
    "paused": (workload("Deployment", paused=True), ["it is paused"]),
    "a Rollout": (
        workload("Rollout", ARGO, strategy={"canary": {}}), ["pauses, analyses and experiments"]
    ),
    "on delete and a limit": (
        workload("StatefulSet", updateStrategy={"type": "OnDelete", "rollingUpdate": PARTITIONED}),
        ["updateStrategy OnDelete", "maxUnavailable has no effect"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("value", "expected"), NOTES.values(), ids=NOTES.keys())
def test_notes(value: dict[str, Any], expected: list[str]) -> None:
    notes = plan_of(value).notes

    assert len(notes) == len(expected)
    assert all(note.startswith(first) for note, first in zip(notes, expected, strict=True))


def test_volumes_that_are_not_known_are_noted() -> None:
    (note,) = plan_of(workload("StatefulSet"), has_unknown_volumes=True).notes

    assert note.startswith("the volumes of its claims are not known")


def replica_set(name: str, created: str | None) -> dict[str, Any]:
    value = workload("ReplicaSet")
    owner = {"apiVersion": APPS, "kind": "Deployment", "name": "web", "controller": True}
    value["metadata"] |= {"name": name, "ownerReferences": [owner], "creationTimestamp": created}
    return value


def test_replica_sets_are_listed_by_their_age() -> None:
    sets = [replica_set("b", "2026-01-02T00:00:00Z"), replica_set("c", "2026-01-01T00:00:00Z")]

    plan = plan_of(workload("Deployment"), *sets, replica_set("a", None))

    assert plan.sets == ReplicaSetNames(("a", "c", "b"))


def hash_of(new: NewPod) -> str:
    return new.pod.labels[TEMPLATE_HASH]


def image(name: str) -> dict[str, Any]:
    spec = {"containers": [{"name": "web", "image": name}]}
    return {"template": {"metadata": {"labels": {"app": "web"}}, "spec": spec}}


def test_the_old_pods_are_those_of_the_stored_template() -> None:
    stored, changed = workload("Deployment", **image("a")), workload("Deployment", **image("b"))
    owned = replica_set("web-1", None)
    owned["spec"] |= image("a")

    live = plan_of(stored, owned).revisions
    applied = plan_of(changed, stored, owned, exists=False).revisions

    assert [hash_of(live.old(0)), hash_of(live.new(0))] == ["web-1", NEW_REVISION]
    assert [hash_of(applied.old(0)), hash_of(applied.new(0))] == ["web-1", NEW_REVISION]
    assert live.new(3) is live.new(3)
    assert live.old(3) is live.old(3)


def test_without_facts_no_label_shows_the_present_revision() -> None:
    assert not hash_of(plan_of(workload("Deployment")).revisions.old(0))


def test_the_old_pods_of_a_stateful_set_have_the_revision_of_their_ordinal() -> None:
    written = workload("StatefulSet", updateStrategy={"rollingUpdate": {"partition": 1}})
    written["status"] = {"currentRevision": "web-1", "updateRevision": "web-2"}

    revisions = plan_of(written).revisions

    assert [hash_of(revisions.old(ordinal)) for ordinal in (0, 1)] == ["web-1", "web-2"]
    assert [hash_of(revisions.new(ordinal)) for ordinal in (0, 1)] == [NEW_REVISION] * 2


def owned_by_rollout(name: str, created: str | None = None, **spec: Any) -> dict[str, Any]:
    value = replica_set(f"web-{name}", created)
    value["metadata"]["labels"] = {"rollouts-pod-template-hash": name}
    value["metadata"]["ownerReferences"][0] |= {"apiVersion": ARGO, "kind": "Rollout"}
    value["spec"] |= spec
    return value


def canary_of(image_name: str, **status: str) -> dict[str, Any]:
    made = workload("Rollout", ARGO, strategy={"canary": {}}, **image(image_name))
    return made | {"status": status}


def test_the_stable_replica_set_of_a_rollout_creates_its_old_pods() -> None:
    sets = owned_by_rollout("a", **image("a")), owned_by_rollout("b", **image("b"))
    stored = canary_of("b", stableRS="a", currentPodHash="b")

    live = plan_of(stored, *sets)
    applied = plan_of(canary_of("c"), stored, *sets, exists=False)

    assert (live.sets.stable, hash_of(live.revisions.old(0))) == ("web-a", "web-a")
    assert (applied.sets.stable, hash_of(applied.revisions.old(0))) == ("web-a", "web-a")


def test_without_a_stable_replica_set_old_pods_have_the_present_template() -> None:
    sets = owned_by_rollout("a", **image("a")), owned_by_rollout("b", **image("b"))

    plan = plan_of(canary_of("b", currentPodHash="b"), *sets)

    assert (plan.sets.stable, hash_of(plan.revisions.old(0))) == ("", "web-b")


def test_a_stable_replica_set_without_a_template_is_known_by_name() -> None:
    abridged = owned_by_rollout("a")
    del abridged["spec"]["template"]
    stored = canary_of("b", stableRS="a")

    plan = plan_of(stored, abridged, owned_by_rollout("b", **image("b")))

    assert (plan.sets.stable, hash_of(plan.revisions.old(0))) == ("web-a", "web-b")


def test_a_deployment_has_no_stable_replica_set() -> None:
    plan = plan_of(workload("Deployment") | {"status": {"stableRS": "a"}}, owned_by_rollout("a"))

    assert not plan.sets.stable


ACTIVE = {"activeSelector": "a"}

# the status of a Rollout, and whether pods of previews are deleted before those of the stable set
PREVIEWS: dict[str, tuple[dict[str, Any], bool]] = {
    "the stable set is active": ({"stableRS": "a", "blueGreen": ACTIVE}, True),
    "another one is active": ({"stableRS": "b", "blueGreen": ACTIVE}, False),
    "the stable set does not exist": (
        {"stableRS": "c", "blueGreen": {"activeSelector": "c"}}, False
    ),
    "the active one is not known": ({"stableRS": "a"}, False),
    "no status": ({}, False),
}  # fmt: skip


@pytest.mark.parametrize(("status", "expected"), PREVIEWS.values(), ids=PREVIEWS.keys())
def test_previews_are_deleted_if_the_stable_set_is_active(
    status: dict[str, Any], expected: bool
) -> None:
    value = workload("Rollout", ARGO, strategy={"blueGreen": {}}) | {"status": status}

    plan = plan_of(value, owned_by_rollout("a"), owned_by_rollout("b"))

    assert plan.choose(3) == BlueGreen(3, deletes_previews=expected)

"""The ReplicaSets of a paused Deployment and of a canary keep their sizes, or scale with them."""

from typing import Any

import pytest

from tests.cli.inputs.manifestclusters import cluster_of, workload
from webhook.cli.inputs.revisions import NextRevision
from webhook.cli.inputs.sizedsets import SizedSet, choose_revision, read_sized_sets
from webhook.cli.inputs.subjects import ExplainSubject
from webhook.policy.kinds import DEPLOYMENT, REPLICA_SET, ROLLOUT
from webhook.policy.model import GroupKind

ARGO = "argoproj.io/v1alpha1"
STEPS: list[Any] = [{"setWeight": 20}, {"pause": {}}, {"setWeight": 50}, {"pause": {}}]


def template(image: str) -> dict[str, Any]:
    labels = {"labels": {"app": "web"}}
    return {"metadata": labels, "spec": {"containers": [{"name": "c", "image": image}]}}


def replica_set(name: str, size: int, kind: GroupKind = DEPLOYMENT, **changes: Any) -> Any:
    """Build the ReplicaSet of an image with the same name."""
    owner = {"apiVersion": "v1", "kind": kind.kind, "name": "web", "controller": True}
    made: Any = workload("ReplicaSet", replicas=size)
    made["spec"]["template"] = changes.get("template", template(name))
    made["metadata"] |= {
        "name": f"web-{name}",
        "ownerReferences": [owner],
        "labels": {"rollouts-pod-template-hash": name},
        "annotations": changes.get("annotations"),
        "creationTimestamp": {"old": "2026-01-01", "new": "2026-01-02"}.get(name),
    }
    return made


def deployment(replicas: int, **spec: Any) -> dict[str, Any]:
    limits = {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
    known = {"paused": True, "strategy": limits, "template": template("new")}
    members: Any = {"replicas": replicas, **known, **spec}
    return workload("Deployment", **members)


def rollout(replicas: int, canary: Any = None, **status: Any) -> dict[str, Any]:
    known: Any = {"maxSurge": 0, "steps": STEPS} if canary is None else canary
    made = workload("Rollout", ARGO, replicas=replicas, strategy={"canary": known})
    made["spec"]["template"] = template("new")
    return made | {"status": {"stableRS": "old", "currentStepIndex": 1, **status}}


def read(value: Any, replicas: int, *others: Any, kind: GroupKind = DEPLOYMENT) -> dict[str, int]:
    subject = ExplainSubject(kind, ("spec", "template"), "shop", value, exists=True)
    found = read_sized_sets(subject, cluster_of(value, *others), replicas)
    assert all(one.revision.is_owned for one in found)
    return {one.name.removeprefix("web-"): one.size for one in found}


MOST: Any = {"annotations": {"deployment.kubernetes.io/max-replicas": "4"}}
BOTH = (replica_set("old", 3, **MOST), replica_set("new", 1, **MOST))


@pytest.mark.parametrize(
    ("replicas", "expected"),
    [(4, {"old": 3, "new": 1}), (8, {"old": 6, "new": 2}), (2, {"new": 1, "old": 1})],
)
def test_a_paused_deployment_scales_in_proportion(replicas: int, expected: dict[str, int]) -> None:
    assert read(deployment(4), replicas, *BOTH) == expected


def test_the_replica_set_that_grows_next_is_the_first() -> None:
    new = replica_set("new", 3)

    assert list(read(deployment(4), 4, replica_set("old", 1), new)) == ["new", "old"]
    assert list(read(deployment(4), 4, replica_set("old", 3), replica_set("new", 1))) == [
        "old",
        "new",
    ]


def test_sizes_that_do_not_suffice_yet_are_scaled() -> None:
    status = {"status": {"replicas": 4}}

    found = read(deployment(8) | status, 8, replica_set("old", 3), replica_set("new", 1))

    assert found == {"old": 6, "new": 2}


def test_recreate_scales_no_replica_sets_of_several() -> None:
    recreate = deployment(4, strategy={"type": "Recreate"})

    assert read(recreate, 9, *BOTH) == {"old": 3, "new": 1}


@pytest.mark.parametrize(
    ("value", "sets"),
    [
        (deployment(4, paused=False), BOTH),
        (deployment(4), BOTH[:1]),
        (deployment(4), (BOTH[0], replica_set("new", 0))),
        (deployment(4), (BOTH[0], replica_set("new", 1, template=None))),
    ],
    ids=["not paused", "one known", "one has replicas", "one without a template"],
)
def test_a_deployment_with_one_revision_for_new_pods_has_no_sizes(
    value: Any, sets: tuple[Any, ...]
) -> None:
    assert read(value, 4, *sets) == {}


CANARY = (replica_set("old", 4, ROLLOUT), replica_set("new", 1, ROLLOUT))


@pytest.mark.parametrize(
    ("status", "replicas", "expected"),
    [
        ({}, 5, {"old": 4, "new": 1}),
        ({}, 10, {"old": 8, "new": 2}),
        ({"currentStepIndex": 3}, 10, {"old": 5, "new": 5}),
        ({"abort": True}, 10, {"old": 10, "new": 0}),
        ({"currentStepIndex": 4}, 10, {}),
        ({"promoteFull": True}, 10, {}),
        ({"stableRS": None}, 10, {}),
        ({"stableRS": "new"}, 10, {}),
        ({"stableRS": "gone"}, 10, {}),
    ],
)
def test_a_canary_scales_by_the_weight_of_its_step(
    status: dict[str, Any], replicas: int, expected: dict[str, int]
) -> None:
    assert read(rollout(5, **status), replicas, *CANARY, kind=ROLLOUT) == expected


def test_a_canary_before_its_first_weight_has_none() -> None:
    canary = {"steps": [STEPS[1], STEPS[0]]}

    found = read(rollout(5, canary, currentStepIndex=0), 10, *CANARY, kind=ROLLOUT)

    assert found == {"old": 10, "new": 0}


@pytest.mark.parametrize(
    ("canary", "sets"),
    [
        ("no canary", CANARY),
        ({"trafficRouting": {}, "steps": STEPS}, CANARY),
        ({"steps": "none"}, CANARY),
        ({"steps": [{"setWeight": 0}, {"setWeight": 100}]}, CANARY),
        (None, (*CANARY, replica_set("older", 1, ROLLOUT))),
        (None, (replica_set("old", 4, ROLLOUT, template=None), CANARY[1])),
        (None, CANARY[:1]),
    ],
)
def test_a_canary_that_is_not_modelled_or_known_has_no_sizes(
    canary: Any, sets: tuple[Any, ...]
) -> None:
    assert read(rollout(5, canary), 5, *sets, kind=ROLLOUT) == {}


def sized(name: str, size: int) -> SizedSet:
    value = replica_set(name, size)
    subject = ExplainSubject(REPLICA_SET, ("spec", "template"), "shop", value, exists=True)
    return SizedSet(NextRevision(subject, is_owned=True), size)


@pytest.mark.parametrize(
    ("running", "expected"),
    [({}, "web-old"), ({"web-old": 3}, "web-new"), ({"web-old": 3, "web-new": 1}, "web-old")],
)
def test_the_next_pod_belongs_to_the_first_replica_set_that_lacks_one(
    running: dict[str, int], expected: str
) -> None:
    sets = (sized("old", 3), sized("new", 1))

    assert choose_revision(sets, running).subject.name == expected

"""Controllers show whether a rollout is going to delete pods."""

from typing import Any

import msgspec
import pytest

from webhook.cluster.scheduling.controllers import PodController

Json = dict[str, Any]


def controller(spec: Json, status: Json | None, generation: int | None = 2) -> PodController:
    written = {"metadata": {"name": "web", "generation": generation}, "spec": spec}
    return msgspec.convert(written | ({} if status is None else {"status": status}), PodController)


def observed(**members: Any) -> Json:
    return {"observedGeneration": 2, **members}


# spec, status, whether a Deployment rolls out a new revision
DEPLOYMENTS: dict[str, tuple[Json, Json | None, bool]] = {
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
    ("spec", "status", "expected"), DEPLOYMENTS.values(), ids=DEPLOYMENTS.keys()
)
def test_a_rollout_of_a_deployment(spec: Json, status: Json | None, *, expected: bool) -> None:
    assert controller(spec, status).is_rolling is expected


def strategy(type_: str | None = None, partition: int | None = None, **members: Any) -> Json:
    rolling = None if partition is None else {"partition": partition}
    return {"updateStrategy": {"type": type_, "rollingUpdate": rolling}, **members}


NEW = {"updateRevision": "db-2"}

# name and revision of a pod, spec, status, whether the rollout of its StatefulSet deletes it
SETS: dict[str, tuple[str, str, Json, Json | None, bool]] = {
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
    ("name", "revision", "spec", "status", "expected"), SETS.values(), ids=SETS.keys()
)
def test_a_rollout_of_a_stateful_set(
    name: str, revision: str, spec: Json, status: Json | None, *, expected: bool
) -> None:
    labels = {"controller-revision-hash": revision}

    assert controller(spec, status).updates_pod(name, labels) is expected

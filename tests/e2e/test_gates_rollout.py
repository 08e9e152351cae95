"""
Rolling minDomains out and back on a cluster that runs: the scenario of KEP-3022.

Pods are created all the while, and none is lost to the restarts.
"""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane import kubelet
from tests.controlplane.api import Api, ApiError, Json
from tests.controlplane.fixtures import NewControlPlane
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.e2e.fleet import Fleet
from tests.e2e.objects import constraints, workload
from tests.e2e.replica import MARK

GATE = "MinDomainsInPodTopologySpread"
OFF, ON = f"{GATE}=false", f"{GATE}=true"

NODES = ("node-a", "node-b", "node-c")
APP = {"app": "quorum"}

CREATIONS_A_SECOND = 20


@pytest.fixture
def plane(new_control_plane: NewControlPlane) -> ControlPlane:
    plane = new_control_plane()
    for name in NODES:
        kubelet.join(plane.api, name)
    return plane


def spread(**changes: Any) -> Json:
    return {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": APP},
        **changes,
    }


@contextmanager
def creating(api: Api, namespace: str) -> Iterator[list[Exception]]:
    """Create pods all the while; gives what went wrong."""
    failures: list[Exception] = []
    over = threading.Event()
    created = 0

    def create() -> None:
        nonlocal created
        start = time.monotonic()
        while not over.wait(max(0.0, start + created / CREATIONS_A_SECOND - time.monotonic())):
            try:
                api.create(workload("Pod", f"load-{created}", namespace, {"app": "load"}))
            except (ApiError, OSError) as error:
                failures.append(error)
            created += 1

    thread = threading.Thread(target=create)
    thread.start()
    try:
        yield failures
    finally:
        over.set()
        thread.join()
    assert created > 2 * CREATIONS_A_SECOND


def bound(api: Api, pod: Json) -> str:
    node: str = until(lambda: api.read(pod)["spec"].get("nodeName", ""), "a pod to be bound")
    return node


def is_unschedulable(api: Api, pod: Json) -> bool:
    conditions = api.read(pod)["status"].get("conditions", [])
    return any(condition.get("reason") == "Unschedulable" for condition in conditions)


def test_a_field_is_rolled_out_and_back_while_pods_are_created(
    plane: ControlPlane, tmp_path: Path
) -> None:
    api, namespace = plane.api, plane.create_namespace(MARK)

    def create(name: str, **changes: Any) -> Json:
        listed = [spread(**changes)]
        return api.create(workload("Pod", name, namespace, APP, topologySpreadConstraints=listed))

    with Fleet(plane, tmp_path, OFF) as fleet:
        first = [create(f"quorum-{number}") for number in range(5)]
        assert sorted(Counter(bound(api, pod) for pod in first).values()) == [1, 2, 2]
        with creating(api, namespace) as failures:
            held_back = create("held-back", minDomains=4)
            fleet.restart(ON)
            rolled_out = create("rolled-out", minDomains=4)
            until(lambda: is_unschedulable(api, rolled_out), "a pod to be refused by all nodes")
            fleet.restart(OFF)
            rolled_back = create("rolled-back", minDomains=4)
            for pod in (held_back, rolled_back):
                assert constraints(pod) == [spread()]
                assert bound(api, pod)
        assert failures == []
        kept = api.read(rolled_out)
        assert constraints(rolled_out) == constraints(kept) == [spread(minDomains=4)]
        assert "nodeName" not in kept["spec"]


def tend(api: Api, namespace: str) -> None:
    """Do once what kubelets would: run what is bound, and confirm the end of what is deleted."""
    for pod in api.items("v1", "Pod", namespace):
        if "deletionTimestamp" in pod["metadata"]:
            api.delete(pod)
        elif "nodeName" in pod["spec"] and pod["status"]["phase"] == "Pending":
            kubelet.run(api, pod)


def path_to_pod(kind: str) -> tuple[str, ...]:
    nested = ("spec", "jobTemplate") if kind == "CronJob" else ()
    return (*nested, "spec", "template", "spec")


def within(obj: Json, path: tuple[str, ...]) -> Any:
    found: Any = obj
    for member in path:
        found = found[member]
    return found


def holding(path: tuple[str, ...], value: Json) -> Json:
    for member in reversed(path):
        value = {member: value}
    return value


def image_of(pod: Json) -> str:
    image: str = pod["spec"]["containers"][0]["image"]
    return image


class Rollout:
    """
    A workload that is stored with the field, and whose image alone is changed later.

    Attributes:
        old: Names of the objects created from the workload as it was.
    """

    def __init__(self, api: Api, namespace: str, kind: str, made: tuple[str, str]) -> None:
        self.api, self.namespace, self.kind, self.made = api, namespace, kind, made
        labels = {"app": kind.lower()}
        listed = [spread(minDomains=2, labelSelector={"matchLabels": labels})]
        self.spread, self.path = listed, path_to_pod(kind)
        obj = workload(kind, kind.lower(), namespace, labels, topologySpreadConstraints=listed)
        if kind == "CronJob":
            obj["spec"] |= {"schedule": "* * * * *", "suspend": True}
        self.obj = api.create(obj)
        self.old: set[str] = set()

    def revisions(self) -> set[str]:
        """Names of the objects created from the template, one for each change."""
        uid = self.obj["metadata"]["uid"]
        return {
            obj["metadata"]["name"]
            for obj in self.api.items(*self.made, self.namespace)
            if obj["metadata"]["ownerReferences"][0]["uid"] == uid
        }

    def pods(self, image: str = "") -> list[Json]:
        """Its pods; those with an image, if one is given."""
        selector = f"app={self.kind.lower()}"
        listed = self.api.items("v1", "Pod", self.namespace, labelSelector=selector)
        return [pod for pod in listed if image in ("", image_of(pod))]

    def change_image(self) -> None:
        self.old = self.revisions()
        containers = {"containers": [{"name": "main", "image": "other"}]}
        changed = self.api.merge(self.obj, holding(self.path, containers))
        assert within(changed, self.path)["topologySpreadConstraints"] == self.spread
        if self.kind == "CronJob":
            self.run_now()

    def run_now(self) -> None:
        """Let it be due, as it would be within a minute."""
        created = datetime.fromisoformat(self.obj["metadata"]["creationTimestamp"])
        times = {"lastScheduleTime": f"{created - timedelta(minutes=5):%Y-%m-%dT%H:%M:%SZ}"}
        self.api.merge(self.obj, {"status": times}, subresource="/status")
        self.api.merge(self.obj, {"spec": {"suspend": False}})

    def runs(self, image: str) -> bool:
        """Whether pods with this image run, and no others are left."""
        tend(self.api, self.namespace)
        pods = self.pods()
        return bool(pods) and all(
            pod["status"]["phase"] == "Running" and image_of(pod) == image for pod in pods
        )


KINDS = {
    "Deployment": ("apps/v1", "ReplicaSet"),
    "StatefulSet": ("apps/v1", "ControllerRevision"),
    "DaemonSet": ("apps/v1", "ControllerRevision"),
    "CronJob": ("batch/v1", "Job"),
}
"""Kind of a workload -> kind of the objects created from its template."""


def test_what_is_stored_keeps_the_field_and_is_rolled_out_once(
    plane: ControlPlane, tmp_path: Path
) -> None:
    api, namespace = plane.api, plane.create_namespace(MARK)
    with Fleet(plane, tmp_path, ON) as fleet:
        rollouts = {kind: Rollout(api, namespace, kind, made) for kind, made in KINDS.items()}
        for kind, rollout in rollouts.items():
            if kind != "CronJob":
                until(partial(rollout.runs, "none"), f"the first pods of the {kind}")
                assert all(constraints(pod) == rollout.spread for pod in rollout.pods("none"))
        fleet.restart(OFF)
        for rollout in rollouts.values():
            rollout.change_image()
        for kind, rollout in rollouts.items():
            until(partial(rollout.runs, "other"), f"the rollout of the {kind}")
            assert len(rollout.revisions() - rollout.old) == 1, kind
            for pod in rollout.pods("other"):
                assert constraints(pod) == [
                    {key: value for key, value in constraint.items() if key != "minDomains"}
                    for constraint in rollout.spread
                ]
        deployment = api.read(rollouts["Deployment"].obj)
        assert deployment["status"]["updatedReplicas"] == 1
        assert "collisionCount" not in deployment["status"]

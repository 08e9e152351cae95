"""
For Pending pods, ``explain`` prints the message of the real kube-scheduler, letter by letter.

The cluster has nodes, pods and volumes that keep pods off for many reasons. Every pod also looks
for a pod that does not exist, which only the last filter notices: so all stay Pending, and the
message shows which filter rejects each node first.
"""

import json
import os
import random
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane import kubelet
from tests.controlplane.api import Api, Json
from tests.controlplane.assets import chosen_version
from tests.controlplane.fixtures import NewControlPlane
from tests.controlplane.waiting import until
from tests.e2e.objects import rounds
from webhook.__main__ import main

PODS = rounds(40, 500)
REASONS = rounds(12, 16)  # different ones that the messages have at least
SENTENCES = rounds(25, 100)  # different messages

ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
GPU = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}

NODES: tuple[tuple[str, dict[str, str], dict[str, str], Json], ...] = (
    ("n0", {ZONE: "a", "disk": "ssd"}, {"cpu": "8"}, {}),
    ("n1", {ZONE: "a", "disk": "hdd"}, {"cpu": "2", "memory": "1Gi"}, {}),
    ("n2", {ZONE: "b", "disk": "ssd"}, {"example.com/gpu": "2"}, {"taints": [GPU]}),
    ("n3", {ZONE: "b", "disk": "hdd"}, {"pods": "2"}, {}),
    ("n4", {"disk": "ssd"}, {"ephemeral-storage": "1Gi"}, {}),
    ("n5", {ZONE: "c", "disk": "hdd"}, {}, {"unschedulable": True, "taints": [CORDON]}),
    ("n6", {ZONE: "c"}, {"example.com/gpu": "1"}, {}),
)
"""Name, labels, resources besides ``ROOM``, and members of the specification."""

ROOM = {"cpu": "4", "memory": "8Gi", "pods": "20", "ephemeral-storage": "20Gi"}

AFTER = re.compile(r"( not found)?( no new claims to deallocate,)?( preemption: .*)?")
"""What preemption, and other plugins after the filters, add: without a node to try, not found."""


def affinity_term(key: str, **labels: str) -> Json:
    return {"topologyKey": key, "labelSelector": {"matchLabels": labels}}


class World:
    """The cluster and its pods, all of which are random but for the nodes and volumes."""

    def __init__(self, api: Api, namespace: str) -> None:
        self.api, self.namespace, self.rng = api, namespace, random.Random(29)

    def fill(self) -> None:
        """Create nodes, storage, and pods that run."""
        for name, labels, room, spec in NODES:
            node = kubelet.join(self.api, name, labels, allocatable={**ROOM, **room})
            self.api.merge(node, {"spec": spec})
        self._create_storage()
        for number in range(14):
            self.api.create(self._running_pod(f"run-{number}"))

    def _create_storage(self) -> None:
        for name, mode in (("late", "WaitForFirstConsumer"), ("soon", "Immediate")):
            self._create(
                "storage.k8s.io/v1", "StorageClass", name,
                provisioner="kubernetes.io/no-provisioner", volumeBindingMode=mode,
            )  # fmt: skip
        selects = {"key": ZONE, "operator": "In", "values": ["b"]}
        self._create(
            "v1", "PersistentVolume", "in-b",
            spec={
                **self._volume_spec("late"),
                "capacity": {"storage": "1Gi"},
                "local": {"path": "/data"},
                "nodeAffinity": {
                    "required": {"nodeSelectorTerms": [{"matchExpressions": [selects]}]}
                },
                "claimRef": {"namespace": self.namespace, "name": "bound"},
            },
        )  # fmt: skip
        for name in ("late", "soon", "bound"):
            spec = self._volume_spec("soon" if name == "soon" else "late")
            spec["resources"] = {"requests": {"storage": "1Gi"}}
            done = {"pv.kubernetes.io/bind-completed": "yes"} if name == "bound" else {}
            if name == "bound":
                spec["volumeName"] = "in-b"
            self._create("v1", "PersistentVolumeClaim", name, annotations=done, spec=spec)

    @staticmethod
    def _volume_spec(storage_class: str) -> Json:
        return {"accessModes": ["ReadWriteOnce"], "storageClassName": storage_class}

    def _create(
        self, version: str, kind: str, name: str, annotations: Json | None = None, **members: Any
    ) -> None:
        metadata: Json = {"name": name, "annotations": annotations or {}}
        if kind == "PersistentVolumeClaim":
            metadata["namespace"] = self.namespace
        self.api.create({"apiVersion": version, "kind": kind, "metadata": metadata, **members})

    def _running_pod(self, name: str) -> Json:
        rng = self.rng
        pod = self._pod(name, {"app": rng.choice(["web", "api"])})
        pod["spec"]["nodeName"] = rng.choice(["n0", "n0", "n1", "n2", "n3", "n4", "n6"])
        (container,) = pod["spec"]["containers"]
        container["resources"] = {"requests": {"cpu": rng.choice(["100m", "500m"])}}
        if rng.random() < 0.3:
            container["ports"] = [{"containerPort": 80, "hostPort": rng.choice([80, 81])}]
        if rng.random() < 0.2:
            terms = [affinity_term(HOSTNAME, tier="x")]
            pod["spec"]["affinity"] = {"podAntiAffinity": {REQUIRED: terms}}
        return pod

    def pending_pod(self, name: str) -> Json:
        """A pod that stays Pending, since nothing has the label that it looks for."""
        rng = self.rng
        pod = self._pod(name, {"app": rng.choice(["web", "api"]), "tier": rng.choice("xy")})
        spec = pod["spec"]
        affinity: Json = {"podAffinity": {REQUIRED: [affinity_term(HOSTNAME, app="none")]}}
        if rng.random() < 0.2:
            key = rng.choice([ZONE, HOSTNAME])
            affinity["podAntiAffinity"] = {REQUIRED: [affinity_term(key, app="web")]}
            if rng.random() < 0.5:  # the anti-affinity is noticed only where affinity is satisfied
                affinity["podAffinity"] = {REQUIRED: [affinity_term(ZONE, app="api")]}
                spec["nodeSelector"] = {"disk": "none"}
        spec["affinity"] = affinity
        self._add_resources(spec)
        if rng.random() < 0.3:
            key = rng.choice([GPU["key"], CORDON["key"]])
            spec["tolerations"] = [{"key": key, "operator": "Exists"}]
        if rng.random() < 0.2:
            spec["nodeSelector"] = {"disk": rng.choice(["ssd", "hdd", "tape"])}
        if rng.random() < 0.4:
            spec["topologySpreadConstraints"] = [self._constraint()]
        if rng.random() < 0.25:
            claim = rng.choice(["bound", "late", "soon", "absent"])
            spec["volumes"] = [{"name": "d", "persistentVolumeClaim": {"claimName": claim}}]
        return pod

    def _add_resources(self, spec: Json) -> None:
        rng, (container,) = self.rng, spec["containers"]
        requests = {"cpu": rng.choice(["10m", "10m", "1500m", "3", "5", "20"])}
        for resource, amounts in (
            ("memory", ["2Gi", "16Gi"]),
            ("ephemeral-storage", ["2Gi", "30Gi"]),
            ("example.com/gpu", ["1", "2", "3"]),
        ):
            if rng.random() < 0.15:
                requests[resource] = rng.choice(amounts)
        gpus = {name: amount for name, amount in requests.items() if "/" in name}
        container["resources"] = {"requests": requests, "limits": gpus}
        if rng.random() < 0.2:
            container["ports"] = [{"containerPort": 80, "hostPort": rng.choice([80, 81])}]

    def _constraint(self) -> Json:
        return {
            "maxSkew": 1,
            "topologyKey": self.rng.choice([ZONE, HOSTNAME, "disk"]),
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "web"}},
        }

    def _pod(self, name: str, labels: Json) -> Json:
        metadata = {"name": name, "namespace": self.namespace, "labels": labels}
        containers: list[Json] = [{"name": "main", "image": "none"}]
        spec: Json = {"containers": containers, "automountServiceAccountToken": False}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}

    def read_message(self, pod: Json) -> str:
        """The scheduler's words about a pod; empty before it has tried to place it."""
        conditions = self.api.read(pod).get("status", {}).get("conditions", ())
        found = (one for one in conditions if one["type"] == "PodScheduled")
        return next((str(one.get("message", "")) for one in found), "")

    def hears(self, pod: Json, sentence: str) -> bool:
        """Whether the scheduler says a sentence of a pod, up to what follows the filters."""
        message = self.read_message(pod)
        rest = message.removeprefix(sentence)
        return message.startswith(sentence) and AFTER.fullmatch(rest) is not None


def test_the_message_of_pending_pods_is_that_of_the_scheduler(
    new_control_plane: NewControlPlane, capsys: pytest.CaptureFixture[str]
) -> None:
    plane = new_control_plane(controllers=False, service_accounts=False)
    world = World(plane.api, plane.create_namespace())
    world.fill()
    pods = [world.pending_pod(f"pod-{number}") for number in range(PODS)]
    for pod in pods:
        plane.api.create(pod)
    names = [pod["metadata"]["name"] for pod in pods]
    for pod in pods:
        until(partial(world.read_message, pod), "the scheduler to decide")

    ours = explain_all(plane.apiserver.kubeconfig, world.namespace, names, capsys)

    for pod in pods:  # its caches may have lacked a node or a volume when it tried first
        sentence = ours[pod["metadata"]["name"]]
        until(partial(world.hears, pod, sentence), f"the scheduler to say of it: {sentence}")
    reasons = {reason for sentence in ours.values() for reason in list_reasons(sentence)}
    assert len(reasons) >= REASONS, reasons
    assert len(set(ours.values())) >= SENTENCES


def explain_all(
    kubeconfig: Path, namespace: str, names: list[str], capsys: pytest.CaptureFixture[str]
) -> dict[str, str]:
    """Explain pods by one command; return the name of each with our sentence."""
    subjects = [f"pod/{name}" for name in names]
    options = ["-n", namespace, "--kubeconfig", str(kubeconfig), "-o", "json"]
    code = main(["explain", *subjects, *options, "--kube-version", chosen_version(os.environ)])
    out, err = capsys.readouterr()
    assert (code, err) == (1, "")
    answers = [json.loads(line)["explanation"] for line in out.splitlines()]
    return {answer["subject"].rpartition("/")[2]: answer["failedScheduling"] for answer in answers}


def list_reasons(sentence: str) -> list[str]:
    """List the reasons of a sentence without their numbers."""
    listed = sentence.partition(": ")[2].rstrip(".").split(", ")
    return [re.sub(r"^\d+ ", "", part) for part in listed]

"""A small cluster to audit: three zones, and workloads whose pods the real scheduler binds."""

from collections import Counter
from typing import Any

from tests.controlplane import kubelet
from tests.controlplane.api import Json
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.e2e.objects import service, workload

ZONE = "topology.kubernetes.io/zone"
ZONES = ("a", "b", "c")
LABELS = {"app": "web"}
SPREAD: Json = {
    "maxSkew": 1,
    "topologyKey": ZONE,
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": LABELS},
    "matchLabelKeys": ["pod-template-hash"],
}


class Shop:
    """
    A Deployment of six that is spread over the zones, a StatefulSet that nothing spreads.

    Attributes:
        namespace: Where they are.
    """

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        for zone in ZONES:
            kubelet.join(plane.api, f"node-{zone}", {ZONE: f"zone-{zone}"})
        self.namespace = plane.create_namespace()
        self.deployment = self.create("Deployment", "web", 6, topologySpreadConstraints=[SPREAD])
        self.create("StatefulSet", "db", 2)
        plane.api.create(service("web", self.namespace, LABELS))
        self.wait(7)  # the second pod of the StatefulSet waits for the first to run

    def create(self, kind: str, name: str, replicas: int, **spec: Any) -> Json:
        labels = {"app": name}
        made = workload(kind, name, self.namespace, labels, **spec)
        made["spec"]["replicas"] = replicas
        return self._plane.api.create(made)

    @property
    def pods(self) -> list[Json]:
        return self._plane.api.items("v1", "Pod", self.namespace)

    def wait(self, bound: int) -> None:
        """Wait until so many pods are bound."""
        until(lambda: self._bound() == bound, f"{bound} pods to be bound")

    def drain(self, zone: str) -> None:
        """Cordon the node of a zone, take its pods off it, and wait for their successors."""
        before = self.pods
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"node-{zone}"}}
        self._plane.api.merge(node, {"spec": {"unschedulable": True}})
        until(lambda: self._is_refused(zone), f"the scheduler to know of the cordon of node-{zone}")
        for pod in before:
            if pod["spec"].get("nodeName") == f"node-{zone}":
                self._plane.api.delete(pod)
        until(lambda: len(self.pods) == len(before), "as many pods as before")

    def counts(self) -> Counter[str]:
        """The pods of the Deployment by the node that they are on; waiting ones under ``""``."""
        return Counter(
            pod["spec"].get("nodeName", "")
            for pod in self.pods
            if pod["metadata"]["labels"]["app"] == "web"
        )

    def _is_refused(self, zone: str) -> bool:
        """Try a pod that only fits the node of a zone; the scheduler learns of nodes by a watch."""
        selector = {ZONE: f"zone-{zone}"}
        probe = workload("Pod", "probe", self.namespace, {"app": "probe"}, nodeSelector=selector)
        self._plane.api.create(probe)
        scheduled = until(lambda: self._scheduled(probe), "the scheduler to try a pod")
        self._plane.api.delete(probe)
        until(lambda: all(pod["metadata"]["name"] != "probe" for pod in self.pods), "its deletion")
        return scheduled == "False"

    def _scheduled(self, pod: Json) -> str:
        """The status of the condition PodScheduled; empty if there is none."""
        conditions = self._plane.api.read(pod).get("status", {}).get("conditions", ())
        return "".join(item["status"] for item in conditions if item["type"] == "PodScheduled")

    def _bound(self) -> int:
        return sum("nodeName" in pod["spec"] for pod in self.pods)

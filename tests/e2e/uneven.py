"""Workloads that are as uneven as a test wants, and kubelets that run their replacements."""

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import NamedTuple, Self

from tests.controlplane import kubelet
from tests.controlplane.api import ApiError, Json
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.e2e.ranks import all_ready, bind, pods_in, spread_pods
from webhook.policy.model import HOSTNAME

PAUSE_S = 0.05  # between two looks at the pods


class UnevenWorkload(NamedTuple):
    """
    A Deployment to create.

    Attributes:
        nodes: The node of each pod.
        max_skew: Of its hard constraint over zones.
        unavailable: ``maxUnavailable`` of its PodDisruptionBudget; None without one.
        host_skew: ``maxSkew`` of another hard constraint, over nodes; None without one.
    """

    name: str
    nodes: Sequence[str]
    max_skew: int = 1
    unavailable: int | None = None
    host_skew: int | None = None


def draw_workload(random: Random, name: str, nodes: Sequence[str]) -> UnevenWorkload:
    """Draw a workload whose pods are anywhere."""
    some = random.sample(nodes, random.randint(1, len(nodes)))
    placed = [random.choice(some) for _ in range(random.randint(3, 10))]
    skew, unavailable = random.randint(1, 2), random.choice([None, 1, 2])
    # The node that is alone in its zone has a third of at most 10 pods.
    return UnevenWorkload(name, placed, skew, unavailable, random.choice([None, 3]))


def create_uneven(plane: ControlPlane, namespace: str, *workloads: UnevenWorkload) -> None:
    """Create workloads, and bind their pods while the scheduler is stopped."""
    scheduler = plane.process("kube-scheduler")
    scheduler.pause()
    try:
        for one in workloads:
            workload = build_workload(one, namespace)
            plane.api.create(workload)
            place = _Placement(plane, namespace, one)
            until(place.done, f"{len(one.nodes)} pods of {one.name}")
    finally:
        scheduler.resume()
    for one in workloads:
        workload = build_workload(one, namespace)
        ready = partial(all_ready, plane, workload, len(one.nodes))
        until(ready, "the controller to see them ready")
        if one.unavailable is not None:
            _create_budget(plane, namespace, one)


def build_workload(one: UnevenWorkload, namespace: str) -> Json:
    """Build the Deployment."""
    workload = spread_pods(len(one.nodes), namespace, kind="Deployment")
    labels = {"app": one.name}
    workload["metadata"]["name"] = one.name
    workload["spec"]["selector"] = {"matchLabels": labels}
    template = workload["spec"]["template"]
    template["metadata"]["labels"] = labels
    (constraint,) = template["spec"]["topologySpreadConstraints"]
    constraint |= {"maxSkew": one.max_skew, "labelSelector": {"matchLabels": labels}}
    if one.host_skew is not None:
        over_nodes = {**constraint, "topologyKey": HOSTNAME, "maxSkew": one.host_skew}
        template["spec"]["topologySpreadConstraints"] = [constraint, over_nodes]
    return workload


class _Placement:
    """Binds the pods of a workload to its nodes, and runs them."""

    def __init__(self, plane: ControlPlane, namespace: str, one: UnevenWorkload) -> None:
        self._plane, self._namespace, self._workload = plane, namespace, one

    def done(self) -> bool:
        """Whether all pods exist; then they are bound, and run."""
        pods = pods_of(self._plane, self._namespace, self._workload.name)
        if len(pods) < len(self._workload.nodes):
            return False
        for pod, node in zip(pods, self._workload.nodes, strict=True):
            bind(self._plane, pod, node)
            kubelet.run(self._plane.api, pod)
        return True


def _create_budget(plane: ControlPlane, namespace: str, one: UnevenWorkload) -> None:
    budget: Json = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": one.name, "namespace": namespace},
        "spec": {
            "maxUnavailable": one.unavailable,
            "selector": {"matchLabels": {"app": one.name}},
        },
    }
    plane.api.create(budget)
    until(
        lambda: plane.api.read(budget).get("status", {}).get("currentHealthy") == len(one.nodes),
        "the controller of the budget to count the pods",
    )


def pods_of(plane: ControlPlane, namespace: str, name: str) -> list[Json]:
    """List the pods of a workload that are not being deleted."""
    return [
        pod
        for pod in pods_in(plane, namespace)
        if pod["metadata"]["labels"].get("app") == name
        and not pod["metadata"].get("deletionTimestamp")
    ]


def count_nodes(plane: ControlPlane, namespace: str, name: str) -> Counter[str]:
    """Count the pods of a workload by their node."""
    return Counter(pod["spec"]["nodeName"] for pod in pods_of(plane, namespace, name))


def is_uneven(plane: ControlPlane, namespace: str, one: UnevenWorkload, nodes: list[str]) -> bool:
    """
    Whether a constraint of a workload does not hold.

    Args:
        nodes: All nodes; the first letter of a node is its zone.
    """
    by_node, by_zone = count_nodes(plane, namespace, one.name), Counter[str]()
    for node in nodes:
        by_zone[node[0]] += by_node[node]
    per_node = [by_node[node] for node in nodes]
    zone_skew = max(by_zone.values()) - min(by_zone.values())
    host_skew = max(per_node) - min(per_node)
    return zone_skew > one.max_skew or (one.host_skew is not None and host_skew > one.host_skew)


class Kubelets:
    """
    Run the bound pods of a namespace, as long as the context lasts.

    Attributes:
        fewest_ready: Workload -> the fewest ready pods that were ever seen.
    """

    def __init__(
        self,
        plane: ControlPlane,
        namespace: str,
        runs: Callable[[Json], bool] = lambda _pod: True,
    ) -> None:
        """Prepare; ``runs`` says whether a pod gets ready."""
        self.fewest_ready: dict[str, int] = {}
        self._plane, self._namespace, self._runs = plane, namespace, runs
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _work(self) -> None:
        while not self._stop.wait(PAUSE_S):
            pods = pods_in(self._plane, self._namespace)
            ready = Counter(one["metadata"]["labels"]["app"] for one in pods if _is_ready(one))
            for name, number in ready.items():
                self.fewest_ready[name] = min(number, self.fewest_ready.get(name, number))
            for pod in pods:
                if pod["spec"].get("nodeName") and not _is_ready(pod) and self._runs(pod):
                    self._run(pod)

    def _run(self, pod: Json) -> None:
        try:
            kubelet.run(self._plane.api, pod)
        except ApiError as error:
            if error.status != 404:  # it may have been deleted meanwhile
                raise


def _is_ready(pod: Json) -> bool:
    return pod["status"]["phase"] == "Running" and not pod["metadata"].get("deletionTimestamp")

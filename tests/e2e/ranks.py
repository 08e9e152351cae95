"""A replica that ranks pods, its webhooks, and the pods of a workload in zones."""

from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.controlplane import kubelet, webhooks
from tests.controlplane.api import Json
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.e2e.objects import POD_SPEC
from tests.e2e.replica import MARK, Registered, Replica, configurations
from webhook.policy.model import ZONE
from webhook.policy.scaledown.ranks import DELETION_COST, RANK_ANNOTATION, read_rank

KEEPS_SPREAD = """
apiVersion: evenspread.io/v1alpha1
kind: SpreadConfiguration
profiles:
- {name: cluster, scaleDown: KeepSpread, defaultConstraints: []}
"""

BIND: Json = {
    "name": "bind.evenspread.io",
    "clientConfig": {"service": {"name": "evenspread", "namespace": "evenspread", "path": "/bind"}},
    "rules": [
        {
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "operations": ["CREATE"],
            "resources": ["pods/binding"],
            "scope": "Namespaced",
        }
    ],
    "namespaceSelector": {"matchLabels": MARK},
    "failurePolicy": "Fail",  # shipped as Ignore, but a test must not miss a fault
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
    "timeoutSeconds": 15,  # shipped as 2, for which a busy machine may stand still
}


@contextmanager
def ranking(plane: ControlPlane, folder: Path, config: str = KEEPS_SPREAD) -> Generator[Replica]:
    """Run a replica that labels and ranks the pods of namespaces that carry MARK."""
    with Replica(folder, plane.apiserver.kubeconfig, config) as replica:
        replica.wait()
        until(lambda: replica.metric("cache_synced", kind="Pod") == 1, "the pods to be listed")
        (mutating, _) = configurations()
        mutating["webhooks"].append(BIND)
        called = webhooks.by_url(mutating, replica.url, replica.ca_bundle)
        with Registered(plane, [called]):
            yield replica


def zone_of_nodes(sizes: Mapping[str, int]) -> dict[str, str]:
    """Name so many Nodes for each zone, and map them to it."""
    return {f"{zone}{number}": zone for zone, size in sizes.items() for number in range(size)}


def join_zones(plane: ControlPlane, **sizes: int) -> None:
    """Create the Nodes of zones, so many in each."""
    for name, zone in zone_of_nodes(sizes).items():
        kubelet.join(plane.api, name, {ZONE: zone})


def spread_pods(replicas: int, namespace: str, *, kind: str = "ReplicaSet", **further: Any) -> Json:
    """Build a ReplicaSet or Deployment whose pods a hard constraint spreads over zones."""
    labels = {"app": "web"}
    constraint = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": labels},
    }
    spec = {
        **POD_SPEC,
        **further,
        "terminationGracePeriodSeconds": 0,
        "topologySpreadConstraints": [constraint],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "web", "namespace": namespace},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def pods_in(plane: ControlPlane, namespace: str) -> list[Json]:
    """List the pods of a namespace."""
    return plane.api.items("v1", "Pod", namespace)


def annotations_of(pod: Json) -> dict[str, str]:
    """Read the annotations of a pod."""
    return pod["metadata"].get("annotations") or {}


def cost_of(pod: Json) -> str | None:
    """Read the deletion cost of a pod; None if it has none."""
    return annotations_of(pod).get(DELETION_COST)


def rank_of(pod: Json) -> int:
    """Read the rank of a pod; 0 without a deletion cost, -1 with another client's."""
    return read_rank(cost_of(pod), annotations_of(pod).get(RANK_ANNOTATION))


def bind(plane: ControlPlane, pod: Json, node: str, **query: str) -> None:
    """Bind a pod to a Node, as a scheduler does."""
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": pod["metadata"]["name"]},
        "target": {"kind": "Node", "name": node},
    }
    plane.api.call("POST", plane.api.path_of(pod) + "/binding", binding, **query)


def settle(plane: ControlPlane, workload: Json, replicas: int) -> None:
    """Wait until a workload has so many pods, all bound, and make them ready."""
    namespace = workload["metadata"]["namespace"]

    def bound() -> bool:
        pods = pods_in(plane, namespace)
        return len(pods) == replicas and all(pod["spec"].get("nodeName") for pod in pods)

    until(bound, f"{replicas} bound pods")
    for pod in pods_in(plane, namespace):
        if pod["status"]["phase"] != "Running":
            kubelet.run(plane.api, pod)
    until(lambda: all_ready(plane, workload, replicas), "the controller to see them ready")


def all_ready(plane: ControlPlane, workload: Json, replicas: int) -> bool:
    """Whether the controller of a workload sees so many pods, all of them ready."""
    status = plane.api.read(workload)["status"]
    return bool(status.get("readyReplicas") == replicas == status.get("replicas"))


def count_by_zone(pods: list[Json], zones: dict[str, str]) -> dict[str, int]:
    """Count the pods in each zone."""
    counts = Counter(zones[pod["spec"]["nodeName"]] for pod in pods)
    return {zone: counts[zone] for zone in sorted({*zones.values()})}

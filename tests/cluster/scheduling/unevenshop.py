"""Objects of a cluster of three zones, whose Deployment ``web`` is uneven, as an API server has."""

from typing import Any

from webhook.policy.model import HOSTNAME, ZONE

Json = dict[str, Any]

SPREAD: Json = {
    "maxSkew": 1,
    "topologyKey": ZONE,
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "web"}},
}


def node(name: str, pods: int = 10) -> Json:
    """A node; the first letter of its name is its zone."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {ZONE: name[0], HOSTNAME: name}},
        "status": {"allocatable": {"pods": f"{pods}", "cpu": "8", "memory": "8Gi"}},
    }


def web_pod(
    name: str, node: str, *, app: str = "web", namespace: str = "shop", is_ready: bool = True
) -> Json:
    """A pod of a Deployment."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{app}-5d9c", "uid": app}
    selects = {"matchLabels": {"app": app}}
    spec = {"topologySpreadConstraints": [SPREAD | {"labelSelector": selects}]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-{name}",
            "labels": {"app": app, "pod-template-hash": "5d9c"},
            "ownerReferences": [owner | {"controller": True}],
        },
        "spec": spec | ({"nodeName": node} if node else {}),
        "status": {
            "phase": "Running" if is_ready else "Pending",
            "conditions": [{"type": "Ready", "status": str(is_ready)}],
        },
    }


NODES = [node("a1"), node("b1"), node("c1")]


def uneven_pods(app: str = "web", namespace: str = "shop") -> list[Json]:
    """Five pods, three of them in zone ``a``: one eviction makes them even."""
    return [
        web_pod(f"{app}-{number}", name, app=app, namespace=namespace)
        for number, name in enumerate(("a1", "a1", "a1", "b1", "c1"))
    ]


def budget(app: str = "web", **spec: Any) -> Json:
    """A PodDisruptionBudget."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": app, "namespace": "shop"},
        "spec": {"selector": {"matchLabels": {"app": app}}, **spec},
    }

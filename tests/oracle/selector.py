"""
Random clusters of Services and controllers, for the selector that kube-scheduler derives.

``make_case`` is the entry point; ``make_owners`` makes what placement needs of it.
"""

from typing import Any

from tests.conformance.case import Case
from tests.oracle.chance import Chance

_NAMESPACES = (*("default",) * 9, "other")
_OWNERS = (
    ("v1", "ReplicationController", "rc"),
    ("apps/v1", "ReplicaSet", "rs"),
    ("apps/v1", "StatefulSet", "ss"),
    ("batch/v1", "Job", "j"),
    ("apps/v1", "Deployment", "rs"),
    ("example.com/v1", "ReplicaSet", "rs"),
)
"""API version and kind of owners, and how the objects of the cluster begin their names."""


def make_case(chance: Chance) -> Case:
    """Make a case of the suite ``selector``, without its id and expected answer."""
    return {"cluster": make_controllers(chance), "pod": _make_pod(chance)}


def make_controllers(chance: Chance) -> dict[str, Any]:
    """Make Services, ReplicationControllers, ReplicaSets and StatefulSets."""
    return {
        "services": _make_objects(chance, "svc", lambda: {"selector": _make_pairs(chance)}),
        "replicationControllers": _make_objects(
            chance, "rc", lambda: {"selector": _make_pairs(chance)}
        ),
        "replicaSets": _make_objects(
            chance, "rs", lambda: {"selector": chance.selector(), "template": {}}
        ),
        "statefulSets": _make_objects(
            chance,
            "ss",
            lambda: {"selector": chance.selector(), "serviceName": "x", "template": {}},
        ),
    }


def _make_objects(chance: Chance, prefix: str, make_spec: Any) -> list[dict[str, Any]]:
    return [
        {
            "metadata": {
                "name": f"{prefix}{index}",
                "namespace": chance.pick(_NAMESPACES),
                "uid": f"uid-{prefix}{index}",
            },
            "spec": make_spec(),
        }
        for index in range(chance.pick((0, 1, 2, 3, 3)))
    ]


def _make_pairs(chance: Chance) -> dict[str, str] | None:
    return None if chance.holds(0.1) else chance.labels(0.3) or {"app": chance.pick("ab")}


def make_owners(chance: Chance) -> list[dict[str, Any]]:
    """Make the owners of a pod, of which at most one is its controller."""
    owners: list[dict[str, Any]] = []
    for _ in range(chance.pick((0, 1, 1, 2))):
        version, kind, prefix = chance.pick(_OWNERS)
        name = f"{prefix}{chance.pick((0, 0, 0, 1, 2))}"
        controls = chance.holds(0.8) and not any(owner["controller"] for owner in owners)
        owner = {"apiVersion": version, "kind": kind, "name": name, "uid": f"uid-{name}"}
        owners.append({**owner, "controller": controls})
    return owners


def _make_pod(chance: Chance) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "name": "p",
        "namespace": chance.pick(_NAMESPACES),
        "uid": "u",
        "labels": chance.labels(0.8),
    }
    if owners := make_owners(chance):
        metadata["ownerReferences"] = owners
    return {"metadata": metadata, "spec": {"containers": []}}

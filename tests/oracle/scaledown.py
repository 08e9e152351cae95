"""
Random workloads to scale down, for the order in which the ReplicaSet controller removes pods.

``make_case`` is the entry point. Many pods differ only in what is compared last, because every
criterion before it decides for good.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

from tests.conformance.case import Case
from tests.oracle.chance import Chance

_NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
_NAMESPACE, _OTHER = "shop", "other"
_COST = "controller.kubernetes.io/pod-deletion-cost"
_COSTS = (
    *("1", "-1", "0", "10", "997000", "998000", "999000"),
    *("2147483647", "-2147483648", "2147483648", "-2147483649", "99999999999"),
    *("", "+1", "01", "-01", "-0", "-", "1e3", "1.5", "x", " 1", "1 ", "1_0", "٣"),
)
_SIBLINGS = 8  # pods of other ReplicaSets and of none
_AGES = (-5, 0, 1, 2, 3, 59, 60, 61, 3600, 3601, 4000, 86400, 86401, 604800, 31536000)
"""Seconds; some have the same logarithm."""


def make_case(chance: Chance) -> Case:
    """Make a case of the suite ``scaledown``, without its id and expected answer."""
    kind = chance.pick(("ReplicaSet", "ReplicaSet", "Deployment", "ReplicationController"))
    owned = kind == "Deployment" or chance.holds(0.7)
    sets = [
        _make_set(name, chance, owned=owned, narrow=kind == "Deployment")
        for name in ("web-1", "web-2")[: chance.number(1, 2)]
    ]
    pods = [_make_pod(chance, f"p{index}", "ReplicaSet", "web-1") for index in _indexes(chance)]
    pods += [_make_sibling(chance, f"q{index}", kind, len(sets)) for index in range(_SIBLINGS)]
    workload = {"Deployment": "web", "ReplicationController": "old"}.get(kind, "web-1")
    controllers: list[dict[str, Any]] = []
    if kind == "ReplicationController":
        controllers.append({"metadata": _metadata("old"), "spec": {"selector": {"app": "web"}}})
        for pod in pods[: chance.number(1, len(pods))]:
            pod["metadata"]["ownerReferences"] = [_owner(kind, "old")]
    return {
        "cluster": {
            "pods": pods,
            "replicaSets": sets,
            "replicationControllers": controllers,
        },
        "workload": f"{kind}/{_NAMESPACE}/{workload}",
        "replicas": chance.number(0, len(pods) - _SIBLINGS),
        "now": _format(0),
    }


def _indexes(chance: Chance) -> range:
    return range(chance.pick((1, 2, 3, 6, 12, 24)))


def _metadata(name: str, namespace: str = _NAMESPACE) -> dict[str, Any]:
    return {"name": name, "namespace": namespace, "uid": f"uid-{name}"}


def _owner(kind: str, name: str, *, controls: bool = True) -> dict[str, Any]:
    version = "v1" if kind == "ReplicationController" else "apps/v1"
    named = {"apiVersion": version, "kind": kind, "name": name, "uid": f"uid-{name}"}
    return {**named, "controller": controls}


def _make_set(name: str, chance: Chance, *, owned: bool, narrow: bool) -> dict[str, Any]:
    metadata = _metadata(name)
    if owned:
        metadata["ownerReferences"] = [_owner("Deployment", "web")]
    elif chance.holds(0.3):
        metadata["ownerReferences"] = [_owner("Deployment", "web", controls=False)]
    labels = {"app": "web"} if not narrow and chance.holds(0.1) else {"app": "web", "hash": name}
    return {"metadata": metadata, "spec": {"selector": {"matchLabels": labels}}}


def _make_sibling(chance: Chance, name: str, kind: str, sets: int) -> dict[str, Any]:
    """Make a pod that may count for ranks: of another ReplicaSet, an orphan, or a finished one."""
    owner = chance.pick(("web-2", "web-2", "stranger", ""))
    pod = _make_pod(chance, name, "ReplicaSet", owner)
    if owner == "web-2" and sets == 2 and kind == "Deployment":
        pod["status"]["phase"] = chance.pick(("Succeeded", "Failed"))  # else a rollout is running
    if chance.holds(0.1):
        pod["metadata"]["namespace"] = _OTHER
    return pod


def _make_pod(chance: Chance, name: str, kind: str, owner: str) -> dict[str, Any]:
    controls = chance.holds(0.95)
    flipped = owner and controls and chance.holds(0.05)
    metadata = _metadata(name)
    metadata["uid"] = f"{chance.number(0, 999):03}-{name}"  # its order is not that of the names
    metadata["labels"] = {"app": "web", "hash": "web-2" if flipped else owner or "web-1"}
    metadata["creationTimestamp"] = _make_time(chance)
    if owner:
        metadata["ownerReferences"] = [_owner(kind, owner, controls=controls)]
    if chance.holds(0.2):
        metadata["annotations"] = {_COST: chance.pick(_COSTS)}
    if chance.holds(0.05):
        metadata["deletionTimestamp"] = _format(0)
    initial = [{"name": "proxy", "restartPolicy": "Always"}, {"name": "once"}]
    spec: dict[str, Any] = {"containers": [], "initContainers": initial}
    if chance.holds(0.9):
        spec["nodeName"] = f"n{chance.number(0, 4)}"
    return {"metadata": metadata, "spec": spec, "status": _make_status(chance)}


def _make_status(chance: Chance) -> dict[str, Any]:
    usual = chance.holds(0.85)
    phases = ("Running",) if usual else ("Pending", "Unknown", "Running", "Succeeded", "Failed", "")
    status: dict[str, Any] = {"phase": chance.pick(phases)}
    conditions = [{"type": "PodScheduled", "status": "True"}]
    if chance.holds(0.95):
        ready = "True" if chance.holds(0.85) else chance.pick(("False", "Unknown"))
        condition: dict[str, Any] = {"type": "Ready", "status": ready}
        if chance.holds(0.95):
            condition["lastTransitionTime"] = _make_time(chance)
        conditions.append(condition)
    status["conditions"] = conditions
    if chance.holds(0.3):
        status["containerStatuses"] = chance.several(lambda: _make_restarts(chance, "app"), 1, 2)
    if chance.holds(0.3):
        names = ("proxy", "once")
        status["initContainerStatuses"] = [_make_restarts(chance, name) for name in names]
    return status


def _make_restarts(chance: Chance, name: str) -> dict[str, Any]:
    return {"name": name, "restartCount": chance.pick((0, 0, 1, 3))}


def _make_time(chance: Chance) -> str | None:
    if chance.holds(0.03):
        return None
    return _format(chance.pick(_AGES) if chance.holds(0.6) else chance.number(0, 100_000))


def _format(age: int) -> str:
    return (_NOW - timedelta(seconds=age)).strftime("%Y-%m-%dT%H:%M:%SZ")

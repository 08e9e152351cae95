"""Pods as an API server shows them, for tests of the order in which they are removed."""

from collections.abc import Sequence
from typing import Any

import msgspec

from webhook.explain.removal import RemovalOrder, WorkloadPods
from webhook.policy.placement.census import ObservedPod
from webhook.policy.scaledown.ranks import DELETION_COST, annotate_rank

NODES = ("n1", "n2", "n3")
NOW = 1_767_312_000.0  # 2026-01-02T00:00:00Z
DAY, HOUR = "2026-01-01T00:00:00Z", "2026-01-01T23:00:00Z"


def make_pod(
    name: str,
    node: str = "n1",
    *,
    phase: str = "Running",
    ready: str = "True",
    since: str | None = DAY,
    cost: str | None = None,
    rank: int | None = None,
    created: str | None = DAY,
    owner: str = "web-1",
    restarts: int = 0,
    **changes: Any,
) -> ObservedPod:
    annotations = annotate_rank(rank) if rank else {DELETION_COST: cost} if cost is not None else {}
    value: dict[str, Any] = {
        "metadata": {
            "name": name,
            "namespace": "shop",
            "uid": changes.get("uid"),
            "labels": {"app": "web"},
            "creationTimestamp": created,
            "annotations": annotations or None,
            "ownerReferences": [{"kind": "ReplicaSet", "name": owner, "controller": True}],
        },
        "spec": {
            "nodeName": node,
            "initContainers": [{"name": "proxy", "restartPolicy": "Always"}, {"name": "once"}],
        },
        "status": {
            "phase": phase,
            "conditions": [{"type": "Ready", "status": ready, "lastTransitionTime": since}],
            "containerStatuses": [{"name": "web", "restartCount": restarts}],
            "initContainerStatuses": changes.get("sidecars"),
        },
    }
    return msgspec.convert(value, ObservedPod)


def observed(name: str, node_name: str, labels: dict[str, str], restarts: int) -> ObservedPod:
    """Make a running pod without a controller."""
    value = {
        "metadata": {"name": name, "namespace": "shop", "labels": labels},
        "spec": {"nodeName": node_name},
        "status": {"phase": "Running", "containerStatuses": [{"restartCount": restarts}]},
    }
    return msgspec.convert(value, ObservedPod)


def workload(
    pods: Sequence[ObservedPod], order: RemovalOrder = RemovalOrder.REPLICA_SET
) -> WorkloadPods:
    """Make the pods of the workload web."""
    return WorkloadPods(name="web", pods=tuple(pods), related=tuple(pods), order=order)

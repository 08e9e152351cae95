"""Pods as an API server shows them, for tests of the order in which they are removed."""

from typing import Any

import msgspec

from webhook.policy.placement.census import ObservedPod
from webhook.policy.scaledown.ranks import DELETION_COST
from webhook.policy.scaledown.ranks import KEEP_SPREAD as KEEP
from webhook.policy.scaledown.ranks import SCALE_DOWN_LABEL as RANKED

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
    created: str | None = DAY,
    owner: str = "web-1",
    restarts: int = 0,
    **changes: Any,
) -> ObservedPod:
    value: dict[str, Any] = {
        "metadata": {
            "name": name,
            "namespace": "shop",
            "uid": changes.get("uid"),
            "labels": {"app": "web", **({RANKED: KEEP} if changes.get("labelled") else {})},
            "creationTimestamp": created,
            "annotations": {DELETION_COST: cost} if cost is not None else None,
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

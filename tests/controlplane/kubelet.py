"""
What a kubelet would write, for Nodes that have none.

A Node is a plain object: with a Ready condition and something allocatable the scheduler binds
pods to it. The pods stay Pending, with a nodeName; that is enough for all about placement. A
controller that waits for ready pods (a StatefulSet, a rollout) goes on after run().
"""

from collections.abc import Mapping

from tests.controlplane.api import Api, Json

ROOM = {"cpu": "64", "memory": "256Gi", "pods": "500"}
"""Default allocatable of a Node: more than the pods of a test request."""


def join(
    api: Api,
    name: str,
    labels: Mapping[str, str] | None = None,
    *,
    allocatable: Mapping[str, str] = ROOM,
) -> Json:
    """
    Create a ready Node; returns it as stored.

    Args:
        api: Of a cluster admin.
        name: Also the value of the label kubernetes.io/hostname.
        labels: Others, such as the zone.
        allocatable: Resource to quantity; also its capacity.
    """
    node: Json = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
    }
    api.create(node)
    room = dict(allocatable)
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    status = {"capacity": room, "allocatable": room, "conditions": [ready]}
    api.merge(node, {"status": status}, subresource="/status")
    # The API server taints a new Node not-ready; the controller that would remove it is off.
    return api.merge(node, {"spec": {"taints": None}})


def run(api: Api, pod: Json) -> Json:
    """Make a pod Running and ready; returns it as stored."""
    ready = [{"type": kind, "status": "True"} for kind in ("Ready", "ContainersReady")]
    return api.merge(
        pod, {"status": {"phase": "Running", "conditions": ready}}, subresource="/status"
    )


def finish(api: Api, pod: Json) -> Json:
    """Let a pod succeed, as the containers of a Job do; returns it as stored."""
    return api.merge(pod, {"status": {"phase": "Succeeded"}}, subresource="/status")

"""
What the pods of a DaemonSet demand of a node: ``daemon_demands``.

Source: kubernetes pkg/controller/daemon/util/daemonset_util.go ``AddOrUpdateDaemonPodTolerations``.
"""

from msgspec.structs import replace

from webhook.policy.placement.nodes import UNSCHEDULABLE, Demands, Toleration

NETWORK_TOLERATION = Toleration(
    "node.kubernetes.io/network-unavailable", "Exists", effect="NoSchedule"
)
"""The toleration of pods in the network of their node."""

_TOLERATIONS = (
    Toleration("node.kubernetes.io/not-ready", "Exists", effect="NoExecute"),
    Toleration("node.kubernetes.io/unreachable", "Exists", effect="NoExecute"),
    Toleration("node.kubernetes.io/disk-pressure", "Exists", effect="NoSchedule"),
    Toleration("node.kubernetes.io/memory-pressure", "Exists", effect="NoSchedule"),
    Toleration("node.kubernetes.io/pid-pressure", "Exists", effect="NoSchedule"),
    Toleration(UNSCHEDULABLE.key, "Exists", effect="NoSchedule"),
)
"""Tolerations of all pods of DaemonSets."""


def daemon_demands(demands: Demands, *, host_network: bool) -> Demands:
    """Add the tolerations that the controller adds to every pod, but those that it has."""
    own = demands.tolerations or ()
    added = (*_TOLERATIONS, NETWORK_TOLERATION) if host_network else _TOLERATIONS
    return replace(demands, tolerations=(*own, *(one for one in added if one not in own)))

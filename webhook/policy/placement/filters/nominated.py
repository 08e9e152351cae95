"""
Pods that are nominated for a node: ``add_nominated``.

Preemption has made room for them there, and kube-scheduler keeps it from pods of the same or a
lower priority. It filters a node with the pods that are nominated for it, and then without them.

Source: pkg/scheduler/framework/runtime/framework.go ``RunFilterPluginsWithNominatedPods``,
``addGENominatedPods``.
"""

import dataclasses

from webhook.policy.placement.filters.cluster import SchedulingCluster


def add_nominated(cluster: SchedulingCluster, node: str) -> SchedulingCluster:
    """
    Return the cluster in which the pods that are nominated for a node are on it.

    Takes O(pods) of their namespaces. One difference is not modelled: a constraint with an empty
    selector counts nominated pods, although it counts no others.

    Args:
        node: Name of a node for which pods are nominated.
    """
    placed = cluster.placed.copy()
    for pod in cluster.nominated[node]:
        placed.add(pod, node)
    return dataclasses.replace(cluster, placed=placed, nominated={})

"""
Pods of a workload that leave the cluster of a scenario.

``remove_pods`` is the entry point. Which pods are removed is decided in ``removal``.
"""

from collections.abc import Mapping, Sequence

from webhook.explain.scenario import Scenario
from webhook.policy.placement.census import ObservedPod
from webhook.policy.placement.filters.filterpods import FilterPod


def remove_pods(
    scenario: Scenario, pods: Sequence[ObservedPod], placed: Mapping[str, FilterPod]
) -> Scenario:
    """
    Remove pods of a workload from the cluster of a scenario; pending ones are not in it.

    Args:
        placed: As for ``take_pod``.
    """
    bound = [pod for pod in pods if pod.counts]
    if not bound:
        return scenario
    changed = scenario.copy_pods()
    for pod in bound:
        changed.cluster.placed.remove(take_pod(pod, placed), pod.spec.node_name or "")
    return changed


def take_pod(pod: ObservedPod, placed: Mapping[str, FilterPod]) -> FilterPod:
    """
    Return what a pod takes of its node.

    Args:
        placed: The name of a pod -> what it takes of its node; one that is absent takes nothing.
    """
    metadata = pod.metadata
    known = placed.get(metadata.name or "")
    return known or FilterPod(metadata.namespace or "", metadata.labels or {})

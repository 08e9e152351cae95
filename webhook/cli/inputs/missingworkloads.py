"""Why a named workload has no pods, and what to name instead: ``explain_missing``."""

from collections.abc import Iterable, Sequence

from webhook.cluster.scheduling.podobjects import UniqueMeta
from webhook.cluster.scheduling.workloads import WorkloadObjects
from webhook.policy.advice.findings import join_names
from webhook.rebalance.pods import WorkloadPod


def explain_missing(
    names: Sequence[str], namespace: str, objects: WorkloadObjects, pods: Iterable[WorkloadPod]
) -> str:
    """
    Explain why a workload has no pods.

    Args:
        names: KIND/NAME for each kind that the user may mean.
        namespace: In which it has none.
        objects: Of the cluster, as far as they were read.
        pods: Of all workloads in all namespaces.
    """
    known = [one for one in pods if one.workload]
    others = sorted({one.pod.namespace for one in known if one.workload in names})
    if others:
        return f"has no pods here, but in namespace {others[0]}: add -n {others[0]}"
    inside = [one for one in known if one.pod.namespace == namespace]
    listed = (pod.metadata or UniqueMeta() for pod in objects.pods or ())
    owned = {metadata.name for metadata in listed if _is_owned(metadata, names, namespace)}
    roots = [one.workload for one in inside if one.pod.name in owned]
    if roots:
        return f"is a part of {roots[0]}: name that"
    if _exists(names, namespace, objects):
        return "has no pods: is it scaled to 0?"
    workloads = sorted({one.workload for one in inside})
    if not workloads:
        return "has no pods, nor has any other workload there"
    return f"has no pods: workloads with pods are {join_names(workloads, most=5)}"


def _is_owned(metadata: UniqueMeta, names: Sequence[str], namespace: str) -> bool:
    return metadata.namespace == namespace and any(
        owner.controller and f"{owner.kind}/{owner.name}" in names
        for owner in metadata.owner_references
    )


def _exists(names: Sequence[str], namespace: str, objects: WorkloadObjects) -> bool:
    listed = {
        "Deployment": objects.deployments,
        "ReplicaSet": objects.replica_sets,
        "StatefulSet": objects.stateful_sets,
        "ReplicationController": objects.replication_controllers,
    }
    return any(
        f"{kind}/{one.metadata.name}" in names and one.metadata.namespace == namespace
        for kind, found in listed.items()
        for one in found or ()
    )

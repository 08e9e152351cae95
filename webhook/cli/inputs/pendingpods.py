"""
Pending pods of a workload, as kube-scheduler places them: ``read_pending_pods``.

They keep the constraints, labels and demands that they were created with, whatever the template
has. This module places nothing.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from webhook.cli.inputs import subjects
from webhook.cli.inputs.cluster import ClusterReader
from webhook.cli.inputs.scenarioreader import ScenarioReader
from webhook.cli.inputs.setvolumes import SetVolumes, drop_claimed
from webhook.cluster.scheduling.podobjects import ApiPod
from webhook.explain.newpods import NewPod
from webhook.explain.removal import WorkloadPods
from webhook.policy.kinds import POD


def read_pending_pods(
    subject: subjects.ExplainSubject,
    pods: WorkloadPods,
    volumes: SetVolumes,
    reader: ScenarioReader,
    cluster: ClusterReader,
) -> Mapping[str, NewPod]:
    """
    Read what kube-scheduler places of the pods of a workload that have no node.

    Args:
        volumes: Of a StatefulSet, whose pods have the claims of their ordinals, even if files
            leave these out.

    Returns:
        The name of a pod -> its own constraints, labels and demands.
    """
    waiting = [pod for pod in pods.pods if not pod.spec.node_name]
    if not waiting:
        return {}
    ordinals = {pod.metadata.name or "": pods.find_ordinal(pod) for pod in waiting}
    found: dict[str, NewPod] = {}
    for pod in cluster.decode_objects(POD, ApiPod, subject.namespace) or ():
        name = pod.metadata.name if pod.metadata else ""
        if name in ordinals:
            unclaimed = replace(pod, spec=drop_claimed(pod.spec, subject.value))
            claims = volumes.at(ordinals[name])
            found[name] = reader.read_pending(unclaimed, subject.namespace, claims)
    return found

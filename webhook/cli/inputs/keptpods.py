"""
Pods that stay Pending after a change of their pod template, since their controller keeps them.

``find_kept`` is the entry point. Which controllers keep pods is decided in
``webhook.policy.advice.keptpods``.
"""

from collections.abc import Sequence

from webhook.cli.inputs import subjects
from webhook.cli.inputs.cluster import ClusterReader
from webhook.cli.inputs.scenarioreader import ScenarioReader
from webhook.cluster.scheduling.podobjects import ApiPod
from webhook.explain.scenario import Scenario
from webhook.policy.advice.keptpods import keeps_pods
from webhook.policy.kinds import POD
from webhook.policy.paths import find_value
from webhook.policy.placement.census import ObservedPod

MOST_TRIED_PODS = 20
"""The most pods that are tried; the others of a workload are nearly always like these."""


def find_kept(
    subject: subjects.ExplainSubject,
    situation: Scenario,
    pods: Sequence[ObservedPod],
    reader: ScenarioReader,
    cluster: ClusterReader,
) -> tuple[str, ...]:
    """
    Find pods with other constraints than the template, which no node accepts for now.

    A node accepts the next pod, so that it helps to delete them. Pods of another ReplicaSet are
    left out: it creates them anew with its own template, and a Deployment scales it down.

    Args:
        subject: The controller of the next pod; for a Deployment its ReplicaSet, if there is one.
        situation: That of the next pod.
        pods: The pods of the workload, also those that have ended.

    Returns:
        Their names, in order; empty for a workload whose controller replaces such pods.

    Source: kubernetes pkg/controller/deployment/rolling.go ``cleanupUnhealthyReplicas``.
    """
    pending = [one.metadata.name or "" for one in pods if _is_pending(one, subject)]
    if not pending or not _keeps(subject) or not situation.placement().passing:
        return ()
    written = subjects.decode_template(subject).constraints
    stored = cluster.decode_objects(POD, ApiPod, subject.namespace) or []
    by_name = {pod.metadata.name or "": pod for pod in stored if pod.metadata is not None}
    tried = [name for name in sorted(pending)[:MOST_TRIED_PODS] if name in by_name]
    return tuple(
        name
        for name in tried
        if by_name[name].constraints != written
        and not reader.read_stored(by_name[name], subject.namespace).placement().passing
    )


def _is_pending(pod: ObservedPod, subject: subjects.ExplainSubject) -> bool:
    """Whether a pod has no node, and the subject, or no other object, is its controller."""
    has_other = pod.controller is not None and pod.controller.name != subject.name
    return not pod.spec.node_name and pod.is_active and not has_other


def _keeps(subject: subjects.ExplainSubject) -> bool:
    policy: object = find_value(subject.value, ("spec", "podManagementPolicy"))
    return keeps_pods(subject.kind, is_parallel=policy == "Parallel")

"""
The pods that a Job to explain wants, from its stored status and its pods.

Entry points: ``find_job_demand``, and ``find_settled`` for the indexes that no new pod gets. What
the Job controller does with them is the subject of ``policy.jobdemand``.

Source: kubernetes pkg/controller/job indexed_job_utils.go ``firstPendingIndexes``,
``calculateSucceededIndexes``.
"""

from collections.abc import Iterable

from webhook.cli.inputs.cluster import ClusterReader
from webhook.cli.inputs.manifestcluster import Json
from webhook.cli.inputs.revisions import find_stored
from webhook.cli.inputs.subjects import ExplainSubject
from webhook.policy.advice.podcount import JOBS
from webhook.policy.completionindexes import NO_INDEX, is_indexed, list_settled, read_index
from webhook.policy.jobdemand import JobDemand, JobPods, read_job_demand, replaces_late
from webhook.policy.kinds import JOB, JOB_SET
from webhook.policy.paths import find_value
from webhook.policy.placement.census import ObservedPod
from webhook.policy.templatematch import is_abridged


def find_job_demand(
    subject: ExplainSubject, pods: Iterable[ObservedPod], cluster: ClusterReader
) -> JobDemand | None:
    """
    Find how many pods a Job wants; None for other workloads, and for what creates Jobs as usual.

    Args:
        pods: The pods of the Job, also those that have ended.
    """
    if subject.kind not in (*JOBS, JOB_SET):
        return None
    if subject.kind == JOB and is_abridged(find_value(subject.value, subject.path)):
        return None  # a snapshot has neither its completions nor its status
    return read_job_demand(subject.kind, _find_job(subject, cluster), _count_pods(pods))


def find_settled(
    subject: ExplainSubject, pods: Iterable[ObservedPod], cluster: ClusterReader
) -> frozenset[int] | None:
    """
    Find the indexes of an Indexed Job that need no new pod, whatever its running pods are.

    Args:
        pods: The pods of the Job, also those that have ended.

    Returns:
        None for what is no Indexed Job.
    """
    if subject.kind != JOB or not is_indexed(subject.value.get("spec")):
        return None
    job = _find_job(subject, cluster)
    waits = replaces_late(job)
    ended = (pod for pod in pods if _has_succeeded(pod) or (waits and pod.is_ending))
    return list_settled(job) | list_indexes(ended)


def list_indexes(pods: Iterable[ObservedPod]) -> frozenset[int]:
    """List the indexes of pods of an Indexed Job."""
    found = {read_index(pod.metadata.annotations, pod.metadata.labels) for pod in pods}
    return frozenset(found - {NO_INDEX})


def _find_job(subject: ExplainSubject, cluster: ClusterReader) -> Json:
    """Find the Job as it will be: with the specification of the subject and the stored status."""
    stored = find_stored(subject, cluster) or subject.value
    return {**stored, "spec": subject.value.get("spec")}


def _has_succeeded(pod: ObservedPod) -> bool:
    return pod.status is not None and pod.status.phase == "Succeeded"


def _count_pods(pods: Iterable[ObservedPod]) -> JobPods:
    active = succeeded = terminating = 0
    for pod in pods:
        active += pod.is_active
        succeeded += _has_succeeded(pod)
        terminating += pod.is_ending
    return JobPods(active, succeeded, terminating)

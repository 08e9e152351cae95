"""
The pods that a Job to explain wants, from its stored status and its pods.

Entry points: ``find_job_demand``, ``list_awaited_ends`` for the pods whose end comes before the
next pod, and ``find_settled`` for the indexes that no new pod gets. What the Job controller does
with them is the subject of ``policy.jobdemand``.

Source: kubernetes pkg/controller/job indexed_job_utils.go ``firstPendingIndexes``,
``calculateSucceededIndexes``, ``isIndexFailed``.
"""

from collections.abc import Collection, Iterable, Sequence

from webhook.cli.inputs.cluster import ClusterReader
from webhook.cli.inputs.manifestcluster import Json
from webhook.cli.inputs.revisions import find_stored
from webhook.cli.inputs.subjects import ExplainSubject, name_of
from webhook.policy.advice.podcount import JOBS
from webhook.policy.completionindexes import NO_INDEX, is_indexed, list_settled, read_index
from webhook.policy.jobdemand import JobDemand, JobPods, read_job_demand, replaces_late
from webhook.policy.jobstatus import read_count
from webhook.policy.kinds import JOB, JOB_SET
from webhook.policy.paths import find_value
from webhook.policy.placement.census import ObservedPod
from webhook.policy.templatematch import is_abridged

FAILURE_COUNT = "batch.kubernetes.io/job-index-failure-count"
"""Annotation: failures of the index before this pod. Source: k8s.io/api batch/v1 types.go."""


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
    job = _find_job(subject, cluster)
    return read_job_demand(subject.kind, job, _count_pods(pods, job))


def list_awaited_ends(
    demand: JobDemand | None, pods: Iterable[ObservedPod], *, simulates: bool
) -> frozenset[str]:
    """
    List the pods that are being deleted, and that the next pod of a Job is created after.

    Args:
        demand: Of the Job; None for other workloads.
        pods: The pods of the Job.
        simulates: Whether this is a what-if, which places all pods that the Job wants.
    """
    if demand is None or not (demand.awaited or (simulates and demand.replaces_late)):
        return frozenset()
    return frozenset(pod.metadata.name or "" for pod in pods if pod.is_ending)


def find_settled(
    subject: ExplainSubject,
    pods: Sequence[ObservedPod],
    cluster: ClusterReader,
    awaited: Collection[str] = (),
) -> frozenset[int] | None:
    """
    Find the indexes of an Indexed Job that need no new pod, whatever its running pods are.

    Those of a CronJob are the indexes of its Jobs that have running pods.

    Args:
        pods: The pods of the Job, also those that have ended.
        awaited: Names of the pods whose end is awaited.

    Returns:
        None for what is no Indexed Job, and creates none.
    """
    if subject.kind not in JOBS or not is_indexed(find_value(subject.value, subject.path[:-1])):
        return None
    if subject.kind == JOB:
        return _find_settled_of(_find_job(subject, cluster), pods, awaited)
    ending = {pod.metadata.name for pod in pods if pod.is_ending}
    found = (
        _find_settled_of(job, [pod for pod in pods if _name_job(pod) == name], ending)
        for name, job in _find_running(subject, pods, cluster).items()
    )
    return frozenset[int]().union(*found)


def _find_running(
    subject: ExplainSubject, pods: Iterable[ObservedPod], cluster: ClusterReader
) -> dict[str, Json]:
    """Find the Jobs of a CronJob that have running pods, by name; empty for an unknown Job."""
    names = dict.fromkeys(_name_job(pod) for pod in pods if pod.is_active)
    stored = cluster.list_objects_of(JOB, subject.namespace) if names else []
    known = {name_of(job): job for job in stored}
    return {name: known.get(name, {}) for name in names}


def _name_job(pod: ObservedPod) -> str:
    """Name the Job that controls a pod; empty without a controller."""
    return pod.controller.name if pod.controller else ""


def _find_settled_of(
    job: Json, pods: Sequence[ObservedPod], awaited: Collection[str | None]
) -> frozenset[int]:
    """Find the indexes of a Job that need no new pod; the arguments are as in ``find_settled``."""
    taken = [pod for pod in pods if _has_succeeded(pod)]
    if replaces_late(job):
        taken += [
            pod
            for pod in pods
            if pod.is_ending and (pod.metadata.name not in awaited or _fails_index(pod, job))
        ]
    return list_settled(job) | list_indexes(taken)


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


def _fails_index(pod: ObservedPod, job: Json) -> bool:
    """
    Whether the index of a pod fails for good if the pod does.

    With a podFailurePolicy, the failure of a pod that is deleted may not count.
    """
    limit = read_count(job, "spec", "backoffLimitPerIndex")
    if limit is None or find_value(job, ("spec", "podFailurePolicy")) is not None:
        return False
    written = (pod.metadata.annotations or {}).get(FAILURE_COUNT, "")
    failures = int(written) if written.isascii() and written.isdigit() else 0
    return failures >= limit


def _count_pods(pods: Iterable[ObservedPod], job: Json) -> JobPods:
    active = succeeded = terminating = failing = 0
    for pod in pods:
        active += pod.is_active
        succeeded += _has_succeeded(pod)
        terminating += pod.is_ending
        failing += pod.is_ending and _fails_index(pod, job)
    return JobPods(active, succeeded, terminating, failing)

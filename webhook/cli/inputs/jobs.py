"""
The pods that a Job to explain wants, from its stored status and its pods.

Entry point: ``find_job_demand``. What the Job controller does with them is the subject of
``policy.jobdemand``.
"""

from collections.abc import Iterable

from webhook.cli.inputs.cluster import ClusterReader
from webhook.cli.inputs.revisions import find_stored
from webhook.cli.inputs.subjects import ExplainSubject
from webhook.policy.advice.podcount import JOBS
from webhook.policy.jobdemand import JobDemand, JobPods, read_job_demand
from webhook.policy.kinds import JOB, JOB_SET
from webhook.policy.paths import find_value
from webhook.policy.placement.census import FINISHED, ObservedPod
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
    stored = find_stored(subject, cluster) or subject.value
    return read_job_demand(
        subject.kind, {**stored, "spec": subject.value.get("spec")}, _count_pods(pods)
    )


def _count_pods(pods: Iterable[ObservedPod]) -> JobPods:
    active = succeeded = terminating = 0
    for pod in pods:
        phase = pod.status.phase if pod.status else None
        active += pod.is_active
        succeeded += phase == "Succeeded"
        terminating += phase not in FINISHED and not pod.is_active
    return JobPods(active, succeeded, terminating)

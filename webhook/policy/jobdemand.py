"""
The number of pods that a Job wants at a time, from its progress.

``read_job_demand`` is the entry point. A Job, unlike other workloads, has ever fewer pods to
create, and none after its end.

Source: kubernetes pkg/controller/job job_controller.go ``manageJob``, ``IsJobFinished``;
pkg/apis/batch/v1 defaults.go ``SetDefaults_Job``.
"""

from typing import Any

import msgspec

from webhook.policy.completionindexes import parse_indexes
from webhook.policy.jobstatus import find_conditions, is_suspended, read_count
from webhook.policy.kinds import JOB
from webhook.policy.model import GroupKind
from webhook.policy.paths import find_value

_ENDS = ("Complete", "Failed", "SuccessCriteriaMet", "FailureTarget")
"""Conditions after which the pods that still run are deleted."""


class JobPods(msgspec.Struct, frozen=True):
    """
    The numbers of a Job's known pods.

    Attributes:
        active: Pods that have not ended and are not being deleted, also those without a node.
        succeeded: Pods that have succeeded.
        terminating: Pods that are being deleted.
        failing: Those of them with whose end their index fails for good.
    """

    active: int = 0
    succeeded: int = 0
    terminating: int = 0
    failing: int = 0


class JobDemand(msgspec.Struct, frozen=True):
    """
    The pods that a Job wants.

    Attributes:
        pods: Number of pods at a time, with those that run. If it replaces late, after the end of
            the pods that are being deleted.
        closed: Why it never creates another pod, not even for a lost one; empty if it does.
        suspended: Whether it has no pods until it is resumed.
        replaces_late: Whether it replaces pods that are being deleted only when they have ended.
        awaited: At least so many of these end before it creates the next pod.
    """

    pods: int
    closed: str = ""
    suspended: bool = False
    replaces_late: bool = False
    awaited: int = 0


def read_job_demand(kind: GroupKind, job: Any, pods: JobPods) -> JobDemand | None:
    """
    Read the demand of a Job.

    Args:
        job: The object, as decoded from JSON; it need not be valid.

    Returns:
        None for other kinds. What creates Jobs has a demand only while it is suspended.
    """
    suspended = is_suspended(kind, job)
    if kind != JOB:
        return JobDemand(0, suspended=True) if suspended else None
    end = _find_end(job)
    if end or suspended:
        return JobDemand(0, f"the Job has ended ({end})" if end else "", suspended and not end)
    completions = read_count(job, "spec", "completions")
    parallelism = read_count(job, "spec", "parallelism")
    if parallelism is None:
        parallelism, completions = 1, completions or 1  # as kube-apiserver sets them
    succeeded = max(read_count(job, "status", "succeeded") or 0, pods.succeeded)
    if completions is None and succeeded:
        return JobDemand(pods.active, "a pod of this work queue has succeeded")
    left = None if completions is None else completions - succeeded - _count_failed_indexes(job)
    return _subtract_terminating(parallelism, left, pods, is_late=replaces_late(job))


def _subtract_terminating(
    parallelism: int, left: int | None, pods: JobPods, *, is_late: bool
) -> JobDemand:
    """Find the demand; ``left`` are the completions that are left, None for a work queue."""
    wanted, after = parallelism, parallelism
    if left is not None:
        wanted, after = min(parallelism, left), min(parallelism, left - pods.failing)
    if not is_late:
        return JobDemand(max(wanted, 0))
    excess = pods.active + pods.terminating - max(wanted, 0)
    awaited = min(max(excess + 1, 0), pods.terminating)
    return JobDemand(max(after, 0), replaces_late=True, awaited=awaited)


def _find_end(job: Any) -> str:
    """Find the condition that ends a Job; empty if it has not ended."""
    found = find_conditions(job)
    return next((name for name in _ENDS if name in found), "")


def _count_failed_indexes(job: Any) -> int:
    """Count the indexes that have failed for good."""
    return sum(map(len, parse_indexes(find_value(job, ("status", "failedIndexes")))))


def replaces_late(job: Any) -> bool:
    """
    Whether pods that are being deleted are replaced only when they have ended.

    Source: pkg/controller/job job_controller.go ``onlyReplaceFailedPods``.
    """
    policy = find_value(job, ("spec", "podReplacementPolicy"))
    return policy == "Failed" or find_value(job, ("spec", "podFailurePolicy")) is not None

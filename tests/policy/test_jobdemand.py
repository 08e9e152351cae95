"""The Job controller wants as many pods as are left to complete, and none after the end."""

from typing import Any

import pytest

from webhook.policy.jobdemand import JobDemand, JobPods, read_job_demand
from webhook.policy.kinds import CRON_JOB, JOB
from webhook.policy.model import GroupKind

QUEUE = "a pod of this work queue has succeeded"


def condition(name: str, status: str = "True") -> dict[str, Any]:
    return {"conditions": [{"type": "Other", "status": "True"}, {"type": name, "status": status}]}


LATE = {"podReplacementPolicy": "Failed"}

# spec, status, pods; demand
JOBS: dict[str, tuple[dict[str, Any], dict[str, Any], JobPods, JobDemand]] = {
    "nothing written": ({}, {}, JobPods(), JobDemand(1)),
    "nothing written, and a success": ({}, {"succeeded": 1}, JobPods(), JobDemand(0)),
    "as many as are parallel": (
        {"parallelism": 2, "completions": 5}, {"succeeded": 1}, JobPods(2), JobDemand(2)
    ),
    "as many as are left": (
        {"parallelism": 2, "completions": 2}, {"succeeded": 1}, JobPods(1), JobDemand(1)
    ),
    "pods that the status does not count yet": (
        {"parallelism": 2, "completions": 2}, {}, JobPods(1, 1), JobDemand(1)
    ),
    "more successes than completions": (
        {"parallelism": 2, "completions": 2}, {"succeeded": 3}, JobPods(), JobDemand(0)
    ),
    "a work queue": ({"parallelism": 3}, {}, JobPods(1), JobDemand(3)),
    "a work queue with a success": (
        {"parallelism": 3}, {"succeeded": 1}, JobPods(2), JobDemand(2, QUEUE)
    ),
    "failed indexes": (
        {"parallelism": 9, "completions": 9, "completionMode": "Indexed"},
        {"succeeded": 2, "failedIndexes": "0,3-5"},
        JobPods(),
        JobDemand(3),
    ),
    "failed indexes that cannot be read": (
        {"completions": 2, "parallelism": 2}, {"failedIndexes": "x,5-"}, JobPods(), JobDemand(2)
    ),
    "terminating pods that are replaced at once": (
        {"parallelism": 3}, {}, JobPods(1, 0, 1), JobDemand(3)
    ),
    "terminating pods that are replaced at their end": (
        {"parallelism": 3, "podReplacementPolicy": "Failed"}, {}, JobPods(1, 0, 2),
        JobDemand(3, replaces_late=True, awaited=1),
    ),
    "terminating pods with a policy for failures": (
        {"parallelism": 3, "podFailurePolicy": {}}, {}, JobPods(2, 0, 2),
        JobDemand(3, replaces_late=True, awaited=2),
    ),
    "a place beside the terminating pods": (
        {"parallelism": 3, **LATE}, {}, JobPods(1, 0, 1), JobDemand(3, replaces_late=True)
    ),
    "more pods than it wants": (
        {"parallelism": 1, **LATE}, {}, JobPods(2, 0, 2),
        JobDemand(1, replaces_late=True, awaited=2),
    ),
    "a terminating pod with which its index fails for good": (
        {"parallelism": 3, "completions": 5, **LATE}, {"succeeded": 1, "failedIndexes": "2"},
        JobPods(1, 0, 1, failing=1), JobDemand(2, replaces_late=True),
    ),
    "complete": (
        {}, condition("Complete"), JobPods(), JobDemand(0, "the Job has ended (Complete)")
    ),
    "failed": (
        {"parallelism": 3}, condition("Failed"), JobPods(1),
        JobDemand(0, "the Job has ended (Failed)"),
    ),
    "about to fail": (
        {}, condition("FailureTarget"), JobPods(), JobDemand(0, "the Job has ended (FailureTarget)")
    ),
    "no end": ({}, condition("Complete", "False"), JobPods(), JobDemand(1)),
    "suspended": ({"suspend": True, "parallelism": 3}, {}, JobPods(), JobDemand(0, suspended=True)),
    "ended and suspended": (
        {"suspend": True}, condition("Failed"), JobPods(),
        JobDemand(0, "the Job has ended (Failed)"),
    ),
    "values of wrong types": (
        {"parallelism": "2", "completions": True, "suspend": 1},
        {"succeeded": "1", "conditions": 7},
        JobPods(),
        JobDemand(1),
    ),
    "a condition whose type is a list": (
        {}, {"conditions": [{"type": [], "status": "True"}]}, JobPods(), JobDemand(1)
    ),
}  # fmt: skip


@pytest.mark.parametrize(("spec", "status", "pods", "demand"), JOBS.values(), ids=JOBS.keys())
def test_a_job_wants_pods(
    spec: dict[str, Any], status: dict[str, Any], pods: JobPods, demand: JobDemand
) -> None:
    assert read_job_demand(JOB, {"spec": spec, "status": status}, pods) == demand


@pytest.mark.parametrize("kind", [CRON_JOB, GroupKind("jobset.x-k8s.io", "JobSet")], ids=str)
def test_what_creates_jobs_may_be_suspended(kind: GroupKind) -> None:
    assert read_job_demand(kind, {"spec": {"suspend": True}}, JobPods()) == JobDemand(
        0, suspended=True
    )
    assert read_job_demand(kind, {"spec": {"suspend": False}}, JobPods()) is None


def test_other_kinds_are_no_jobs() -> None:
    suspended = {"spec": {"suspend": True}}

    assert read_job_demand(GroupKind("apps", "Deployment"), suspended, JobPods()) is None

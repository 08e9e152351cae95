"""
Whether a Job still runs pods, and how many, from its fields and the status of its controller.

Entry points: ``is_finished``, ``is_suspended`` and ``count_remaining``; ``find_conditions`` and
``read_count`` read what these decide by. The objects are JSON, and need not be
valid. Admission does not use them: kube-apiserver drops the status of an object that is created.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from webhook.policy.kinds import CRON_JOB, JOB, JOB_SET
from webhook.policy.model import GroupKind
from webhook.policy.paths import find_value, is_array

_FINISHED: Mapping[GroupKind, tuple[str, ...]] = MappingProxyType(
    {
        JOB: ("Complete", "Failed"),
        JOB_SET: ("Completed", "Failed"),
        GroupKind("apps.kruise.io", "BroadcastJob"): ("Complete", "Failed"),
    }
)
"""Kind -> types of the conditions that end it."""

_SUSPENDABLE = frozenset({JOB, CRON_JOB, JOB_SET})

JOB_KINDS = _FINISHED.keys() | _SUSPENDABLE
"""Kinds that end, or that can be suspended."""


def is_finished(kind: GroupKind, workload: Any) -> bool:
    """
    Whether a Job has completed or failed, so that it runs no pod any more.

    Source: pkg/controller/job/util utils.go ``FinishedCondition``; sigs.k8s.io/jobset
    api/jobset/v1alpha2 ``JobSetConditionType``; kruise apps/v1alpha1 ``JobConditionType``.
    """
    return kind in _FINISHED and not find_conditions(workload).isdisjoint(_FINISHED[kind])


def find_conditions(workload: Any) -> frozenset[str]:
    """Find the types of the conditions that are true."""
    conditions = find_value(workload, ("status", "conditions"))
    types = (
        find_value(condition, ("type",))
        for condition in (conditions if is_array(conditions) else ())
        if find_value(condition, ("status",)) == "True"
    )
    return frozenset(found for found in types if isinstance(found, str))


def is_suspended(kind: GroupKind, workload: Any) -> bool:
    """Whether a Job runs no pod, or a CronJob starts no Job, until it is resumed."""
    return kind in _SUSPENDABLE and find_value(workload, ("spec", "suspend")) is True


def count_remaining(kind: GroupKind, workload: Any) -> int | None:
    """
    Count the pods that must still succeed.

    Returns:
        0 if it has finished; None if the object does not say.

    Source: pkg/controller/job job_controller.go ``manageJob``.
    """
    if is_finished(kind, workload):
        return 0
    completions = read_count(workload, "spec", "completions")
    if kind != JOB or completions is None:
        return None
    return max(completions - (read_count(workload, "status", "succeeded") or 0), 0)


def read_count(workload: Any, part: str, name: str) -> int | None:
    """Read a number of pods from the ``spec`` or the ``status``; None without a valid one."""
    value = find_value(workload, (part, name))
    return value if isinstance(value, int) and not isinstance(value, bool) else None

"""
Whether a Job still runs pods, and how many, from its fields and the status of its controller.

``count_remaining`` and ``is_suspended`` are the entry points. The objects are JSON, and need not be
valid. Admission does not use them: kube-apiserver drops the status of an object that is created.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeGuard

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
    if kind not in _FINISHED:
        return False
    conditions = find_value(workload, ("status", "conditions"))
    return any(
        find_value(condition, ("type",)) in _FINISHED[kind]
        and find_value(condition, ("status",)) == "True"
        for condition in (conditions if is_array(conditions) else ())
    )


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
    completions = find_value(workload, ("spec", "completions"))
    if kind != JOB or not _is_count(completions):
        return None
    succeeded = find_value(workload, ("status", "succeeded"))
    return max(completions - succeeded, 0) if _is_count(succeeded) else completions


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)

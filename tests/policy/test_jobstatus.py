"""The fields and the status of a Job show how many pods it still runs."""

from typing import Any

import pytest

from webhook.policy.jobstatus import count_remaining, is_finished, is_suspended
from webhook.policy.kinds import CRON_JOB, DEPLOYMENT, JOB, JOB_SET
from webhook.policy.model import GroupKind

BROADCAST_JOB = GroupKind("apps.kruise.io", "BroadcastJob")


def condition(kind: str, status: Any = "True") -> dict[str, Any]:
    return {
        "conditions": [{"type": "Suspended", "status": "False"}, {"type": kind, "status": status}]
    }


# kind, status, whether it has finished
STATUSES: dict[str, tuple[GroupKind, Any, bool]] = {
    "a Job that is complete": (JOB, condition("Complete"), True),
    "a Job that has failed": (JOB, condition("Failed"), True),
    "a Job that is about to complete": (JOB, condition("SuccessCriteriaMet"), False),
    "a Job that is about to fail": (JOB, condition("FailureTarget"), False),
    "a Job that is not complete": (JOB, condition("Complete", "False"), False),
    "a Job that runs": (JOB, {"active": 4}, False),
    "a Job without a status": (JOB, None, False),
    "a JobSet that is complete": (JOB_SET, condition("Completed"), True),
    "a JobSet that has failed": (JOB_SET, condition("Failed"), True),
    "a JobSet with the condition of a Job": (JOB_SET, condition("Complete"), False),
    "a BroadcastJob that is complete": (BROADCAST_JOB, condition("Complete"), True),
    "a Deployment": (DEPLOYMENT, condition("Complete"), False),
    "conditions of a wrong type": (JOB, {"conditions": {"type": "Complete"}}, False),
    "a condition of a wrong type": (JOB, {"conditions": ["Complete", None]}, False),
    "a type of a wrong type": (JOB, {"conditions": [{"type": [], "status": "True"}]}, False),
    "a status of a wrong type": (JOB, condition("Complete", status=True), False),
}


@pytest.mark.parametrize(("kind", "status", "finished"), STATUSES.values(), ids=STATUSES)
def test_the_conditions_show_that_a_job_has_finished(
    kind: GroupKind, status: Any, finished: bool
) -> None:
    assert is_finished(kind, {"spec": {}, "status": status}) == finished


# kind, the field, whether it is suspended
SUSPENSIONS: dict[str, tuple[GroupKind, dict[str, Any], bool]] = {
    "a Job": (JOB, {"suspend": True}, True),
    "a CronJob": (CRON_JOB, {"suspend": True}, True),
    "a JobSet": (JOB_SET, {"suspend": True}, True),
    "a Job that is resumed": (JOB, {"suspend": False}, False),
    "a Job without the field": (JOB, {}, False),
    "a wrong type": (JOB, {"suspend": "true"}, False),
    "a kind without such a field": (DEPLOYMENT, {"suspend": True}, False),
}


@pytest.mark.parametrize(("kind", "spec", "suspended"), SUSPENSIONS.values(), ids=SUSPENSIONS)
def test_a_job_is_suspended_by_its_field(
    kind: GroupKind, spec: dict[str, Any], suspended: bool
) -> None:
    assert is_suspended(kind, {"spec": spec}) == suspended


# kind, spec, status, the pods that still end
REMAINING: dict[str, tuple[GroupKind, dict[str, Any], Any, int | None]] = {
    "some are left": (JOB, {"completions": 5}, {"succeeded": 3}, 2),
    "none is left": (JOB, {"completions": 5}, {"succeeded": 5}, 0),
    "more than required": (JOB, {"completions": 5}, {"succeeded": 6}, 0),
    "none has succeeded": (JOB, {"completions": 5}, None, 5),
    "it has finished": (JOB, {"completions": 5}, condition("Failed"), 0),
    "without completions": (JOB, {"parallelism": 5}, {"succeeded": 3}, None),
    "a JobSet that has finished": (JOB_SET, {}, condition("Completed"), 0),
    "a CronJob": (CRON_JOB, {"completions": 5}, {"succeeded": 3}, None),
    "wrong types": (JOB, {"completions": True}, {"succeeded": "3"}, None),
    "a succeeded of a wrong type": (JOB, {"completions": 5}, {"succeeded": "3"}, 5),
}


@pytest.mark.parametrize(("kind", "spec", "status", "remaining"), REMAINING.values(), ids=REMAINING)
def test_a_job_creates_only_the_pods_that_are_left(
    kind: GroupKind, spec: dict[str, Any], status: Any, remaining: int | None
) -> None:
    assert count_remaining(kind, {"spec": spec, "status": status}) == remaining

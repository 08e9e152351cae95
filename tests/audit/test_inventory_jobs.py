"""Jobs, JobSets and CronJobs in the inventory of an audit."""

import pytest

from tests.audit import customs
from tests.audit.test_inventory import audited, count_members
from webhook.policy.model import LabelSelector

JOB = """\
---
apiVersion: batch/v1
kind: Job
metadata: {name: load, namespace: shop}
spec:
  parallelism: 4
  completions: 6
  template: {metadata: {labels: {app: load}}, spec: {containers: []}}
"""

CRON_JOB = """\
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: load, namespace: shop}
spec:
  jobTemplate: {spec: {template: {metadata: {labels: {app: load}}, spec: {containers: []}}}}
"""

SUSPENDED = "spec:\n  suspend: true\n"
ENDED = 'status: {succeeded: 6, conditions: [{type: %s, status: "True"}]}\n'

# object -> its replicas, whether rules apply, and the pods that others count
JOBS: dict[str, tuple[str, int, bool, int]] = {
    "a Job": (JOB, 4, True, 4),
    "a Job that is complete": (JOB + ENDED % "Complete", 0, False, 0),
    "a Job that has failed": (JOB + ENDED % "Failed", 0, False, 0),
    "a Job with two pods left": (JOB + "status: {succeeded: 4}\n", 2, True, 2),
    "a suspended Job": (JOB.replace("spec:\n", SUSPENDED, 1), 4, True, 0),
    "a CronJob": (CRON_JOB, 1, True, 1),
    "a suspended CronJob": (CRON_JOB.replace("spec:\n", SUSPENDED, 1), 1, True, 0),
}


@pytest.mark.parametrize(("text", "replicas", "is_judged", "counted"), JOBS.values(), ids=JOBS)
def test_a_job_counts_as_the_pods_that_it_runs(
    text: str, replicas: int, is_judged: bool, counted: int
) -> None:
    found = audited(text)

    (item,) = found.audited
    assert (item.subject.replicas, item.is_judged) == (replicas, is_judged)
    assert sum(count_members(found).values()) == counted


@pytest.mark.parametrize("key", ["job-name", "batch.kubernetes.io/job-name"])
def test_the_pods_of_a_job_count_by_its_name(key: str) -> None:
    found = audited(JOB)
    (item,) = found.audited
    counts = [
        found.state.members.count("shop", LabelSelector({key: name}))
        for name in (item.subject.metadata.name, "other")
    ]

    assert counts == [{str(item.subject): 4}, {}]


JOB_SETS = {
    "complete": (customs.JOB_SET, 'status: {conditions: [{type: Completed, status: "True"}]}', 0),
    "suspended": (customs.JOB_SET.replace("spec:\n", SUSPENDED, 1), "", 0),
    "running": (customs.JOB_SET, "", 7),
}


@pytest.mark.parametrize(("text", "status", "counted"), JOB_SETS.values(), ids=JOB_SETS)
def test_a_job_set_counts_likewise(text: str, status: str, counted: int) -> None:
    (job_set, job) = text.split("---\napiVersion: batch/v1")

    found = audited(f"{job_set}{status}\n---\napiVersion: batch/v1{job}")

    assert sum(count_members(found).values()) == counted

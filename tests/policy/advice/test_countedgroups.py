"""How many pods count each other: all, those of one Job or group, or each pod only itself."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.build import pod, spread
from tests.policy.advice.subjects import job_set, running, subject, worker_set, workload
from webhook.policy.advice.countedgroups import (
    belongs_to_group,
    count_together,
    counts_apart,
    counts_only_itself,
)
from webhook.policy.advice.scaling import ReplicaRange
from webhook.policy.advice.subject import Subject
from webhook.policy.kinds import JOB, STATEFUL_SET
from webhook.policy.podlabels import COMPLETION_INDEX, JOB_NAME

POD_NAME = "statefulset.kubernetes.io/pod-name"
POD_INDEX = "apps.kubernetes.io/pod-index"
GROUP = "leaderworkerset.sigs.k8s.io/group-index"
WORKER = "leaderworkerset.sigs.k8s.io/worker-index"
JOB_SET_NAME = "jobset.sigs.k8s.io/jobset-name"
JOB_KEY = "jobset.sigs.k8s.io/job-key"


def keyed(*keys: str, **changes: Any) -> Subject:
    """Read a StatefulSet of six replicas with these matchLabelKeys."""
    changes = {"kind": STATEFUL_SET, **changes}
    return subject(workload(spread(matchLabelKeys=[*keys]), **changes))


SCALED = ReplicaRange(1, 9, "HorizontalPodAutoscaler/lws")

# subject, pods that count each other, whether each counts only itself
TOGETHER: dict[str, tuple[Subject, int | None, bool]] = {
    "no key": (keyed(), 6, False),
    "a revision": (keyed("controller-revision-hash"), 6, False),
    "the name of each pod": (keyed("app", POD_NAME), 1, True),
    "the index of each pod": (keyed(POD_INDEX), 1, True),
    "a name that the template writes": (
        keyed(POD_NAME, labels={"app": "web", POD_NAME: "web-0"}), 6, False
    ),
    "an unknown number of replicas": (subject(pod(spread())), None, False),
    "the index of a Job that numbers no pods": (
        keyed(COMPLETION_INDEX, kind=JOB, parallelism=4), 4, False
    ),
    "the index of an Indexed Job": (
        keyed(COMPLETION_INDEX, kind=JOB, parallelism=4, completionMode="Indexed"), 1, True
    ),
    "the index of a Job whose pods show it": (
        replace(
            keyed(COMPLETION_INDEX, kind=JOB, parallelism=4),
            running=(running("a1", labels={"app": "web", COMPLETION_INDEX: "0"}),),
        ), 1, True
    ),
    "the name of one Job": (keyed(JOB_NAME, kind=JOB, parallelism=4), 4, False),
    "the Jobs of a JobSet together": (job_set(JOB_SET_NAME), 6, False),
    "each Job of a JobSet": (job_set(JOB_NAME), 2, False),
    "each Job of a JobSet, by a hash": (job_set(JOB_SET_NAME, JOB_KEY), 2, False),
    "the only Job of a JobSet": (job_set(JOB_NAME, jobs=1), 2, False),
    "a JobSet without Jobs": (job_set(JOB_NAME, jobs=0), 0, False),
    "one Job of a JobSet, by its selector": (
        job_set(labelSelector={"matchLabels": {JOB_NAME: "js-w-0"}}), 2, False
    ),
    "any Job of a JobSet, by its selector": (
        job_set(labelSelector={"matchExpressions": [{"key": JOB_NAME, "operator": "Exists"}]}),
        6,
        False,
    ),
    "the pods with one index of every Job": (job_set(COMPLETION_INDEX), 3, False),
    "the pods with one index of one Job": (job_set(COMPLETION_INDEX, JOB_NAME), 1, False),
    "the groups of a LeaderWorkerSet together": (worker_set(), 6, False),
    "each group of a LeaderWorkerSet": (worker_set(GROUP), 2, False),
    "the pods with one index of every group": (worker_set(WORKER), 3, False),
    "labels that differ in a group in another way": (worker_set(POD_INDEX), 1, False),
    "the revisions of the workers of a group": (worker_set("controller-revision-hash"), 1, False),
    "each group of many": (replace(worker_set(GROUP), scaling=SCALED), 2, False),
}  # fmt: skip


@pytest.mark.parametrize(("judged", "together", "alone"), TOGETHER.values(), ids=TOGETHER.keys())
def test_pods_that_count_each_other(judged: Subject, together: int | None, alone: bool) -> None:
    (constraint,) = judged.constraints

    assert count_together(constraint, judged) == together
    assert counts_apart(constraint, judged) is (together != judged.replicas)
    assert counts_only_itself(constraint, judged) is alone


def test_a_label_of_another_kind_divides_no_pods() -> None:
    judged = keyed(JOB_NAME)

    assert count_together(judged.constraints[0], judged) == 6


@pytest.mark.parametrize(
    ("judged", "belongs"),
    [
        (job_set(JOB_NAME), True),
        (job_set(JOB_NAME, jobs=1), False),
        (worker_set(GROUP), True),
        (worker_set(), False),
        (keyed(POD_INDEX), False),
    ],
)
def test_a_pod_may_belong_to_a_group_that_is_counted(judged: Subject, belongs: bool) -> None:
    assert belongs_to_group(judged.constraints[0], judged) is belongs

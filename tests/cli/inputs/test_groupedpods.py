"""The new pods of a JobSet or a LeaderWorkerSet differ where constraints name their groups."""

from itertools import islice
from typing import Any

import msgspec
import pytest

from tests.cli.inputs.targetcases import WEB, build
from webhook.cli.inputs.groupedpods import (
    Grouping,
    follow_members,
    list_members,
    read_grouping,
)
from webhook.cli.inputs.subjects import ExplainSubject
from webhook.explain.newpods import ALIKE, NewPod
from webhook.explain.removal import RemovalOrder, WorkloadPods
from webhook.policy.kinds import DEPLOYMENT, JOB_SET, LEADER_WORKER_SET
from webhook.policy.model import GroupKind
from webhook.policy.paths import FieldPath
from webhook.policy.placement.census import ObservedPod

JOB_NAME = "batch.kubernetes.io/job-name"
OF_JOB = ("spec", "replicatedJobs", 0, "template", "spec", "template")
WORKERS = ("spec", "leaderWorkerTemplate", "workerTemplate")
LEADERS = ("spec", "leaderWorkerTemplate", "leaderTemplate")
POD: dict[str, Any] = {"spec": {"containers": []}}


def job_set(replicas: int = 3, pod: Any = POD, **spec: Any) -> ExplainSubject:
    job = {"name": "w", "replicas": replicas, "template": {"spec": {**spec, "template": pod}}}
    value = {"metadata": {"name": "js"}, "spec": {"replicatedJobs": [job]}}
    return ExplainSubject(JOB_SET, OF_JOB, "shop", value, exists=False)


def worker_set(path: FieldPath = WORKERS, **templates: Any) -> ExplainSubject:
    group = {"size": 4, "workerTemplate": POD, **templates}
    value = {"metadata": {"name": "lws"}, "spec": {"replicas": 2, "leaderWorkerTemplate": group}}
    return ExplainSubject(LEADER_WORKER_SET, path, "shop", value, exists=False)


GROUPINGS = {
    "Jobs": (job_set(parallelism=2), Grouping(2)),
    "Jobs with fewer completions": (job_set(parallelism=4, completions=3), Grouping(3)),
    "no Job": (job_set(0), Grouping(1)),
    "leaders and workers with one template": (worker_set(), Grouping(4)),
    "workers beside leaders": (worker_set(leaderTemplate=POD), Grouping(3, 1)),
    "leaders": (worker_set(LEADERS, leaderTemplate=POD), Grouping(1)),
    "another kind": (ExplainSubject(DEPLOYMENT, (), "shop", {}, exists=False), None),
}


@pytest.mark.parametrize(("subject", "grouping"), GROUPINGS.values(), ids=GROUPINGS.keys())
def test_the_pods_of_a_template_are_divided_into_groups(
    subject: ExplainSubject, grouping: Grouping | None
) -> None:
    assert read_grouping(subject) == grouping


def test_pods_are_numbered_one_group_after_another() -> None:
    workers = Grouping(3, 1)

    assert [workers.locate(number) for number in range(4)] == [(0, 1), (0, 2), (0, 3), (1, 1)]
    assert all(workers.find_number(*workers.locate(number)) == number for number in range(9))


LABELS = {
    JOB_SET: ("jobset.sigs.k8s.io/job-index", "batch.kubernetes.io/job-completion-index"),
    LEADER_WORKER_SET: (
        "leaderworkerset.sigs.k8s.io/group-index",
        "leaderworkerset.sigs.k8s.io/worker-index",
    ),
}


@pytest.mark.parametrize(("kind", "keys"), LABELS.items(), ids=lambda value: str(value)[:16])
def test_labels_show_the_numbers_of_pods(kind: GroupKind, keys: tuple[str, str]) -> None:
    written = [("0", "1"), ("2", "0"), ("x", "0"), ("", "")]
    labelled = [{"labels": dict(zip(keys, values, strict=True))} for values in written]
    pods = [msgspec.convert({"metadata": metadata}, ObservedPod) for metadata in (*labelled, {})]

    assert list_members(kind, Grouping(2), pods) == {1, 4}


def foresee(number: int) -> NewPod:
    situation = build("deploy/web", WEB).situation
    labels = {JOB_NAME: f"js-w-{number // 2}"}
    return NewPod(msgspec.structs.replace(situation.pod, labels=labels), situation.spreads)


PODS = WorkloadPods(name="js", pods=(), related=(), order=RemovalOrder.UNKNOWN)


def test_new_pods_take_the_places_that_are_free() -> None:
    keyed = {"spec": {"topologySpreadConstraints": [{"matchLabelKeys": [JOB_NAME]}]}}

    pods = follow_members(job_set(pod=keyed), PODS, frozenset({0, 2}), foresee)

    upcoming = pods.succession.follow(build("deploy/web", WEB).situation)
    named = [(at, one.pod.labels[JOB_NAME]) for at, one in islice(upcoming, 2)]
    assert named == [(1, "js-w-0"), (3, "js-w-1")]
    assert pods.succession.is_parallel


def test_new_pods_are_alike_if_nothing_names_their_groups() -> None:
    assert follow_members(job_set(), PODS, frozenset(), foresee).succession is ALIKE

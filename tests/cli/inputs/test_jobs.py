"""The demand of a Job follows from its stored status and its pods."""

from typing import Any

import msgspec
import pytest

from tests.cli.inputs.manifestclusters import cluster_of
from webhook.cli.inputs.jobs import (
    FAILURE_COUNT,
    find_job_demand,
    find_settled,
    list_awaited_ends,
    list_indexes,
)
from webhook.cli.inputs.subjects import ExplainSubject
from webhook.policy.jobdemand import JobDemand
from webhook.policy.kinds import CRON_JOB, DEPLOYMENT, JOB
from webhook.policy.model import GroupKind
from webhook.policy.placement.census import ObservedPod
from webhook.policy.podlabels import COMPLETION_INDEX

SPEC = {"parallelism": 3, "completions": 4, "template": {"spec": {"containers": [{"name": "c"}]}}}


def job(**members: Any) -> Any:
    version = {"apiVersion": "batch/v1", "kind": "Job"}
    return {**version, "metadata": {"name": "j", "namespace": "shop"}, "spec": SPEC, **members}


def pod(phase: str, **metadata: Any) -> ObservedPod:
    value = {"metadata": metadata, "spec": {}, "status": {"phase": phase}}
    return msgspec.convert(value, ObservedPod)


def find(kind: GroupKind, manifest: Any, *facts: Any, pods: tuple[ObservedPod, ...] = ()) -> Any:
    subject = ExplainSubject(kind, ("spec", "template"), "shop", manifest, exists=False)
    return find_job_demand(subject, pods, cluster_of(*facts, manifest))


def test_a_manifest_has_the_status_of_the_stored_job() -> None:
    stored = job(status={"succeeded": 2})

    assert find(JOB, job(), stored) == JobDemand(2)
    assert find(JOB, job(status={"succeeded": 3})) == JobDemand(1)


PODS = {
    "succeeded": ((pod("Succeeded"), pod("Running"), pod("Succeeded")), JobDemand(2)),
    "failed": ((pod("Failed"),), JobDemand(3)),
    "terminating": ((pod("Running", deletionTimestamp="x"),), JobDemand(3)),
}


@pytest.mark.parametrize(("pods", "demand"), PODS.values(), ids=PODS.keys())
def test_pods_show_what_the_status_does_not(
    pods: tuple[ObservedPod, ...], demand: JobDemand
) -> None:
    assert find(JOB, job(), pods=pods) == demand


def test_terminating_pods_are_those_that_have_not_ended() -> None:
    late = job(spec={**SPEC, "podReplacementPolicy": "Failed"})
    pods = tuple(pod(phase, deletionTimestamp="x") for phase in ("Running", "Failed"))

    assert find(JOB, late, pods=pods * 3) == JobDemand(3, replaces_late=True, awaited=1)


def test_the_demand_of_a_job_of_a_snapshot_is_not_known() -> None:
    assert find(JOB, job(spec={**SPEC, "template": {"spec": {}}})) is None


def test_other_workloads_have_no_demand_of_their_own() -> None:
    assert find(DEPLOYMENT, job()) is None
    assert find(CRON_JOB, job()) is None


def indexed(number: int, phase: str, **metadata: Any) -> ObservedPod:
    return pod(phase, annotations={COMPLETION_INDEX: str(number)}, **metadata)


ENDING = indexed(5, "Running", name="j-5", deletionTimestamp="x")
ENDED = (indexed(1, "Succeeded"), indexed(2, "Failed"), indexed(3, "Running"), pod("Succeeded"))


LATE = {"podReplacementPolicy": "Failed"}


def owned(owner: str, number: int, phase: str, **metadata: Any) -> ObservedPod:
    owners = [{"kind": "Job", "name": owner, "controller": True}]
    return indexed(number, phase, ownerReferences=owners, **metadata)


# stored Jobs, pods, the indexes
CRON_JOBS: dict[str, tuple[tuple[Any, ...], tuple[ObservedPod, ...], set[int]]] = {
    "no pod": ((), (), set()),
    "a Job that runs": ((), (owned("e-1", 0, "Succeeded"), owned("e-1", 1, "Running")), {0}),
    "a Job that has ended": (
        (), (owned("e-1", 0, "Succeeded"), owned("e-2", 1, "Running")), set()
    ),
    "a stored Job": (
        (job(status={"completedIndexes": "2-3"}),), (owned("j", 1, "Running"),), {2, 3}
    ),
    "a pod that is being deleted": (
        (job(spec={**SPEC, **LATE}),),
        (owned("j", 0, "Running", name="j-0", deletionTimestamp="x"), owned("j", 1, "Running")),
        set(),
    ),
    "a pod without a controller": ((), (indexed(1, "Running"), indexed(0, "Succeeded")), {0}),
}  # fmt: skip


@pytest.mark.parametrize("case", CRON_JOBS.values(), ids=CRON_JOBS.keys())
def test_indexes_of_a_cron_job_are_settled_by_its_running_jobs(
    case: tuple[tuple[Any, ...], tuple[ObservedPod, ...], set[int]],
) -> None:
    stored, pods, settled = case
    spec = {"jobTemplate": {"spec": {**SPEC, "completionMode": "Indexed"}}}
    manifest = {"metadata": {"name": "e"}, "spec": spec}
    path = ("spec", "jobTemplate", "spec", "template")
    subject = ExplainSubject(CRON_JOB, path, "shop", manifest, exists=True)

    found = find_settled(subject, pods, cluster_of(*stored))

    assert found is not None
    assert set(found) == settled


# fields of the Job, pods whose end is awaited, the indexes
SETTLED: list[tuple[dict[str, str], frozenset[str], frozenset[int]]] = [
    ({}, frozenset(), frozenset({0, 1})),
    (LATE, frozenset(), frozenset({0, 1, 5})),
    (LATE, frozenset({"j-5"}), frozenset({0, 1})),
]


@pytest.mark.parametrize(("late", "awaited", "settled"), SETTLED)
def test_indexes_that_need_no_new_pod(
    late: dict[str, str], awaited: frozenset[str], settled: frozenset[int]
) -> None:
    manifest = job(spec={**SPEC, "completionMode": "Indexed", **late})
    stored = job(status={"completedIndexes": "0"})
    subject = ExplainSubject(JOB, ("spec", "template"), "shop", manifest, exists=False)
    cluster = cluster_of(stored, manifest)

    assert find_settled(subject, (*ENDED, ENDING), cluster, awaited) == settled
    assert list_indexes(ENDED) == {1, 2, 3}


# backoffLimitPerIndex, further fields, failures before, whether the index fails with the pod
FAILING: list[tuple[Any, dict[str, Any], str, bool]] = [
    (0, LATE, "", True),
    (1, LATE, "", False),
    (1, LATE, "1", True),
    (1, LATE, "x", False),
    (None, LATE, "7", False),
    (True, LATE, "7", False),
    (0, {"podFailurePolicy": {"rules": []}}, "", False),
]


@pytest.mark.parametrize(("limit", "fields", "failures", "fails"), FAILING)
def test_an_index_fails_for_good_with_its_pod(
    limit: Any, fields: dict[str, Any], failures: str, fails: bool
) -> None:
    indexes = {"completionMode": "Indexed", "completions": 3, "backoffLimitPerIndex": limit}
    manifest = job(spec={**SPEC, **indexes, **fields})
    annotations = {COMPLETION_INDEX: "5", FAILURE_COUNT: failures}
    ending = pod("Running", name="j-5", deletionTimestamp="x", annotations=annotations)
    subject = ExplainSubject(JOB, ("spec", "template"), "shop", manifest, exists=False)

    demand = find(JOB, manifest, pods=(ending,))

    assert demand.pods == (2 if fails else 3)
    assert (5 in (find_settled(subject, (ending,), cluster_of(), {"j-5"}) or ())) == fails


# demand, whether it is a what-if, whether the pods that are being deleted are awaited
AWAITED: list[tuple[JobDemand | None, bool, bool]] = [
    (None, True, False),
    (JobDemand(3), True, False),
    (JobDemand(3, replaces_late=True), False, False),
    (JobDemand(3, replaces_late=True), True, True),
    (JobDemand(3, replaces_late=True, awaited=1), False, True),
]


@pytest.mark.parametrize(("demand", "simulates", "awaits"), AWAITED)
def test_the_ends_that_a_job_awaits(
    demand: JobDemand | None, simulates: bool, awaits: bool
) -> None:
    pods = (*ENDED, ENDING)

    found = list_awaited_ends(demand, pods, simulates=simulates)

    assert found == ({"j-5"} if awaits else set())


def test_other_jobs_have_no_indexes() -> None:
    subject = ExplainSubject(JOB, ("spec", "template"), "shop", job(), exists=False)

    assert find_settled(subject, (), cluster_of()) is None

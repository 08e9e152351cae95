"""Selectors on labels that controllers add to pods, judged before there are pods."""

import pytest
from msgspec.structs import replace

from tests.build import Json, gates, requirement, selector, spread
from tests.policy.advice.subjects import (
    ROLLOUT,
    deployed,
    job_set,
    subject,
    worker_set,
    workload,
)
from webhook.policy.advice.counting import (
    known_selectors,
    unmet_requirements,
)
from webhook.policy.advice.subject import Subject
from webhook.policy.kinds import CRON_JOB, DEPLOYMENT, JOB, JOB_SET, STATEFUL_SET
from webhook.policy.model import GroupKind, ObjectMeta

HASH = "pod-template-hash"

NAME, POD_INDEX = "job-name", "apps.kubernetes.io/pod-index"
NAMED = {"name": "web"}
GENERATED = {"generateName": "web-"}
INDEX = "batch.kubernetes.io/job-completion-index"
# kind, metadata, a part of the selector; whether pods certainly violate it
ADDED_VALUES: dict[str, tuple[GroupKind, Json, Json, bool]] = {
    "the name of a Job": (JOB, NAMED, {NAME: "web"}, False),
    "the name of another Job": (JOB, NAMED, {NAME: "other"}, True),
    "a name that is generated": (JOB, GENERATED, {NAME: "other"}, False),
    "a Job without a name": (JOB, {}, {NAME: "other"}, False),
    "a UID, which is generated": (JOB, GENERATED, {"controller-uid": "u1"}, True),
    "the name of a CronJob": (CRON_JOB, NAMED, {NAME: "web"}, True),
    "the name of one Job of a CronJob": (CRON_JOB, NAMED, {NAME: "web-29000000"}, True),
    "a CronJob without a name": (CRON_JOB, GENERATED, {NAME: "web"}, False),
    "the name of another StatefulSet": (
        STATEFUL_SET, NAMED, {"statefulset.kubernetes.io/pod-name": "other-0"}, True
    ),
    "the name of one pod": (
        STATEFUL_SET, NAMED, {"statefulset.kubernetes.io/pod-name": "web-0"}, True
    ),
    "the index of one pod": (STATEFUL_SET, NAMED, {POD_INDEX: "7"}, True),
    "the index of one pod of a JobSet": (JOB_SET, NAMED, {INDEX: "0"}, False),
}  # fmt: skip


def labelled(kind: GroupKind, metadata: Json, replicas: int = 3) -> Subject:
    written = JOB if kind in (CRON_JOB, JOB_SET) else kind
    found = replace(subject(workload(kind=written, replicas=replicas)), kind=kind)
    name, generated = metadata.get("name", ""), metadata.get("generateName", "")
    return replace(found, metadata=ObjectMeta(name=name, generate_name=generated))


@pytest.mark.parametrize(
    ("kind", "metadata", "pairs", "unmet"), ADDED_VALUES.values(), ids=ADDED_VALUES.keys()
)
def test_values_of_added_labels_that_pods_cannot_have(
    kind: GroupKind, metadata: Json, pairs: dict[str, str], unmet: bool
) -> None:
    judged = labelled(kind, metadata)

    assert bool(list(unmet_requirements(selector(**pairs), judged))) is unmet


@pytest.mark.parametrize(
    ("kind", "key", "operator", "values", "unmet"),
    [
        (JOB, NAME, "In", ["other", "web"], False),
        (JOB, NAME, "In", ["other", "more"], True),
        (JOB, NAME, "In", [], False),
        (JOB, NAME, "NotIn", ["web"], True),
        (JOB, NAME, "NotIn", ["other"], False),
        (JOB, NAME, "Exists", [], False),
        (JOB, NAME, "DoesNotExist", [], True),
        (JOB, INDEX, "DoesNotExist", [], False),
        (DEPLOYMENT, HASH, "DoesNotExist", [], True),
        (DEPLOYMENT, NAME, "DoesNotExist", [], False),
        (STATEFUL_SET, POD_INDEX, "DoesNotExist", [], True),
        (STATEFUL_SET, POD_INDEX, "In", ["0", "1"], False),
        (STATEFUL_SET, POD_INDEX, "In", ["0"], True),
        (STATEFUL_SET, POD_INDEX, "In", ["x", "y"], True),
        (STATEFUL_SET, POD_INDEX, "NotIn", ["0"], False),
        (DEPLOYMENT, HASH, "In", ["6d4b75cb6d"], True),
    ],
)
def test_expressions_about_added_labels(
    kind: GroupKind, key: str, operator: str, values: list[str], unmet: bool
) -> None:
    requested = selector(requirement(key, operator, *values))

    assert bool(list(unmet_requirements(requested, labelled(kind, NAMED)))) is unmet


def test_pods_of_two_controllers_may_lack_the_label_of_one() -> None:
    requested = selector(requirement(HASH, "DoesNotExist"))
    shared = replace(labelled(DEPLOYMENT, NAMED), creator=ROLLOUT, is_shared=True)

    assert not list(unmet_requirements(requested, shared))


GROUP_INDEX = "leaderworkerset.sigs.k8s.io/group-index"
JOB_INDEX = "jobset.sigs.k8s.io/job-index"

# subject, a part of the selector; whether not all of its pods meet it
OF_GROUPS: dict[str, tuple[Subject, Json, bool]] = {
    "one of several Jobs": (job_set(), {JOB_INDEX: "0"}, True),
    "the only Job": (job_set(jobs=1), {JOB_INDEX: "0"}, False),
    "the name of one of several Jobs": (job_set(), {NAME: "js-w-1"}, True),
    "the name of the only Job": (job_set(jobs=1), {NAME: "js-w-0"}, False),
    "the name of a Job that there is not": (job_set(jobs=1), {NAME: "js-w-1"}, True),
    "the index of a Job that there is not": (job_set(jobs=1), {JOB_INDEX: "1"}, True),
    "one of several groups": (worker_set(), {GROUP_INDEX: "0"}, True),
    "the only group": (replace(worker_set(), groups=1), {GROUP_INDEX: "0"}, False),
    "the name of a group": (replace(worker_set(), groups=1), {GROUP_INDEX: "lws-0"}, True),
}


@pytest.mark.parametrize(("found", "pairs", "unmet"), OF_GROUPS.values(), ids=OF_GROUPS)
def test_labels_that_differ_by_job_or_group(found: Subject, pairs: Json, unmet: bool) -> None:
    assert bool(list(unmet_requirements(selector(**pairs), found))) is unmet


def test_a_selector_that_requires_that_an_added_label_is_absent_counts_none_of_its_pods() -> None:
    absent = {"matchExpressions": [{"key": HASH, "operator": "DoesNotExist"}]}

    assert known_selectors(deployed(spread(labelSelector=absent)), gates()) == [None]


WORKER = "leaderworkerset.sigs.k8s.io/worker-index"


@pytest.mark.parametrize(
    ("operator", "values", "unmet"),
    [
        ("In", ["0"], True),
        ("In", ["0", "4", "x"], True),
        ("In", ["0", "3"], False),
        ("In", ["3"], False),
        ("NotIn", ["1"], False),
    ],
)
def test_expressions_about_the_number_of_a_worker(
    operator: str, values: list[str], unmet: bool
) -> None:
    requested = selector(requirement(WORKER, operator, *values))
    workers = replace(worker_set(), members=range(1, 4))

    assert bool(list(unmet_requirements(requested, workers))) is unmet
    assert not list(unmet_requirements(requested, replace(workers, members=range(2**31))))


def test_a_single_pod_may_be_selected_by_its_index() -> None:
    alone = labelled(STATEFUL_SET, NAMED, replicas=1)

    assert list(unmet_requirements(selector(**{POD_INDEX: "0"}), alone)) == []

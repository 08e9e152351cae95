from typing import Any

import msgspec
import pytest

from tests.build import Json, pod
from webhook.policy.advice.decode import decode_subject
from webhook.policy.advice.podcount import TemplateHolder, count_groups, count_pods, name_part
from webhook.policy.advice.subject import Subject
from webhook.policy.kinds import (
    DEPLOYMENT,
    JOB,
    JOB_SET,
    LEADER_WORKER_SET,
    POD,
    SHIPPED_TEMPLATES,
)
from webhook.policy.model import GroupKind
from webhook.policy.places import find_places


def job_set(replicas: Any = None, name: Any = "workers", **job: Any) -> Json:
    entry = {"name": name, "replicas": replicas, "template": {"spec": {"template": pod(), **job}}}
    return {"spec": {"replicatedJobs": [entry]}}


def group(replicas: Any, **template: Any) -> Json:
    inner = {"workerTemplate": pod(), **template}
    return {"spec": {"replicas": replicas, "leaderWorkerTemplate": inner}}


def find_subject(kind: GroupKind, obj: Json) -> Subject:
    (path,) = find_places(obj, SHIPPED_TEMPLATES[kind])
    found = decode_subject(msgspec.json.encode(obj), kind, path)
    assert found is not None
    return found


COUNTS: dict[str, tuple[GroupKind, Json, list[tuple[str, int]]]] = {
    "a Job of a JobSet has one pod": (JOB_SET, job_set(), [("workers", 1)]),
    "replicas times parallelism": (JOB_SET, job_set(3, parallelism=4), [("workers", 12)]),
    "no more than completions": (
        JOB_SET,
        job_set(3, parallelism=4, completions=2),
        [("workers", 6)],
    ),
    "an entry without a name": (JOB_SET, job_set(2, name=None), [("0", 2)]),
    "a number of another type": (JOB_SET, job_set("3", parallelism=True), [("workers", 1)]),
    "workers with the template of the leader": (
        LEADER_WORKER_SET,
        group(3, size=4),
        [("workerTemplate", 12)],
    ),
    "workers beside a leader": (
        LEADER_WORKER_SET,
        group(3, size=4, leaderTemplate=pod()),
        [("leaderTemplate", 3), ("workerTemplate", 9)],
    ),
    "a leader without workers": (
        LEADER_WORKER_SET,
        group(None, leaderTemplate=pod()),
        [("leaderTemplate", 1), ("workerTemplate", 0)],
    ),
}


@pytest.mark.parametrize(("kind", "obj", "counts"), COUNTS.values(), ids=COUNTS.keys())
def test_the_pods_of_each_template(
    kind: GroupKind, obj: Json, counts: list[tuple[str, int]]
) -> None:
    paths = find_places(obj, SHIPPED_TEMPLATES[kind])
    found = [decode_subject(msgspec.json.encode(obj), kind, path) for path in paths]

    assert [(item.part, item.replicas) for item in found if item] == counts


@pytest.mark.parametrize(
    ("template", "members"),
    [
        ({"size": 4}, [range(4)]),
        ({"size": 4, "leaderTemplate": pod()}, [range(1), range(1, 4)]),
        ({"size": 1, "leaderTemplate": pod()}, [range(1), range(0)]),
        ({}, [range(2**31)]),
        ({"size": "4", "leaderTemplate": pod()}, [range(1), range(1, 2**31)]),
    ],
)
def test_the_numbers_of_pods_in_a_group(template: Json, members: list[range]) -> None:
    obj = group(2, **template)
    paths = find_places(obj, SHIPPED_TEMPLATES[LEADER_WORKER_SET])
    found = [decode_subject(msgspec.json.encode(obj), LEADER_WORKER_SET, path) for path in paths]

    assert [item.members for item in found if item] == members
    assert find_subject(JOB_SET, job_set()).members is None


def test_the_groups_of_pods() -> None:
    jobs = find_subject(JOB_SET, job_set(3, parallelism=4))
    workers = find_subject(LEADER_WORKER_SET, group(2, size=4))

    assert (jobs.groups, workers.groups) == (3, 2)
    assert find_subject(JOB_SET, job_set()).groups == 1


def test_objects_with_one_template() -> None:
    path = ("spec", "template")

    assert count_pods(DEPLOYMENT, path, [TemplateHolder(replicas=3)]) == 3
    assert count_pods(DEPLOYMENT, path, [TemplateHolder()]) is None
    assert count_pods(JOB, path, [TemplateHolder(parallelism=2)]) == 2
    assert count_pods(POD, (), []) is None
    assert count_groups(DEPLOYMENT, path, [TemplateHolder(replicas=3)]) is None
    assert name_part(DEPLOYMENT, path, [TemplateHolder(name="x")]) == ""

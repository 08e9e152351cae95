from typing import Any

import pytest

from webhook.audit.parts import share_pods
from webhook.policy.advice.runningpods import RunningPods
from webhook.policy.advice.subject import Subject, SubjectPod
from webhook.policy.kinds import JOB_SET, LEADER_WORKER_SET
from webhook.policy.model import GroupKind, ObjectMeta, PodTemplate
from webhook.policy.podlabels import REPLICATED_JOB, WORKER_INDEX

RAY = GroupKind("ray.io", "RayCluster")


def pod(**labels: str) -> Any:
    return RunningPods(PodTemplate(ObjectMeta(labels=labels)), {"node-a": 1})


def part(kind: GroupKind, name: str, **labels: str) -> Subject:
    template = SubjectPod(ObjectMeta(labels=labels))
    return Subject(kind=kind, pod=template, path=("spec", name), part=name)


def job(name: str) -> RunningPods:
    return RunningPods(PodTemplate(ObjectMeta(labels={REPLICATED_JOB: name})), {})


def worker(index: str) -> RunningPods:
    return RunningPods(PodTemplate(ObjectMeta(labels={WORKER_INDEX: index})), {})


SHARES: dict[str, tuple[list[Subject], list[RunningPods], list[list[int]]]] = {
    "jobs by their name": (
        [part(JOB_SET, "driver"), part(JOB_SET, "workers")],
        [job("workers"), job("driver"), job("workers")],
        [[1], [0, 2]],
    ),
    "the first worker is the leader": (
        [part(LEADER_WORKER_SET, "leaderTemplate"), part(LEADER_WORKER_SET, "workerTemplate")],
        [worker("0"), worker("1"), worker("10")],
        [[0], [1, 2]],
    ),
    "all pods have the only template": (
        [part(LEADER_WORKER_SET, "workerTemplate")],
        [worker("0"), worker("1")],
        [[0, 1]],
    ),
    "otherwise the template with the most labels that fit": (
        [part(RAY, "head", app="ray"), part(RAY, "small", app="ray", group="small")],
        [pod(app="ray", group="small"), pod(app="ray", group="other"), pod()],
        [[1, 2], [0]],
    ),
}


@pytest.mark.parametrize(("parts", "groups", "shares"), SHARES.values(), ids=SHARES.keys())
def test_the_pods_of_several_templates(
    parts: list[Subject], groups: list[RunningPods], shares: list[list[int]]
) -> None:
    found = share_pods(parts, groups)

    assert found == [tuple(groups[index] for index in share) for share in shares]

import pytest
from msgspec.structs import replace

from tests.build import pod, spread
from tests.policy.advice.subjects import deployed, subject, workload
from webhook.policy.advice.capacity import name_waiting
from webhook.policy.advice.scaling import ReplicaRange
from webhook.policy.advice.subject import Subject
from webhook.policy.kinds import JOB, STATEFUL_SET

HASHED = spread(matchLabelKeys=["pod-template-hash"])
INDEXED = spread(matchLabelKeys=["batch.kubernetes.io/job-completion-index"])
SCALED = replace(deployed(spread()), scaling=ReplicaRange(2, 9, "ScaledObject/web"))
ROLLOUT = "and the additional pods of a rollout"

# subject of six replicas if not otherwise, places, pods without one
WAITING: dict[str, tuple[Subject, int, str]] = {
    "fewer places than replicas": (deployed(spread()), 5, "the others"),
    "as many places": (deployed(spread()), 6, ROLLOUT),
    "as many places for each revision": (deployed(HASHED), 6, ""),
    "as many places where no revision is beside another": (
        deployed(spread(), strategy={"type": "Recreate"}), 6, ""
    ),
    "as many places where a pod ends before another is created": (
        deployed(spread(), strategy={"rollingUpdate": {"maxSurge": 0}}), 6, ""
    ),
    "fewer places where a pod ends before another is created": (
        deployed(spread(), strategy={"rollingUpdate": {"maxSurge": 0}}), 5, "the others"
    ),
    "as many places for a StatefulSet": (subject(workload(spread(), kind=STATEFUL_SET)), 6, ""),
    "more places": (deployed(spread()), 7, ""),
    "as many places as the most replicas of an autoscaler": (SCALED, 9, ROLLOUT),
    "fewer places than the most replicas of an autoscaler": (SCALED, 8, "the others"),
    "pods that count only themselves": (
        subject(workload(INDEXED, kind=JOB, parallelism=6, completionMode="Indexed")), 1, ""
    ),
    "an unknown number of replicas": (subject(pod(spread())), 99, "any more"),
}  # fmt: skip


@pytest.mark.parametrize(("judged", "places", "waiting"), WAITING.values(), ids=WAITING.keys())
def test_pods_without_a_place(judged: Subject, places: int, waiting: str) -> None:
    (constraint,) = judged.constraints

    assert name_waiting(judged, constraint, places) == waiting

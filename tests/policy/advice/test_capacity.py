import pytest
from msgspec.structs import replace

from tests.build import Json, pod, spread
from tests.policy.advice.subjects import deployed, job_set, subject, worker_set, workload
from webhook.policy.advice.capacity import (
    is_never_spread,
    must_add_pods,
    name_limit,
    name_waiting,
)
from webhook.policy.advice.scaling import ReplicaRange
from webhook.policy.advice.subject import Subject
from webhook.policy.kinds import DAEMON_SET, JOB, STATEFUL_SET
from webhook.policy.model import ObjectMeta, OwnerReference
from webhook.policy.rolloutlimits import DOUBLING, RolloutLimits

OWNER = OwnerReference("example.io/v1", "Fleet", "web", controller=True)
HASHED = spread(matchLabelKeys=["pod-template-hash"])
INDEXED = spread(matchLabelKeys=["batch.kubernetes.io/job-completion-index"])
SCALED = replace(deployed(spread()), scaling=ReplicaRange(2, 9, "ScaledObject/web"))
DOUBLED = replace(deployed(spread()), limits=DOUBLING)
ROLLOUT = "and the additional pods of a rollout"


def rolling(**limits: object) -> Json:
    return {"type": "RollingUpdate", "rollingUpdate": limits}


# subject of six replicas if not otherwise, places, pods without one
WAITING: dict[str, tuple[Subject, int, str]] = {
    "fewer places than replicas": (deployed(spread()), 5, "the others"),
    "as many places": (deployed(spread(), strategy=rolling(maxUnavailable=0)), 6, ROLLOUT),
    "as many places, and a pod that may be missing": (deployed(spread()), 6, ""),
    "as many places for fewer replicas than may be missing in part": (
        deployed(spread(), replicas=3), 3, ROLLOUT
    ),
    "as many places for each revision": (
        deployed(HASHED, strategy=rolling(maxUnavailable=0)), 6, ""
    ),
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
    "as many places as the most replicas of an autoscaler": (
        replace(SCALED, limits=RolloutLimits(1, 0)), 9, ROLLOUT
    ),
    "as many places as an autoscaler's most replicas, and some may be missing": (SCALED, 9, ""),
    "as many places, and unknown limits": (replace(deployed(spread()), limits=None), 6, ROLLOUT),
    "as many places, and all new pods start beside the old ones": (DOUBLED, 6, ROLLOUT),
    "places for some new pods beside the old ones": (
        DOUBLED, 11, "and additional pods of a rollout"
    ),
    "places for all new pods beside the old ones": (DOUBLED, 12, ""),
    "as many places for each revision, and all new pods start beside the old ones": (
        replace(deployed(HASHED), limits=DOUBLING), 6, ""
    ),
    "fewer places than the most replicas of an autoscaler": (SCALED, 8, "the others"),
    "pods that count only themselves": (
        subject(workload(INDEXED, kind=JOB, parallelism=6, completionMode="Indexed")), 1, ""
    ),
    "an unknown number of replicas": (deployed(spread(), replicas=None), 99, "any more"),
    "a Pod": (subject(pod(spread())), 1, ""),
    "a Pod of a controller": (
        subject(pod(spread()), metadata=ObjectMeta(owner_references=(OWNER,))), 99, "any more"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("judged", "places", "waiting"), WAITING.values(), ids=WAITING.keys())
def test_pods_without_a_place(judged: Subject, places: int, waiting: str) -> None:
    (constraint,) = judged.constraints

    assert name_waiting(judged, constraint, places) == waiting


LIMITS: dict[str, tuple[Subject, str]] = {
    "a Deployment": (deployed(spread()), "2 pods"),
    "each Job of a JobSet": (job_set("batch.kubernetes.io/job-name"), "2 pods of each Job"),
    "all Jobs of a JobSet": (job_set(), "2 pods"),
    "each group of a LeaderWorkerSet": (
        worker_set("leaderworkerset.sigs.k8s.io/group-key"), "2 pods of each group"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("judged", "limit"), LIMITS.values(), ids=LIMITS.keys())
def test_the_pods_that_a_domain_takes(judged: Subject, limit: str) -> None:
    assert name_limit(judged, judged.constraints[0], 2) == limit


# subject, whether a rollout must add pods, and whether there are never two pods
ADDING: dict[str, tuple[Subject, bool, bool]] = {
    "three replicas by default": (deployed(spread(), replicas=3), True, False),
    "four replicas by default": (deployed(spread(), replicas=4), False, False),
    "one replica": (deployed(spread(), replicas=1), True, False),
    "one replica that may be missing": (
        deployed(spread(), replicas=1, strategy=rolling(maxUnavailable=1)), False, True
    ),
    "one replica that is recreated": (
        deployed(spread(), replicas=1, strategy={"type": "Recreate"}), False, True
    ),
    "no replica": (deployed(spread(), replicas=0), False, True),
    "replicas of an autoscaler": (replace(SCALED, replicas=3), False, False),
    "a DaemonSet": (subject(workload(spread(), kind=DAEMON_SET, replicas=None)), False, True),
    "one pod of a StatefulSet": (
        subject(workload(spread(), kind=STATEFUL_SET, replicas=1)), False, True
    ),
}  # fmt: skip


@pytest.mark.parametrize(("judged", "adds", "alone"), ADDING.values(), ids=ADDING.keys())
def test_pods_that_a_rollout_must_add(judged: Subject, adds: bool, alone: bool) -> None:
    assert (must_add_pods(judged), is_never_spread(judged)) == (adds, alone)

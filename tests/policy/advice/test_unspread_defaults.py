"""Workloads that only the defaults of kube-scheduler spread."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.build import Json, default, pod, policy, profile
from tests.policy.advice.subjects import (
    ROLLOUT,
    THREE,
    admission,
    audit,
    check_rule,
    deployed,
    node,
    running,
    subject,
    workload,
    zones,
)
from tests.policy.advice.test_unspread import NONE, SIX
from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.scaling import ReplicaRange
from webhook.policy.advice.subject import Subject
from webhook.policy.defaulting.profiles import DEFAULT_SCHEDULER, SYSTEM_CONSTRAINTS
from webhook.policy.kinds import STATEFUL_SET
from webhook.policy.model import DO_NOT_SCHEDULE, ZONE, Constraint, GroupKind

STOCK = policy()
JOB = GroupKind("batch", "Job")


def scaled(least: int, most: int, replicas: int | None = None) -> Subject:
    """Make a Deployment that an autoscaler scales."""
    return replace(
        deployed(replicas=replicas), scaling=ReplicaRange(least, most, "ScaledObject/web")
    )


def job(labels: Json | None = None) -> Subject:
    """Make a Job of two pods, which no controller that kube-scheduler knows controls."""
    return subject(workload(kind=JOB, replicas=None, parallelism=2, labels=labels))


LISTED = {DEFAULT_SCHEDULER: (Constraint(2, ZONE, DO_NOT_SCHEDULE),)}
OTHER = {"schedulerName": "volcano"}
HOST_ONLY = [node("a1"), node("a2")]

# subject, policy, a part of the problem; empty if the defaults are enough
DEFAULTED: dict[str, tuple[Subject, AdviceContext, str]] = {
    "two replicas": (
        deployed(replicas=2), admission(),
        ("only kube-scheduler's System defaults spread its 2 replicas: ScheduleAnyway over "
        "kubernetes.io/hostname with maxSkew 3 and ScheduleAnyway over topology.kubernetes.io/zone "
        "with maxSkew 5, which prefer emptier domains and keep no pod from any; a skew of 2, all "
        "on one node, is within all of them"),
    ),
    "as many as the smallest maxSkew": (deployed(replicas=3), admission(), "its 3 replicas: "),
    "more": (deployed(replicas=4), admission(), ""),
    "a StatefulSet": (
        subject(workload(kind=STATEFUL_SET, replicas=2)), admission(), "System defaults"
    ),
    "a Rollout, whose pods belong to a ReplicaSet": (
        subject(workload(kind=ROLLOUT, replicas=2), ("spec", "template")), admission(), "System"
    ),
    "a Job, which has no default": (
        job(), admission(), "since kube-scheduler's are only for pods of a Service, ReplicaSet, "
    ),
    "a Job with a Service": (job(), admission(services={"app": "web"}), "System defaults spread"),
    "another scheduler": (
        deployed(replicas=6, template_spec=OTHER), admission(),
        'since those of scheduler "volcano" are unknown',
    ),
    "another scheduler that is configured": (
        deployed(template_spec=OTHER),
        admission(config=policy(scheduler_defaults={"volcano": SYSTEM_CONSTRAINTS})), "",
    ),
    "defaults of a file": (
        deployed(replicas=2), admission(config=policy(scheduler_defaults=LISTED)),
        ('only the defaults of scheduler "default-scheduler" spread its 2 replicas: DoNotSchedule '
        "over topology.kubernetes.io/zone with maxSkew 2; a skew of 2"),
    ),
    "defaults of a file that suffice": (
        deployed(replicas=3), admission(config=policy(scheduler_defaults=LISTED)), ""
    ),
    "an empty list of defaults": (
        deployed(replicas=6), admission(config=NONE), 'since scheduler "default-scheduler" has none'
    ),
    "nodes without the key of the only default": (
        deployed(), admission(HOST_ONLY, config=policy(scheduler_defaults=LISTED)),
        "since no node has a key of kube-scheduler's",
    ),
    "nodes without zones": (
        deployed(replicas=2), admission(HOST_ONLY), "over kubernetes.io/hostname with maxSkew 3, "
    ),
    "a profile that allows all in one zone": (
        deployed(replicas=2),
        admission(config=policy(profile(constraints=(default(max_skew=2),)))),
        "only the defaults of profile cluster spread its 2 replicas",
    ),
    "a profile over a label of no node": (
        deployed(), admission(config=policy(profile(constraints=(default(topology_key="rack"),)))),
        "no default constraint applies, since no node has a key of the defaults of profile cluster",
    ),
    "a profile over one label of no node": (
        deployed(),
        admission(
            config=policy(profile(constraints=(default(topology_key="rack"), default())))
        ),
        "",
    ),
    "a profile that keeps all pods Pending, of TSC103": (
        deployed(),
        admission(
            config=policy(
                profile(
                    constraints=(
                        default(topology_key="rack", when_unsatisfiable="DoNotSchedule"),
                    )
                )
            )
        ),
        "",
    ),
    "an autoscaler that leaves two": (
        scaled(2, 9), admission(),
        "only kube-scheduler's System defaults spread its replicas (2 to 9 by ScaledObject/web)",
    ),
    "an autoscaler that leaves four": (scaled(4, 9), admission(), ""),
    "an autoscaler that leaves one": (scaled(1, 9), admission(), ""),
    "an autoscaler that leaves one of three": (scaled(0, 3), admission(), "System defaults"),
    "an autoscaler that has at most one": (scaled(0, 1, replicas=6), admission(), ""),
    "no default, and an autoscaler": (
        scaled(1, 9), admission(config=NONE), "nothing spreads its replicas (1 to 9 by Scaled"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("judged", "context", "problem"), DEFAULTED.values(), ids=DEFAULTED.keys())
def test_defaults_that_are_not_enough(
    judged: Subject, context: AdviceContext, problem: str
) -> None:
    violations = check_rule("TSC110", judged, context)

    assert len(violations) == (1 if problem else 0)
    assert all(problem in violation.problem for violation in violations)


CROWDED: dict[str, tuple[list[str], str]] = {
    "one node": (["a1"] * 6, "all its 6 pods run on node a1"),
    "one zone": (["a1", "a2"], "all its 2 pods run in zone zone-a"),
    "two zones": (["a1", "a2", "b1"], ""),
    "one pod": (["a1"], ""),
    "pods without a node": (["", ""], ""),
    "a node that is gone": (["gone", "gone"], ""),
}


@pytest.mark.parametrize(("nodes", "crowd"), CROWDED.values(), ids=CROWDED.keys())
def test_pods_that_all_run_in_one_domain_in_spite_of_defaults(nodes: list[str], crowd: str) -> None:
    pods = [running(*nodes)]

    violations = check_rule("TSC110", replace(SIX, running=tuple(pods)), audit(THREE, pods))

    assert [violation.problem.rpartition("; ")[2] for violation in violations] == (
        [crowd] if crowd else []
    )


def test_pods_with_one_place_to_go_to_are_not_crowded() -> None:
    pods = [running("a1", "a1")]

    assert check_rule("TSC110", replace(SIX, running=tuple(pods)), audit(zones("a1"), pods)) == []


SYSTEM_SPREAD = (
    "(ScheduleAnyway over kubernetes.io/hostname with maxSkew 3 and ScheduleAnyway over "
    "topology.kubernetes.io/zone with maxSkew 5, which prefer emptier domains and keep no pod from "
    "any)"
)


def grouped(groups: int, size: int, part: str = "workerTemplate", **members: Any) -> Subject:
    """Read a LeaderWorkerSet without constraints."""
    metadata = {"name": "lws", "annotations": members.pop("annotations", {})}
    template = {"size": size, "workerTemplate": pod(), **members}
    obj: Json = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": metadata,
        "spec": {"replicas": groups, "leaderWorkerTemplate": template},
    }
    return subject(obj, ("spec", "leaderWorkerTemplate", part))


UNSPREAD_GROUPS = {
    "leaders and workers": (grouped(10, 2), "20 replicas", 2),
    "workers": (grouped(10, 3, leaderTemplate=pod()), "20 replicas", 3),
}


@pytest.mark.parametrize(
    ("lws", "number", "together"), UNSPREAD_GROUPS.values(), ids=UNSPREAD_GROUPS
)
def test_the_system_defaults_spread_no_groups_of_workers(
    lws: Subject, number: str, together: int
) -> None:
    (found,) = check_rule("TSC110", lws, admission(config=STOCK))

    assert found.problem == (
        f"nothing spreads the groups of its {number}: for a worker, kube-scheduler's System "
        f"defaults count only the pods of its group {SYSTEM_SPREAD}; {together} pods, all on one "
        "node, are within all of them"
    )


SPREAD_GROUPS = {
    "large groups": grouped(10, 4),
    "workers of large groups": grouped(10, 4, leaderTemplate=pod()),
    "leaders": grouped(10, 2, "leaderTemplate", leaderTemplate=pod()),
    "leaders alone": grouped(10, 1),
    "one large group": grouped(1, 8),
    "groups that are kept apart": grouped(
        10, 2, annotations={"leaderworkerset.sigs.k8s.io/exclusive-topology": ZONE}
    ),
    "large groups without labels": grouped(10, 4, workerTemplate=pod(labels={})),
}


@pytest.mark.parametrize("lws", SPREAD_GROUPS.values(), ids=SPREAD_GROUPS)
def test_the_system_defaults_spread_large_groups(lws: Subject) -> None:
    assert not check_rule("TSC110", lws, admission(config=STOCK))


def test_a_small_number_of_leaders_is_spread_by_no_default() -> None:
    (found,) = check_rule("TSC110", grouped(3, 1), admission(config=STOCK))

    assert found.problem.startswith("only kube-scheduler's System defaults spread its 3 replicas: ")

"""Constraints whose skew never binds: TSC112."""

import pytest
from msgspec.structs import replace

from tests.build import Json, pod, spread
from tests.policy.advice.subjects import (
    admission,
    audit,
    check_rule,
    deployed,
    subject,
    suggestions,
    workload,
    zones,
)
from tests.policy.advice.test_replicas import JOB, RANGE
from webhook.policy.advice.subject import Subject
from webhook.policy.kinds import DAEMON_SET
from webhook.policy.model import HOSTNAME, ZONE

BINDING: dict[str, tuple[Subject, bool]] = {
    "as many as the replicas": (deployed(spread(maxSkew=6)), True),
    "more than the replicas": (deployed(spread(maxSkew=7)), True),
    "fewer than the replicas": (deployed(spread(maxSkew=5)), False),
    "a soft constraint, which still ranks": (
        deployed(spread(maxSkew=6, whenUnsatisfiable="ScheduleAnyway")),
        False,
    ),
    "one replica": (deployed(spread(), replicas=1), False),
    "replicas that are left to an autoscaler": (deployed(spread(), replicas=None), False),
    "a selector that counts each revision": (
        deployed(spread(maxSkew=6, matchLabelKeys=["pod-template-hash"])),
        True,
    ),
    "a selector that counts others only": (
        deployed(spread(maxSkew=6, labelSelector={"matchLabels": {"app": "shop"}})),
        False,
    ),
    "a selector that counts no pod": (deployed(spread(maxSkew=6, labelSelector={})), False),
    "pods that are written for one node": (
        deployed(spread(maxSkew=6), template_spec={"nodeName": "a1"}),
        False,
    ),
    "a Job of one pod": (subject(workload(spread(), kind=JOB, replicas=None)), False),
    "a Pod": (subject(pod(spread())), False),
    "a DaemonSet": (subject(workload(spread(), kind=DAEMON_SET)), False),
}


@pytest.mark.parametrize(("judged", "fires"), BINDING.values(), ids=BINDING.keys())
def test_a_skew_that_never_binds(judged: Subject, fires: bool) -> None:
    suggested = ["maxSkew: 1"] if fires else []

    assert [
        violation.instead for violation in check_rule("TSC112", judged, admission())
    ] == suggested
    assert [violation.instead for violation in check_rule("TSC112", judged, audit())] == suggested


@pytest.mark.parametrize(
    ("most", "strategy", "keys", "kept"),
    [
        (3, {}, [], "only additional pods of a rollout from a domain"),
        (4, {}, [], "a pod from no domain"),
        (
            4,
            {"rollingUpdate": {"maxSurge": 2}},
            [],
            "only additional pods of a rollout from a domain",
        ),
        (3, {"rollingUpdate": {"maxSurge": 0}}, [], "a pod from no domain"),
        (3, {"type": "Recreate"}, [], "a pod from no domain"),
        (3, {}, ["pod-template-hash"], "a pod from no domain"),
    ],
)
def test_additional_pods_of_a_rollout_are_kept_from_a_domain(
    most: int, strategy: Json, keys: list[str], kept: str
) -> None:
    judged = deployed(spread(maxSkew=most, matchLabelKeys=keys), replicas=3, strategy=strategy)

    (violation,) = check_rule("TSC112", judged, audit())

    assert violation.problem == (
        f"maxSkew {most} allows all 3 replicas in one domain: the constraint keeps {kept}"
    )


def test_with_unknown_limits_a_rollout_may_double_the_pods() -> None:
    judged = replace(deployed(spread(maxSkew=5), replicas=3), limits=None)
    more = replace(deployed(spread(maxSkew=6), replicas=3), limits=None)

    (kept,), (free,) = (check_rule("TSC112", one, audit()) for one in (judged, more))

    assert kept.problem.endswith("keeps only additional pods of a rollout from a domain")
    assert free.problem.endswith("keeps a pod from no domain")


SCALED: dict[str, tuple[int, list[str]]] = {
    "as many as the most replicas": (
        9,
        ["maxSkew 9 allows all replicas (2 to 9 by ScaledObject/web) in one domain"],
    ),
    "fewer than the most replicas": (8, []),
}


@pytest.mark.parametrize(("max_skew", "problems"), SCALED.values(), ids=SCALED.keys())
@pytest.mark.parametrize("replicas", [None, 1, 3])
def test_the_most_replicas_of_an_autoscaler_count(
    max_skew: int, problems: list[str], replicas: int | None
) -> None:
    judged = replace(deployed(spread(maxSkew=max_skew), replicas=replicas), scaling=RANGE)

    violations = check_rule("TSC112", judged, audit())

    assert [violation.problem.partition(":")[0] for violation in violations] == problems


def test_a_skew_may_bind_where_others_are_counted() -> None:
    members = {"Deployment/cache": {"app": "web"}}

    assert check_rule("TSC112", deployed(spread(maxSkew=6)), audit(members=members)) == []


def test_pods_that_follow_each_other_to_a_small_zone_need_a_larger_skew() -> None:
    term = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "web"}}}
    among = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    judged = deployed(
        spread(topologyKey=HOSTNAME, maxSkew=4),
        replicas=4,
        template_spec={"affinity": among},
        strategy={"type": "Recreate"},
    )
    uneven, even = audit(zones("a1", "a2", "b1")), audit(zones("a1", "a2", "b1", "b2"))

    assert suggestions("TSC112", judged, uneven) == ["whenUnsatisfiable: ScheduleAnyway"]
    assert suggestions("TSC112", judged, even) == ["maxSkew: 2"]

"""Next pods that required pod affinity or anti-affinity leaves without a node."""

import pytest
from msgspec.structs import replace

from tests.build import Json, spread
from tests.policy.advice.subjects import (
    THREE,
    audit,
    check_rule,
    deployed,
    node,
    running,
    zones,
)
from tests.policy.advice.test_nextpod import HOST, SOFT
from webhook.policy.advice.runningpods import RunningPods
from webhook.policy.advice.subject import Subject
from webhook.policy.model import HOSTNAME, ZONE, Node
from webhook.policy.podlabels import TEMPLATE_HASH


def bound_to(kind: str, app: str, key: str) -> Json:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


APART = bound_to("podAntiAffinity", "web", HOSTNAME)
BESIDE_REDIS = bound_to("podAffinity", "redis", ZONE)
REDIS_IN_A = running("a1", labels={"app": "redis"})
LARGE_A = zones("a1", "a2", "a3", "b1")
IN_A_AND_B = running("a1", "a2", "b1", "")


def bound(constraint: Json, replicas: int, affinity: Json) -> Subject:
    return deployed(constraint, replicas=replicas, template_spec=affinity)


# subject, nodes, its pods, end of the problem and what to write
BY_AFFINITY: dict[
    str, tuple[Subject, list[Node], RunningPods, tuple[str, str] | None]
] = {
    "each node of the emptiest zone has a pod": (
        bound(spread(), 4, APART), LARGE_A, IN_A_AND_B,
        (f'accepts the next pod: "{ZONE}" rejects 3, podAntiAffinity rejects 3', "maxSkew: 2"),
    ),
    "more pods wait than there are nodes": (
        bound(spread(), 6, APART), LARGE_A, IN_A_AND_B,
        ("podAntiAffinity rejects 3", f"whenUnsatisfiable: {SOFT}"),
    ),
    "the emptiest zones lack the pods to follow": (
        bound(spread(), 3, BESIDE_REDIS), THREE, running("a1", "", ""),
        (f'accepts the next pod: "{ZONE}" rejects 2, podAffinity rejects 4',
         f"whenUnsatisfiable: {SOFT}"),
    ),
    "the zone of the pods to follow accepts one more": (
        bound(spread(), 3, BESIDE_REDIS), THREE, running("b1", ""), None,
    ),
    "minDomains that no node can satisfy": (
        bound(spread(minDomains=3), 3, APART), LARGE_A, running("a1", "b1", ""),
        ("podAntiAffinity rejects 2", "minDomains: 2"),
    ),
    "all nodes have a pod, which is the effect of no constraint": (
        bound(spread(), 5, APART), LARGE_A, running("a1", "a2", "a3", "b1", ""), None,
    ),
    "a node is left": (bound(spread(), 3, APART), LARGE_A, running("a1", "b1", ""), None),
    "a soft constraint": (
        bound(spread(whenUnsatisfiable=SOFT), 4, APART), LARGE_A, IN_A_AND_B, None,
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("advised", "nodes", "pods", "expected"),
    BY_AFFINITY.values(),
    ids=BY_AFFINITY.keys(),
)
def test_nodes_that_required_pod_affinity_rejects(
    advised: Subject,
    nodes: list[Node],
    pods: RunningPods,
    expected: tuple[str, str] | None,
) -> None:
    found = check_rule(
        "TSC106", replace(advised, running=(pods,)), audit(nodes, [pods, REDIS_IN_A])
    )

    if expected is None:
        assert found == []
    else:
        (violation,) = found
        assert violation.problem.endswith(expected[0])
        assert violation.instead == expected[1]


def test_a_cordoned_node_that_pod_anti_affinity_rejects_is_not_named() -> None:
    cordoned = replace(node("b1", "zone-b"), unschedulable=True)
    advised = deployed(spread(), replicas=4, template_spec=APART)
    problems = [
        check_rule("TSC106", replace(advised, running=(pods,)), audit(nodes, [pods]))[0].problem
        for nodes, pods in (
            ([*LARGE_A[:3], cordoned], running("a1", "")),
            ([*LARGE_A[:3], cordoned], IN_A_AND_B),
        )
    ]

    assert ["cordoned b1 would accept it" in problem for problem in problems] == [True, False]


@pytest.mark.parametrize(("missing", "reported"), [(0, True), (1, False)])
def test_the_first_pod_of_a_rollout_may_wait_for_the_end_of_another(
    missing: int, reported: bool
) -> None:
    """``test_replacedpod`` has the other cases."""
    limits = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": missing}}
    pods = running("a1", "a2", "b1", labels={"app": "web", TEMPLATE_HASH: "a"})
    advised = deployed(spread(), HOST, replicas=3, strategy=limits)

    context = audit(zones("a1", "a2", "a3", "b1"), [pods])

    found = check_rule("TSC106", replace(advised, running=(pods,)), context)

    assert bool(found) is reported

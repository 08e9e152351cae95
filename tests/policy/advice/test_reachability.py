"""Domains that pods cannot go to."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.build import Json, gates, pod, policy, spread
from tests.policy.advice.subjects import (
    BOUND,
    GPU,
    LEAVING,
    NOT_READY,
    NOT_READY_C,
    OLD,
    ONE_ZONE,
    SPOT,
    TAINTED_C,
    THREE,
    TOLERATING,
    admission,
    among,
    audit,
    check_rule,
    deployed,
    judged,
    node,
    required,
    running,
    subject,
    suggestions,
    workload,
    zones,
)
from webhook.policy.advice.advise import advise
from webhook.policy.advice.exemptions import EXEMPT_ANNOTATION
from webhook.policy.advice.scaling import ReplicaRange
from webhook.policy.advice.subject import Subject
from webhook.policy.kinds import DAEMON_SET
from webhook.policy.model import HOSTNAME, ZONE, Node, ObjectMeta, Taint

IN_A = {"nodeSelector": {ZONE: "zone-a"}}
WEB_POOL = {"nodeSelector": {"pool": "web"}}
IGNORING = spread(nodeAffinityPolicy="Ignore")
HOST = spread(topologyKey=HOSTNAME)
HASHED = spread(matchLabelKeys=["pod-template-hash"])

MIXED_C = [*TAINTED_C, node("c2", "zone-c")]
SPOT_D = node("d1", "zone-d", SPOT)
TWICE_C = [*TAINTED_C, node("c2", "zone-c", GPU, SPOT)]
OTHER_POOL = [*zones("a1", "b1"), node("c1", "zone-c", GPU, pool="gpu")]


# subject, nodes, whether admission reports it, whether an audit does
SHUT: dict[str, tuple[Subject, list[Node], bool, bool]] = {
    "a zone of tainted nodes": (judged(spread()), TAINTED_C, True, True),
    "a tainted node where nodes are the domains": (judged(HOST), MIXED_C, True, True),
    "a zone of which some taints are tolerated": (
        judged(spread(), tolerations=[{"key": "spot", "operator": "Exists"}]), TWICE_C, True, True
    ),
    "a policy that looks at affinity alone": (
        judged(spread(nodeTaintsPolicy="Ignore")), TAINTED_C, True, True
    ),
    "affinity that is not looked at": (
        judged(spread(nodeAffinityPolicy="Ignore"), nodeSelector={"pool": "web"}),
        [*OTHER_POOL, node("a2", "zone-a", pool="web")], True, False,
    ),
    "affinity that does not leave it out": (
        judged(spread(), **required([among("zone-a", "zone-c")])), TAINTED_C, True, True
    ),
    "affinity that leaves it out": (
        judged(spread(), **required([among("zone-a", "zone-b")])), TAINTED_C, False, False
    ),
    "taints are looked at": (judged(spread(nodeTaintsPolicy="Honor")), TAINTED_C, False, False),
    "a zone of which one node is open": (judged(spread()), MIXED_C, False, False),
    "the taint is tolerated": (judged(spread(), **TOLERATING), TAINTED_C, False, False),
    "one of two ways is tolerated": (judged(spread(), **TOLERATING), TWICE_C, False, False),
    "a taint that keeps no pod away": (
        judged(spread()), [*zones("a1"), node("c1", "zone-c", OLD)], False, False
    ),
    "a misspelled key beside it": (
        judged(spread(topologyKey="zones"), spread()), TAINTED_C, True, True
    ),
    "a zone whose nodes are not ready": (judged(spread()), NOT_READY_C, False, False),
    "a tainted zone whose nodes are not ready": (
        judged(spread()), [*zones("a1"), node("c1", "zone-c", NOT_READY, GPU)], True, True
    ),
    "a tainted zone whose nodes are cordoned": (
        judged(spread()),
        [*zones("a1"), replace(node("c1", "zone-c", GPU), unschedulable=True)], True, True,
    ),
    "a tainted zone of which one node is cordoned for now": (
        judged(spread()),
        [*TAINTED_C, replace(node("c2", "zone-c"), unschedulable=True)], False, False,
    ),
    "a soft constraint": (
        judged(spread(whenUnsatisfiable="ScheduleAnyway")), TAINTED_C, False, False
    ),
    "nodes that another constraint leaves out": (
        judged(spread(), spread(topologyKey="rack")),
        [node("a1", "zone-a", rack="1"), node("c1", "zone-c", GPU)], False, False,
    ),
    "every domain": (judged(spread()), [node("c1", "zone-c", GPU)], False, False),
    "no nodes": (judged(spread()), [], False, False),
    "a Pod": (subject(pod(spread())), TAINTED_C, False, False),
    "a DaemonSet": (subject(workload(HOST, kind=DAEMON_SET)), MIXED_C, False, False),
    "one replica": (deployed(HOST, replicas=1), MIXED_C, False, False),
    "a place for every replica": (deployed(HASHED, replicas=2), TAINTED_C, False, False),
    "a selector that counts none of its pods": (
        judged(spread(labelSelector={"matchLabels": {"app": "shop"}})), TAINTED_C, False, False
    ),
    "a selector that counts no pod": (judged(spread(labelSelector={})), TAINTED_C, False, False),
    "a place for every replica, and none for a rollout": (
        deployed(spread(), replicas=2), TAINTED_C, True, True
    ),
    "a place for every replica, and a rollout that needs no more": (
        deployed(spread(), replicas=2, strategy={"rollingUpdate": {"maxSurge": "0%"}}),
        TAINTED_C, False, False,
    ),
    "no place for the most replicas of an autoscaler": (
        replace(deployed(HASHED, replicas=2), scaling=ReplicaRange(2, 3, "ScaledObject/web")),
        TAINTED_C, True, True,
    ),
    "pods that are written for one node": (judged(HOST, **BOUND), MIXED_C, False, False),
    "a cluster of one zone": (judged(spread()), [*ONE_ZONE, node("a4", "zone-a", GPU)],
                              False, False),
}  # fmt: skip


@pytest.mark.parametrize(("advised", "nodes", "soon", "later"), SHUT.values(), ids=SHUT.keys())
def test_domains_of_tainted_nodes(
    advised: Subject, nodes: list[Node], soon: bool, later: bool
) -> None:
    suggested = ["nodeTaintsPolicy: Honor"]

    assert suggestions("TSC105", advised, admission(nodes)) == (suggested if soon else [])
    assert suggestions("TSC105", advised, audit(nodes)) == (suggested if later else [])


@pytest.mark.parametrize(
    ("constraint", "problems"),
    [
        (spread(), ["every other domain takes 1 pod at most"]),
        (spread(maxSkew=2), []),  # also while a rollout doubles the other pod
        (HASHED, []),
    ],
)
def test_a_place_may_be_taken_by_another_workload(constraint: Json, problems: list[str]) -> None:
    members = {"Deployment/cache": {"app": "web"}}
    advised = deployed(constraint, replicas=2, strategy={"type": "Recreate"})

    found = check_rule("TSC105", advised, audit(TAINTED_C, members=members))

    assert [violation.problem.rpartition(": ")[2] for violation in found] == problems


def test_the_pods_of_a_rollout_without_a_place_are_named() -> None:
    (violation,) = check_rule("TSC105", deployed(spread(), replicas=2), audit(TAINTED_C))

    assert violation.problem.endswith(
        "every other domain takes 1 pod at most, and the additional pods of a rollout stay Pending"
    )


@pytest.mark.parametrize("make", [admission, audit])
@pytest.mark.parametrize("taint", [LEAVING, NOT_READY])
def test_a_domain_with_a_taint_that_passes_is_not_reported(make: Any, taint: Taint) -> None:
    nodes = [*zones("a1", "b1"), node("c1", "zone-c", taint)]

    assert check_rule("TSC105", judged(spread()), make(nodes)) == []


@pytest.mark.parametrize("make", [admission, audit])
def test_all_taints_are_named(make: Any) -> None:
    (violation,) = check_rule("TSC105", judged(spread()), make([*TAINTED_C, SPOT_D]))

    assert "(gpu=a100:NoSchedule, spot:NoExecute) form 2 domains" in violation.problem
    assert violation.brief == (
        "tainted nodes form 2 domains (zone-c and 1 more), always counted as empty"
    )


@pytest.mark.parametrize(("without", "fields"), [(ZONE, ["nodeTaintsPolicy"]), ("rack", [])])
def test_nodes_without_the_key_of_another_constraint_may_not_count(
    without: str, fields: list[str]
) -> None:
    control_plane = node("cp", "zone-cp", GPU, rack="1")
    lacking = {key: value for key, value in control_plane.labels.items() if key != without}
    nodes = [node("a1", "zone-a", rack="1"), node("b1", "zone-b", rack="1")]
    nodes += [node("c1", "zone-c", GPU, rack="1"), replace(control_plane, labels=lacking)]
    racked = deployed(spread(), spread(topologyKey="rack"))

    found = [one for one in check_rule("TSC105", racked, admission(nodes)) if "[0]" in one.field]

    assert [one.field.rpartition(".")[2] for one in found] == fields


def test_pods_that_follow_the_first_one_miss_no_domain() -> None:
    itself = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "web"}}}
    required = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [itself]}}

    following = judged(spread(), affinity=required)

    assert check_rule("TSC105", following, audit(TAINTED_C)) == []


def test_pods_that_came_before_the_taint_are_counted() -> None:
    pods = running("c1", "a1")
    advised = replace(judged(spread()), running=(pods,))
    excluded = replace(judged(IGNORING, **IN_A), running=(running("b1", "c1"),))

    (tainted,) = check_rule("TSC105", advised, audit(TAINTED_C, [pods]))
    (closed,) = check_rule("TSC116", excluded, audit(THREE, [running("b1", "c1")]))

    assert tainted.problem.endswith(
        "(zone-c), counted though no further pod can go there: every other domain takes 2 pods at "
        "most, the others stay Pending"
    )
    assert closed.problem.endswith(
        "though no further pod can go there: no other domain takes more than 2 pods, the others "
        "stay Pending"
    )


@pytest.mark.parametrize("make", [admission, audit])
def test_the_domain_and_the_taint_are_named(make: Any) -> None:
    (violation,) = check_rule("TSC105", judged(spread()), make(TAINTED_C))

    assert violation.problem == (
        "nodes with taints that its pods do not tolerate (gpu=a100:NoSchedule) form 1 domain of "
        f'"{ZONE}" (zone-c), always counted as empty: every other domain takes 1 pod at most, '
        "the others stay Pending"
    )


def test_without_node_policies_the_nodes_have_to_be_left_out() -> None:
    off = policy(gates=gates(NodeInclusionPolicyInPodTopologySpread=False))

    (violation,) = check_rule("TSC105", judged(spread()), admission(TAINTED_C, config=off))

    assert violation.instead.startswith("# leave these nodes out by required node affinity")


MANY = spread(minDomains=3)
FEW = "; minDomains is 3, more than the 2 domains without them"


@pytest.mark.parametrize("make", [admission, audit])
def test_a_closed_domain_may_leave_fewer_than_min_domains(make: Any) -> None:
    (violation,) = check_rule("TSC105", judged(MANY), make(TAINTED_C))

    assert violation.problem.endswith(f", the others stay Pending{FEW}")
    assert violation.instead == "nodeTaintsPolicy: Honor\nminDomains: 2"


@pytest.mark.parametrize("make", [admission, audit])
def test_as_many_domains_as_min_domains_may_be_left(make: Any) -> None:
    (violation,) = check_rule("TSC105", judged(spread(minDomains=2)), make(TAINTED_C))

    assert violation.problem.endswith(", the others stay Pending")
    assert violation.instead == "nodeTaintsPolicy: Honor"


def test_without_node_policies_min_domains_has_to_be_lowered_too() -> None:
    off = policy(gates=gates(NodeInclusionPolicyInPodTopologySpread=False))

    (violation,) = check_rule("TSC105", judged(MANY), audit(TAINTED_C, config=off))

    assert violation.instead == (
        "# leave these nodes out by required node affinity and write minDomains: 2, or tolerate "
        "gpu=a100:NoSchedule"
    )


def test_affinity_may_leave_fewer_than_min_domains() -> None:
    advised = judged(spread(minDomains=3, nodeAffinityPolicy="Ignore"), **WEB_POOL)

    (violation,) = check_rule("TSC116", advised, audit(POOLS))

    assert violation.problem.endswith(f", the others stay Pending{FEW}")
    assert violation.instead == "nodeAffinityPolicy: Honor\nminDomains: 2"


def test_admission_knows_a_bound_of_the_domains_that_affinity_leaves() -> None:
    advised = judged(
        spread(minDomains=3, nodeAffinityPolicy="Ignore"),
        **required([among("zone-a", "zone-b")]),
    )

    (violation,) = check_rule("TSC116", advised, admission(THREE))

    assert violation.instead == (
        "# write nodeAffinityPolicy: Honor, and as minDomains the number of domains that its pods "
        "can go to, 2 at most"
    )


POOLS = [
    node("a1", "zone-a", pool="web"),
    node("b1", "zone-b", pool="web"),
    node("c1", "zone-c", pool="batch"),
]


ONE_NODE = f'; now the one node that its pods can go to rejects the next pod: "{ZONE}" rejects 1'
TWO_NODES = (
    f'; now none of the 2 nodes that its pods can go to accepts the next pod: "{ZONE}" rejects 2'
)

ONE_RUNS = {
    "by affinity": (judged(IGNORING, **IN_A), THREE, "TSC116"),
    "by taints": (judged(spread()), [*zones("a1"), node("c1", "zone-c", GPU)], "TSC105"),
    "by taints, with minDomains": (
        judged(spread(minDomains=2)), [*zones("a1"), node("c1", "zone-c", GPU)], "TSC105"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("advised", "nodes", "rule"), ONE_RUNS.values(), ids=ONE_RUNS.keys())
def test_one_cause_is_one_finding(advised: Subject, nodes: list[Node], rule: str) -> None:
    pods = running("a1")
    advice = advise(replace(advised, running=(pods,)), audit(nodes, [pods]))

    about = [
        finding
        for finding in (*advice.warned, *advice.audited)
        if finding.rule in {"TSC105", "TSC106", "TSC116", "TSC120"}
    ]
    assert [finding.rule for finding in about] == [rule]
    assert about[0].problem.endswith(TWO_NODES if nodes == THREE else ONE_NODE)


def test_an_exempted_cause_leaves_the_pending_pod() -> None:
    pods = running("a1")
    exempted = replace(
        judged(IGNORING, **IN_A),
        running=(pods,),
        metadata=ObjectMeta(annotations={EXEMPT_ANNOTATION: "TSC116=by contract"}),
    )

    advice = advise(exempted, audit(THREE, [pods]))

    assert [one.finding.rule for one in advice.exempted] == ["TSC116"]
    assert "TSC106" in {finding.rule for finding in advice.audited}

"""Fewer domains than ``minDomains``: TSC104."""

from typing import Any

import pytest

from tests.build import Json, gates, pod, policy, spread
from tests.policy.advice.subjects import (
    BOUND,
    GPU,
    NOT_READY_C,
    ONE_ZONE,
    TAINTED_C,
    THREE,
    TOLERATING,
    admission,
    among,
    audit,
    check_rule,
    deployed,
    job_set,
    judged,
    node,
    required,
    subject,
    suggestions,
    worker_set,
    workload,
    zones,
)
from tests.policy.advice.test_topology import IN_B
from webhook.policy.advice.subject import Subject
from webhook.policy.kinds import DAEMON_SET
from webhook.policy.model import HOSTNAME, ZONE, GroupKind, Node
from webhook.policy.podlabels import JOB_NAME

HASH = "pod-template-hash"
GROUP = "leaderworkerset.sigs.k8s.io/group-index"
TOLERATING_ALL = {"tolerations": [{"operator": "Exists"}]}


def least(number: int, **changes: Any) -> Json:
    return spread(minDomains=number, **changes)


def surging(*constraints: Json) -> Subject:
    """Read a DaemonSet whose rollout creates the new pod of a node beside the old one."""
    strategy: Json = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    return subject(workload(*constraints, kind=DAEMON_SET, updateStrategy=strategy))


CORDONED_C = [*zones("a1", "b1"), Node("c1", {ZONE: "zone-c", HOSTNAME: "c1"}, unschedulable=True)]

# subject, nodes, suggested minDomains at admission, and in an audit
LEFT: dict[str, tuple[Subject, list[Node], int | None, int | None]] = {
    "more than there are": (judged(least(4)), THREE, 3, 3),
    "more than a node selector leaves": (judged(least(2), **IN_B), THREE, 1, 1),
    "more than an affinity leaves": (
        judged(least(3), **required([among("zone-a", "zone-b")])), THREE, 2, 2
    ),
    "more than either of two terms leaves": (
        judged(least(3), **required([among("zone-a")], [among("zone-b")])), THREE, 2, 2
    ),
    "an affinity for single nodes": (
        judged(least(3), **required([among("a1", "b1", key=HOSTNAME)])), THREE, None, 2
    ),
    "more than tolerations leave, and than there are": (judged(least(4)), TAINTED_C, 2, 2),
    "more than tolerations leave, but not than count": (
        judged(least(3)), TAINTED_C, None, None
    ),
    "more than tolerations leave, and than count": (
        judged(least(3, nodeTaintsPolicy="Honor")), TAINTED_C, 2, 2
    ),
    "more than a node selector leaves, but not than count": (
        judged(least(2, nodeAffinityPolicy="Ignore"), **IN_B), THREE, None, None
    ),
    "more than a node selector leaves, of nodes that are not known": (
        judged(least(2), **IN_B), [], 1, 1
    ),
    "more than an affinity leaves, as far as nodes are there": (
        judged(least(3), **required([among("zone-a", "zone-x")])), THREE, 1, 1
    ),
    "more than an affinity and the known nodes leave": (
        judged(least(2), **required([among("zone-a", "zone-x")])), THREE, 1, 1
    ),
    "more than an affinity leaves that excludes a zone": (
        judged(
            least(3), **required([{"key": ZONE, "operator": "NotIn", "values": ["zone-c"]}])
        ),
        THREE, 2, 2,
    ),
    "more than an affinity and tolerations leave": (
        judged(
            least(2, nodeTaintsPolicy="Honor"), **required([among("zone-a", "zone-c")])
        ),
        TAINTED_C, 1, 1,
    ),
    "more than an affinity leaves, and a place for each pod": (
        deployed(
            least(3, matchLabelKeys=[HASH]),
            replicas=2, template_spec=required([among("zone-a", "zone-b")]),
        ),
        THREE, None, None,
    ),
    "a node selector that no node matches": (
        judged(least(2), nodeSelector={ZONE: "zone-x"}), THREE, None, None
    ),
    "a cordoned zone": (judged(least(3)), CORDONED_C, None, None),
    "as many replicas as there are places": (
        deployed(least(4, matchLabelKeys=[HASH]), replicas=3), THREE, None, None
    ),
    "as many places, which a rollout needs": (deployed(least(4), replicas=3), THREE, 3, 3),
    "as many places, and a rollout that needs no more": (
        deployed(least(4), replicas=3, strategy={"rollingUpdate": {"maxSurge": 0}}),
        THREE, None, None,
    ),
    "fewer replicas than places": (deployed(least(4, maxSkew=2), replicas=5), THREE, None, None),
    "a zone that is not ready": (judged(least(3)), NOT_READY_C, None, None),
    "a cordoned zone, tolerated": (judged(least(3), **TOLERATING_ALL), CORDONED_C, None, None),
    "a tainted zone, tolerated": (judged(least(3), **TOLERATING), TAINTED_C, None, None),
    "as many as there are": (judged(least(3)), THREE, None, None),
    "a selector that counts none of its pods": (
        judged(least(4, labelSelector={"matchLabels": {"app": "shop"}})), THREE, None, None
    ),
    "one": (judged(least(1)), THREE, None, None),
    "no minDomains": (judged(spread()), THREE, None, None),
    "soft": (judged(least(4, whenUnsatisfiable="ScheduleAnyway")), THREE, None, None),
    "a key on no node": (judged(least(4, topologyKey="rack")), THREE, None, None),
    "no nodes": (judged(least(4)), [], None, None),
    "a DaemonSet": (subject(workload(least(4), kind=DAEMON_SET)), THREE, None, None),
    "a DaemonSet that creates a pod beside the old one": (surging(least(2)), THREE, 1, 1),
    "a DaemonSet that does, of nodes that are not known": (surging(least(2)), [], 1, 1),
    "a DaemonSet that does, with a place for two pods": (
        surging(least(2, maxSkew=2)), THREE, None, None
    ),
    "a DaemonSet that does, and counts each revision apart": (
        surging(least(2, matchLabelKeys=["controller-revision-hash"])), THREE, None, None
    ),
    "a DaemonSet that does, and counts the nodes of other pods": (
        surging(least(2, nodeAffinityPolicy="Ignore")), THREE, None, None
    ),
    "one that counts too few domains": (
        surging(least(4, nodeAffinityPolicy="Ignore")), THREE, 3, None
    ),
    "one that counts domains of no node": (
        surging(least(4, nodeAffinityPolicy="Ignore")), [], None, None
    ),
    "one replica": (deployed(least(4), replicas=1), THREE, None, None),
    "one replica in one zone, whose rollouts need a place for two": (
        deployed(least(3), replicas=1), ONE_ZONE, 1, 1
    ),
    "a Job of one pod": (
        subject(workload(least(4), kind=GroupKind("batch", "Job"), replicas=None)),
        THREE, None, None,
    ),
    "pods that are written for one node": (judged(least(4), **BOUND), THREE, None, None),
    "a Pod that has its node": (subject(pod(least(4), **BOUND)), THREE, None, None),
    "a Pod that has none yet": (subject(pod(least(4))), THREE, None, None),
    "a cluster of one zone": (judged(least(2)), ONE_ZONE, 1, 1),
    "a place for each pod of each Job of a JobSet": (
        job_set(JOB_NAME, minDomains=4), THREE, None, None
    ),
    "no place for some pods of each Job of a JobSet": (
        job_set(JOB_NAME, minDomains=4, parallelism=4), THREE, 3, 3
    ),
    "a place for each pod of each group of a LeaderWorkerSet": (
        worker_set(GROUP, minDomains=4), THREE, None, None
    ),
    "no place for some pods of all groups of a LeaderWorkerSet": (
        worker_set(minDomains=4), THREE, 3, 3
    ),
    "pods that tolerate everything": (
        judged(least(4), tolerations=[{"operator": "Exists"}]), THREE, 3, 3
    ),
    "a cluster of one zone, of which no more is required": (judged(least(1)), ONE_ZONE, None, None),
}  # fmt: skip


@pytest.mark.parametrize(("advised", "nodes", "soon", "later"), LEFT.values(), ids=LEFT.keys())
def test_fewer_domains_than_min_domains(
    advised: Subject, nodes: list[Node], soon: int | None, later: int | None
) -> None:
    assert suggestions("TSC104", advised, admission(nodes)) == written("minDomains", soon)
    assert suggestions("TSC104", advised, audit(nodes)) == written("minDomains", later)


def test_a_new_pod_of_a_daemon_set_has_no_place_beside_the_old_one() -> None:
    (violation,) = check_rule("TSC104", surging(least(2)), audit())

    assert violation.problem == (
        "minDomains is 2, but each pod of a DaemonSet can go to one node, which is one domain and "
        "takes 1 pod: by maxSurge, the new pod of a node waits there for the old one, which waits "
        "for the new one"
    )


def written(key: str, value: object) -> list[str]:
    return [] if value is None else [f"{key}: {value}"]


UNEVEN = zones("a1", "b1", "b2", "b3")
MANY_HOSTS = {"topologyKey": HOSTNAME, "maxSkew": 2}

# constraints, nodes, pods of another workload, what TSC104 suggests
SHOWN: dict[str, tuple[list[Json], list[Node], bool, str]] = {
    "even zones": ([least(5), spread(**MANY_HOSTS)], THREE, False, "minDomains: 3"),
    "even zones, and pods of others": (
        [least(5), spread(**MANY_HOSTS)], THREE, True,
        "whenUnsatisfiable: ScheduleAnyway\nminDomains: null",
    ),
    "one constraint, and pods of others": ([least(5)], THREE, True, "minDomains: 3"),
    "uneven zones": (
        [least(5), spread(**MANY_HOSTS)], UNEVEN, False,
        "whenUnsatisfiable: ScheduleAnyway\nminDomains: null",
    ),
    "a tainted zone, which another finding is about": (
        [least(5)], [*zones("a1", "b1"), node("c1", "zone-c", GPU)], False, "minDomains: 2"
    ),
    "a tainted zone of another constraint, whose finding lowers its minDomains, too": (
        [least(5, topologyKey="room", nodeTaintsPolicy="Honor"), least(3)],
        [node("a1", "zone-a", room="1"), node("a2", "zone-a", room="2"),
         node("b1", "zone-b", room="3"), node("b2", "zone-b", room="4"),
         node("c1", "zone-c", GPU, room="5")],
        False, "minDomains: 4",
    ),
    "a tainted zone beside which all fit, so that no other finding is about it": (
        [spread(maxSkew=3, matchLabelKeys=["pod-template-hash"]),
         spread(topologyKey="cap", minDomains=3, matchLabelKeys=["pod-template-hash"])],
        [node("a1", "zone-a", cap="spot"), node("a2", "zone-a", cap="demand"),
         node("b1", "zone-b", cap="demand"), node("c1", "zone-c", GPU, cap="demand")],
        False,
        "whenUnsatisfiable: ScheduleAnyway\nminDomains: null",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("constraints", "nodes", "shared", "instead"), SHOWN.values(), ids=SHOWN.keys()
)
def test_min_domains_are_suggested_if_all_replicas_then_fit(
    constraints: list[Json], nodes: list[Node], shared: bool, instead: str
) -> None:
    members = {"Deployment/cache": {"app": "web"}} if shared else {}

    context = audit(nodes, members=members)
    assert suggestions("TSC104", deployed(*constraints), context) == [instead]


def test_a_gate_that_is_off_holds_min_domains_back() -> None:
    config = policy(gates=gates(MinDomainsInPodTopologySpread=False))

    assert check_rule("TSC104", judged(least(4)), admission(config=config)) == []


def test_the_pods_without_a_place_are_named() -> None:
    (some,) = check_rule("TSC104", deployed(least(4), replicas=4), audit())
    (rollout,) = check_rule("TSC104", deployed(least(4), replicas=3), audit())

    assert "each takes 1 pod at most, the others stay Pending until" in some.problem
    assert "1 pod at most, and the additional pods of a rollout stay Pending" in rollout.problem


def test_the_pods_that_count_each_other_are_named() -> None:
    (job,) = check_rule("TSC104", job_set(JOB_NAME, minDomains=4, parallelism=4), audit())
    (group,) = check_rule("TSC104", worker_set(GROUP, minDomains=4, size=4), audit())

    assert "each takes 1 pod of each Job at most, the others stay Pending" in job.problem
    assert "each takes 1 pod of each group at most, the others stay Pending" in group.problem


def test_affinity_and_tolerations_are_named_if_they_exclude_domains() -> None:
    assert [
        violation.problem.partition(":")[0]
        for nodes in (THREE, TAINTED_C)
        for context in (admission(nodes), audit(nodes))
        for violation in check_rule("TSC104", deployed(least(4)), context)
    ] == [
        *[f'minDomains is 4, but "{ZONE}" has 3 domains only'] * 2,
        *[f'minDomains is 4, but by taints its pods can go to 2 domains of "{ZONE}"'] * 2,
    ]


@pytest.mark.parametrize(
    ("spec", "causes"),
    [
        ({"nodeSelector": {"pool": "web"}}, "nodeSelector"),
        (required([among("web", key="pool")]), "node affinity"),
        (
            {"nodeSelector": {"pool": "web"}, "tolerations": [{"operator": "Exists"}]},
            "nodeSelector",
        ),
    ],
    ids=str,
)
def test_only_what_excludes_domains_is_named(spec: Json, causes: str) -> None:
    nodes = [*(node(f"{zone}1", f"zone-{zone}", pool="web") for zone in "ab"), node("c1", "zone-c")]

    (violation,) = check_rule("TSC104", deployed(least(4), template_spec=spec), audit(nodes))

    assert violation.problem.startswith(
        f'minDomains is 4, but by {causes} its pods can go to 2 domains of "{ZONE}": '
    )


def test_no_node_helps_if_the_requirements_allow_too_few_values() -> None:
    some = deployed(least(3), template_spec=required([among("zone-a", "zone-b")]))

    for nodes in (THREE, []):
        (violation,) = check_rule("TSC104", some, audit(nodes))
        assert violation.problem == (
            f'minDomains is 3, but by node affinity its pods can go to 2 domains of "{ZONE}" at '
            "most, whatever nodes are added: each takes 1 pod at most, the others stay Pending"
        )
        assert violation.brief == "minDomains is 3, but its pods can reach 2 domains"


RACKS = [
    node("a1", "zone-a", rack="1"), node("b1", "zone-b", rack="2"), node("c1", "zone-c")
]  # fmt: skip


def test_nodes_without_the_keys_of_other_hard_constraints_do_not_count() -> None:
    zone = least(3, topologyKey=ZONE)
    by_rack = deployed(spread(topologyKey="rack"), zone)
    softly = deployed(spread(topologyKey="rack", whenUnsatisfiable="ScheduleAnyway"), zone)

    (violation,) = check_rule("TSC104", by_rack, audit(RACKS))

    assert violation.problem.startswith(
        f'minDomains is 3, but only nodes that have "rack", too, count, in 2 domains of "{ZONE}": '
        "each takes 1 pod at most, "
    )
    assert check_rule("TSC104", softly, audit(RACKS)) == []
    assert check_rule("TSC104", deployed(spread(topologyKey="rak"), zone), audit(RACKS)) == []

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
from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.subject import Subject
from webhook.policy.kinds import DAEMON_SET
from webhook.policy.model import HOSTNAME, ZONE, GroupKind, Node
from webhook.policy.podlabels import JOB_NAME

HASH = "pod-template-hash"
GROUP = "leaderworkerset.sigs.k8s.io/group-index"
TOLERATING_ALL = {"tolerations": [{"operator": "Exists"}]}
IN_B = {"nodeSelector": {ZONE: "zone-b"}}


UNZONED = [*THREE, node("x1"), node("x2")]
CORDONED = Node("x1", {HOSTNAME: "x1"}, unschedulable=True)

# subject, nodes, problem at admission, problem in an audit
KEYS: dict[str, tuple[Subject, list[Node], str, str]] = {
    "on no node, and one like it is": (
        judged(spread(topologyKey="zone")), THREE,
        'topologyKey "zone" is on no node; topology.kubernetes.io/zone is',
        'topologyKey "zone" is on no node; topology.kubernetes.io/zone is',
    ),
    "on no node, and none like it": (
        judged(spread(topologyKey="rack")), THREE,
        'topologyKey "rack" is on no node, and is like none of their labels',
        'topologyKey "rack" is on no node, and is like none of their labels',
    ),
    "not on all, and hard": (
        judged(spread()), UNZONED,
        f'topologyKey "{ZONE}" is on 6 of 8 nodes: the others get none',
        f'topologyKey "{ZONE}" is on 6 of 8 nodes: the others get none',
    ),
    "not on all, and soft": (
        judged(spread(whenUnsatisfiable="ScheduleAnyway")), UNZONED,
        f'topologyKey "{ZONE}" is on 6 of 8 nodes: the others come last',
        f'topologyKey "{ZONE}" is on 6 of 8 nodes: the others come last',
    ),
    "not on all, but on all that the pod requires": (judged(spread(), **IN_B), UNZONED, "", ""),
    "not on all that the pod requires": (
        judged(spread(), **required([among("x1", "a1", key=HOSTNAME)])), UNZONED,
        "", f'topologyKey "{ZONE}" is on 1 of 2 nodes: the others get none',
    ),
    "on all nodes": (judged(spread()), THREE, "", ""),
    "on all nodes but a cordoned one": (judged(spread()), [*THREE, CORDONED], "", ""),
    "on all nodes but tainted ones": (judged(spread()), [*THREE, node("cp", None, GPU)], "", ""),
    "on all nodes but some that are tainted, and one that is not": (
        judged(spread()), [*THREE, node("cp", None, GPU), node("x1")],
        f'topologyKey "{ZONE}" is on 6 of 8 nodes: the others get none',
        f'topologyKey "{ZONE}" is on 6 of 7 nodes: the others get none',
    ),
    "on all nodes but one whose taint is tolerated": (
        judged(spread(), **TOLERATING), [*THREE, node("cp", None, GPU)],
        f'topologyKey "{ZONE}" is on 6 of 7 nodes: the others get none',
        f'topologyKey "{ZONE}" is on 6 of 7 nodes: the others get none',
    ),
    "on tainted nodes only": (
        judged(spread()), [node("x1"), node("x2"), node("a1", "zone-a", GPU)],
        f'topologyKey "{ZONE}" is on 1 of 3 nodes: the others get none',
        f'topologyKey "{ZONE}" is on none of the 2 nodes that its pods can go to',
    ),
    "not on all, and a misspelled action": (
        judged(spread(whenUnsatisfiable="doNotSchedule")), UNZONED,
        f'topologyKey "{ZONE}" is on 6 of 8 nodes: the others get none, or come last',
        f'topologyKey "{ZONE}" is on 6 of 8 nodes: the others get none, or come last',
    ),
    "not on all, but the pods bypass the scheduler": (
        judged(spread(), nodeName="a1"), UNZONED, "", ""
    ),
    "on no node, and the pods bypass the scheduler": (
        judged(spread(topologyKey="rack"), nodeName="a1"), THREE,
        'topologyKey "rack" is on no node, and is like none of their labels',
        'topologyKey "rack" is on no node, and is like none of their labels',
    ),
    "the one zone of a cluster": (judged(spread()), ONE_ZONE, "", ""),
    "no key": (judged(spread(topologyKey="")), THREE, "", ""),
    "no nodes": (judged(spread()), [], "", ""),
}  # fmt: skip


@pytest.mark.parametrize(("advised", "nodes", "soon", "later"), KEYS.values(), ids=KEYS.keys())
def test_a_key_that_nodes_lack(advised: Subject, nodes: list[Node], soon: str, later: str) -> None:
    assert problems("TSC103", advised, admission(nodes)) == ([soon] if soon else [])
    assert problems("TSC103", advised, audit(nodes)) == ([later] if later else [])


def problems(rule: str, advised: Subject, context: AdviceContext) -> list[str]:
    return [violation.problem for violation in check_rule(rule, advised, context)]


def test_the_suggested_key_is_the_nearest_one() -> None:
    (meant,) = check_rule("TSC103", judged(spread(topologyKey="zone")), admission())
    (unknown,) = check_rule("TSC103", judged(spread(topologyKey="rack")), admission())
    (partial,) = check_rule("TSC103", judged(spread()), admission(UNZONED))

    assert meant.instead == unknown.instead == f"topologyKey: {ZONE}"
    assert partial.instead == f"# label the other nodes: kubectl label node NAME {ZONE}=VALUE"


def test_labels_with_the_prefix_of_the_key_are_suggested() -> None:
    nodes = [
        Node("a1", {HOSTNAME: "a1", ZONE: "a", "dc.example/room": "1", "dc.example/cell": "2"})
    ]

    (violation,) = check_rule("TSC103", judged(spread(topologyKey="dc.example/raum")), audit(nodes))

    assert violation.problem == 'topologyKey "dc.example/raum" is on no node'
    assert violation.instead == (
        "# write another label of that prefix: dc.example/cell, dc.example/room"
    )


def test_no_key_is_suggested_that_is_only_on_nodes_without_pods() -> None:
    nodes = [Node("a1", {HOSTNAME: "a1"}), node("s1", None, GPU, capacity="spot")]
    advised = judged(spread(topologyKey="karpenter.sh/capacity"))

    (violation,) = check_rule("TSC103", advised, audit(nodes))
    (wanted,) = check_rule("TSC103", judged(spread(topologyKey="capacity")), audit(nodes))

    assert violation.problem.endswith(
        "is on no node; capacity is, but on none that its pods can go to"
    )
    assert violation.instead == (
        "# label such nodes: kubectl label node NAME karpenter.sh/capacity=VALUE"
    )
    assert wanted.problem.endswith("is not on the one node that its pods can go to")


def test_no_known_key_is_suggested_that_another_entry_has() -> None:
    bare = [Node("a1", {})]

    first, second = suggestions("TSC103", judged(spread(topologyKey="zone"), spread()), audit(bare))

    assert first == (
        "# remove this entry: it repeats topologySpreadConstraints[1], and label the nodes: "
        f"kubectl label node NAME {ZONE}=VALUE"
    )
    assert second == f"# label the nodes: kubectl label node NAME {ZONE}=VALUE"


def test_no_key_is_suggested_that_another_entry_has() -> None:
    meant = judged(spread(topologyKey="zone"), spread(maxSkew=2))
    soft = judged(spread(topologyKey="zone"), spread(whenUnsatisfiable="ScheduleAnyway"))
    unknown = judged(spread(), spread(topologyKey="rack"))

    assert [
        violation.instead
        for advised in (meant, soft, unknown)
        for violation in check_rule("TSC103", advised, admission())
    ] == [
        "# remove this entry: it repeats topologySpreadConstraints[1]",
        f"topologyKey: {ZONE}",
        "# label the nodes: kubectl label node NAME rack=VALUE",
    ]


# actions of an entry without a known key, and of another with it -> what to write
REPEATED = {
    "the same misspelled action": (
        "doNotSchedule", "doNotSchedule",
        "# remove this entry: it repeats topologySpreadConstraints[1]",
    ),
    "a misspelled action": (
        "doNotSchedule", "DoNotSchedule",
        f"# correct whenUnsatisfiable first: topologySpreadConstraints[1] has topologyKey: {ZONE}",
    ),
    "a misspelled action of the other": (
        "DoNotSchedule", "",
        f"# correct whenUnsatisfiable first: topologySpreadConstraints[1] has topologyKey: {ZONE}",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("own", "other", "instead"), REPEATED.values(), ids=REPEATED.keys())
def test_whether_a_key_is_repeated_depends_on_readable_actions(
    own: str, other: str, instead: str
) -> None:
    advised = judged(
        spread(topologyKey="zone", whenUnsatisfiable=own), spread(whenUnsatisfiable=other)
    )

    (violation,) = check_rule("TSC103", advised, admission())

    assert violation.instead == instead


def test_a_misspelled_key_is_no_label_for_nodes() -> None:
    misspelled = judged(spread(topologyKey=f"{ZONE}s"))

    (violation,) = check_rule("TSC103", misspelled, admission([node("x1"), node("x2")]))

    assert violation.problem == f'topologyKey "{ZONE}s" is on no node, and neither is {ZONE}'
    label = f"and label the nodes: kubectl label node NAME {ZONE}=VALUE"
    assert violation.instead == f"# write topologyKey: {ZONE}, {label}"


@pytest.mark.parametrize("key", [ZONE, "rack"])
def test_where_nodes_have_no_zones_there_is_no_key_to_write(key: str) -> None:
    bare = [node("x1"), node("x2"), node("x3", "zone-a")][: 3 if key == "rack" else 2]

    (violation,) = check_rule("TSC103", judged(spread(topologyKey=key)), admission(bare))

    assert violation.instead == f"# label the nodes: kubectl label node NAME {key}=VALUE"


def test_nodes_that_the_pods_can_go_to_are_to_be_labelled() -> None:
    nodes = [node("x1"), node("a1", "zone-a", GPU)]

    (violation,) = check_rule("TSC103", judged(spread()), audit(nodes))

    assert violation.instead == f"# label such nodes: kubectl label node NAME {ZONE}=VALUE"


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
        judged(least(3), **required([among("zone-a", "zone-x")])), THREE, 2, 1
    ),
    "more than an affinity leaves, and a place for each pod": (
        deployed(
            least(3, matchLabelKeys=[HASH]),
            replicas=2, template_spec=required([among("zone-a", "zone-b")]),
        ),
        THREE, None, None,
    ),
    "a node selector that no node matches": (
        judged(least(2), nodeSelector={ZONE: "zone-x"}), THREE, 1, None
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
        *[f'minDomains is 4, but affinity and tolerations leave its pods 2 domains of "{ZONE}"']
        * 2,
    ]


def test_no_node_helps_if_the_requirements_allow_too_few_values() -> None:
    some = deployed(least(3), template_spec=required([among("zone-a", "zone-b")]))

    for nodes in (THREE, []):
        (violation,) = check_rule("TSC104", some, audit(nodes))
        assert violation.problem == (
            f'minDomains is 3, but by node affinity its pods can go to 2 domains of "{ZONE}" at '
            "most, whatever nodes are added: each takes 1 pod at most, the others stay Pending"
        )
        assert violation.brief == "minDomains is 3, but its pods can reach 2 domains"

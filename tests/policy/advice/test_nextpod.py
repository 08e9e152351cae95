import pytest
from msgspec.structs import replace

from tests.build import pod, spread
from tests.policy.advice.subjects import (
    GPU,
    LEAVING,
    NOT_READY,
    THREE,
    admission,
    among,
    audit,
    check_rule,
    deployed,
    job_set,
    judged,
    node,
    of_revision,
    partitioned,
    required,
    running,
    subject,
    suggestions,
    with_ordinal,
    workload,
    zones,
)
from webhook.policy.advice.advise import advise
from webhook.policy.advice.findings import WAIT_FOR_NODES
from webhook.policy.advice.runningpods import RunningPods
from webhook.policy.advice.scaling import ReplicaRange
from webhook.policy.advice.subject import Subject
from webhook.policy.kinds import DAEMON_SET, STATEFUL_SET
from webhook.policy.model import HOSTNAME, ZONE, Node
from webhook.policy.placement.nodes import UNSCHEDULABLE
from webhook.policy.podlabels import JOB_NAME, TEMPLATE_HASH

SOFT = "ScheduleAnyway"
PATH = "spec.template.spec.topologySpreadConstraints"
HOST = spread(topologyKey=HOSTNAME)


def test_an_admission_knows_no_pods() -> None:
    assert check_rule("TSC106", deployed(spread()), admission()) == []


def stateful(replicas: int) -> Subject:
    return subject(workload(spread(), HOST, kind=STATEFUL_SET, replicas=replicas))


SMALL = zones("a1", "b1", "b2")
FULL = [running("a1", "b1", "b1")]

ONE = [running("a1")]

CORDONED_A = Node("a1", {ZONE: "zone-a"}, unschedulable=True)
DRAINED_GPU = replace(node("c1", "zone-c", UNSCHEDULABLE, GPU), unschedulable=True)

NO_NODE = "# let its pods go to some nodes by nodeSelector, affinity and tolerations"

# subject, nodes, pods, field and what to write; nothing if there is a place
PLACES: dict[str, tuple[Subject, list[Node], list[RunningPods], tuple[str, str] | None]] = {
    "zones want one node and nodes another": (
        replace(deployed(spread(), HOST), running=tuple(FULL)), SMALL, FULL,
        (f"{PATH}[1].maxSkew", "maxSkew: 2"),
    ),
    "more pods are awaited than a maxSkew for the next one leaves a place": (
        replace(deployed(spread(), HOST, replicas=9), running=tuple(FULL)), SMALL, FULL,
        (f"{PATH}[1].maxSkew", "maxSkew: 3"),
    ),
    "a domain that never fills": (
        deployed(spread()), [*zones("a1", "b1"), node("c1", "zone-c", GPU)], [running("a1", "b1")],
        (f"{PATH}[0].nodeTaintsPolicy", "nodeTaintsPolicy: Honor"),
    ),
    "two constraints with domains that never fill": (
        deployed(spread(), HOST), [*zones("a1", "b1"), node("c1", "zone-c", GPU)],
        [running("a1", "b1")],
        (f"{PATH}[0].nodeTaintsPolicy", "nodeTaintsPolicy: Honor"),
    ),
    "a domain that never fills beside one that is full": (
        deployed(spread(), spread(topologyKey="rack", minDomains=3)),
        [node("a1", "zone-a", rack="1"), node("b1", "zone-b", rack="2"),
         node("c1", "zone-c", GPU, rack="2")],
        [running("a1", "b1")],
        (f"{PATH}[0].whenUnsatisfiable", f"whenUnsatisfiable: {SOFT}"),
    ),
    "nodes without the key": (
        deployed(spread(topologyKey="rack")), SMALL, [], None,
    ),
    "nodes without the key of another constraint": (
        deployed(spread(topologyKey="rack"), spread(), HOST, replicas=3), SMALL, FULL,
        (f"{PATH}[1].maxSkew", "maxSkew: 2"),
    ),
    "one node is left": (deployed(spread(), HOST), SMALL, [running("a1", "b1", "b2")], None),
    "a soft constraint": (deployed(spread(whenUnsatisfiable=SOFT)), SMALL, FULL, None),
    "no constraint": (deployed(), SMALL, FULL, None),
    "no node that the pod requires": (
        deployed(spread(), template_spec={"nodeSelector": {"disk": "ssd"}}), SMALL, [],
        (PATH, NO_NODE),
    ),
    "taints on all nodes": (
        deployed(spread()), [node("a1", "zone-a", GPU)], [], (PATH, NO_NODE)
    ),
    "no nodes": (deployed(spread()), [], [], None),
    "a node that is cordoned": (
        deployed(spread()), [CORDONED_A], [], (PATH, WAIT_FOR_NODES)
    ),
    "the one node that the pod requires is cordoned": (
        deployed(spread(), template_spec={"nodeSelector": {ZONE: "zone-a"}}),
        [CORDONED_A, *zones("b1")], [], (PATH, WAIT_FOR_NODES),
    ),
    "a cordoned node, and a soft constraint": (
        deployed(spread(whenUnsatisfiable=SOFT)), [CORDONED_A], [], (PATH, WAIT_FOR_NODES)
    ),
    "a cordoned node, and no constraint": (deployed(), [CORDONED_A], [], None),
    "a domain that never fills, of a cordoned node": (
        deployed(spread()), [*zones("a1", "b1"), DRAINED_GPU], [running("a1", "b1")],
        (f"{PATH}[0].nodeTaintsPolicy", "nodeTaintsPolicy: Honor"),
    ),
    "no replicas": (deployed(spread(), HOST, replicas=0), SMALL, FULL, None),
    "a pod that has its node": (subject(pod(spread(), HOST, nodeName="b1")), SMALL, FULL, None),
    "a DaemonSet": (subject(workload(spread(), HOST, kind=DAEMON_SET)), SMALL, FULL, None),
    "no specification": (subject({**pod(), "spec": None}), SMALL, FULL, None),
    "a cluster of one zone": (
        deployed(spread()), zones("a1", "a2"), [running("a1", "a1", "a2")], None
    ),
    "a StatefulSet that waits for a pod": (
        stateful(4), SMALL, FULL, (f"{PATH}[0].maxSkew", "maxSkew: 2")
    ),
    "a StatefulSet whose last pod has no node": (
        replace(stateful(4), running=(running("a1", "b1", "b1", ""),)), SMALL, FULL,
        (f"{PATH}[0].maxSkew", "maxSkew: 2"),
    ),
    "a StatefulSet that has all its pods": (
        replace(stateful(3), running=tuple(FULL)), SMALL, FULL, None
    ),
    "a Deployment that lets old pods go first": (
        replace(deployed(spread(), HOST, replicas=3, strategy={"type": "Recreate"}),
                running=tuple(FULL)), SMALL, FULL, None
    ),
    "a Deployment that makes new pods first": (
        replace(deployed(spread(), HOST, replicas=3), running=tuple(FULL)), SMALL, FULL,
        (f"{PATH}[0].maxSkew", "maxSkew: 2"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("judged", "nodes", "pods", "reported"), PLACES.values(), ids=PLACES.keys()
)
def test_a_next_pod_that_has_no_place(
    judged: Subject, nodes: list[Node], pods: list[RunningPods], reported: tuple[str, str] | None
) -> None:
    violations = check_rule("TSC106", judged, audit(nodes, pods))

    assert [(violation.field, violation.instead) for violation in violations] == (
        [reported] if reported else []
    )


@pytest.mark.parametrize(
    ("nodes", "problem"),
    [
        (
            [CORDONED_A],
            "the node that its pods can go to is cordoned, not ready or tainted for now",
        ),
        (
            [CORDONED_A, node("b1", "zone-b", NOT_READY), node("c1", "zone-c", GPU)],
            "both nodes that its pods can go to are cordoned, not ready or tainted for now",
        ),
        (
            [node("a1", "zone-a", LEAVING)],
            "the node that its pods can go to is cordoned, not ready or tainted for now",
        ),
    ],
)
def test_nodes_that_are_closed_for_now_are_counted(nodes: list[Node], problem: str) -> None:
    (violation,) = check_rule("TSC106", deployed(spread()), audit(nodes))

    assert violation.problem == f"{problem}: the next pod stays Pending"


def test_the_rejecting_constraints_are_reported() -> None:
    (violation,) = check_rule("TSC106", deployed(spread(), HOST), audit(SMALL, FULL))

    assert violation.problem == (
        "none of the 3 nodes that its pods can go to accepts the next pod: "
        '"kubernetes.io/hostname" rejects 2, "topology.kubernetes.io/zone" rejects 2'
    )


def test_one_node_that_rejects_the_next_pod() -> None:
    nodes = [*zones("a1"), node("c1", "zone-c", GPU)]

    (violation,) = check_rule("TSC106", deployed(spread()), audit(nodes, ONE))

    assert violation.problem == (
        "the one node that its pods can go to rejects the next pod: "
        '"topology.kubernetes.io/zone" rejects 1'
    )


def hashed(*nodes: str, revision: str = "abc", **state: bool) -> RunningPods:
    group = running(*nodes, labels={"app": "web", TEMPLATE_HASH: revision})
    return replace(group, **state)


def apart(replicas: int, *groups: RunningPods, most: int = 0) -> Subject:
    counted = [{**one, "matchLabelKeys": [TEMPLATE_HASH]} for one in (spread(), HOST)]
    scaling = ReplicaRange(1, most, "HorizontalPodAutoscaler/web") if most else None
    return replace(deployed(*counted, replicas=replicas), running=groups, scaling=scaling)


RAISED = ["maxSkew: 2"]

# subject; what is suggested, if its next pod has no node
NEXT_REVISION: dict[str, tuple[Subject, list[str]]] = {
    "only a new revision adds a pod": (apart(3, hashed("a1", "b1", "b1")), []),
    "a replica is missing": (apart(4, hashed("a1", "b1", "b1")), RAISED),
    "a replica has no node": (apart(4, hashed("a1", "b1", "b1", "")), RAISED),
    "a pod beside all replicas has no node": (apart(3, hashed("a1", "b1", "b1", "")), RAISED),
    "an autoscaler may add a replica": (apart(3, hashed("a1", "b1", "b1"), most=4), RAISED),
    "an autoscaler adds none": (apart(3, hashed("a1", "b1", "b1"), most=3), []),
    "a rollout runs": (
        apart(3, hashed("a1", "b1", "b1"), hashed("b2", revision="old", replaced=True)), RAISED
    ),
    "a rollout runs in an unknown direction": (
        apart(3, hashed("a1", "b1", "b1"), hashed("b2", revision="old", unordered=True)), RAISED
    ),
}  # fmt: skip


@pytest.mark.parametrize(("judged", "expected"), NEXT_REVISION.values(), ids=NEXT_REVISION.keys())
def test_a_pod_beside_all_replicas_is_one_of_a_new_revision(
    judged: Subject, expected: list[str]
) -> None:
    assert suggestions("TSC106", judged, audit(SMALL, judged.running)) == expected


DRAINED_NODE = replace(node("c1", "zone-c", UNSCHEDULABLE), unschedulable=True)
DRAINED = [*zones("a1", "b1"), DRAINED_NODE]


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        (DRAINED, '" rejects 2; cordoned c1 would accept it (kubectl uncordon c1)'),
        ([*zones("a1", "b1"), DRAINED_GPU], '" rejects 2'),
        ([*zones("a1", "b1"), node("c1", "zone-c", NOT_READY)], '" rejects 2'),
    ],
    ids=["cordoned", "tainted as well", "not ready"],
)
def test_cordoned_nodes_that_would_accept_the_next_pod_are_named(
    nodes: list[Node], expected: str
) -> None:
    (violation,) = check_rule("TSC106", deployed(spread()), audit(nodes, [running("a1", "b1")]))

    assert violation.problem.endswith(expected)


@pytest.mark.parametrize(("nodes", "named"), [("a1 b1 a1", ["web-2"]), ("a1 c1 b1", [])])
def test_a_stateful_set_that_has_all_its_pods_may_not_get_the_last_one_back(
    nodes: str, named: list[str]
) -> None:
    pods = [with_ordinal(ordinal, where) for ordinal, where in enumerate(nodes.split())]
    found = subject(workload(spread(), kind=STATEFUL_SET, replicas=3))
    cordoned = [replace(one, unschedulable=one.name == "c1") for one in zones("a1", "b1", "c1")]
    context = audit(cordoned, pods)

    violations = check_rule("TSC106", replace(found, running=tuple(pods)), context)

    deleted = "once a rollout or an eviction deletes it"
    problems = [one.problem.partition(":")[0] for one in violations]
    assert problems == [
        f"none of the 2 nodes that its pods can go to accepts {name}, {deleted}" for name in named
    ]


def test_too_few_domains_are_one_finding() -> None:
    advice = advise(deployed(spread(minDomains=5)), audit(zones("a1", "b1"), [running("a1", "b1")]))

    found = [one for one in (*advice.warned, *advice.audited) if one.rule in {"TSC104", "TSC106"}]

    assert [one.rule for one in found] == ["TSC104"]
    assert "; now none of the 2 nodes that its pods can go to accepts" in found[0].problem


HELD = of_revision("old", "a1", "a2", "b1", constraints=(spread(maxSkew=2),))
BLOCKED = spread(minDomains=9)
HELD_BLOCKED = of_revision("old", "a1", "b1", "c1", constraints=(BLOCKED,))

# subject, fields of findings of a next pod without a node
HELD_NEXT: dict[str, tuple[Subject, list[str]]] = {
    "the template alone leaves no node": (partitioned(BLOCKED, pods=[HELD]), []),
    "its revision alone leaves no node": (partitioned(pods=[HELD_BLOCKED]), [PATH]),
    "both leave no node": (partitioned(BLOCKED, pods=[HELD_BLOCKED]), [PATH]),
    "the next pod is not held back": (
        partitioned(BLOCKED, pods=[HELD_BLOCKED], next_one="new"),
        [f"{PATH}[0].minDomains"],
    ),
}


@pytest.mark.parametrize(("judged", "fields"), HELD_NEXT.values(), ids=HELD_NEXT.keys())
def test_the_next_pod_has_the_constraints_of_its_revision(
    judged: Subject, fields: list[str]
) -> None:
    found = check_rule("TSC106", judged, audit(THREE, judged.running))

    assert [violation.field for violation in found] == fields


def test_a_change_of_the_template_is_not_suggested_for_another_revision() -> None:
    judged = partitioned(pods=[HELD_BLOCKED])

    (violation,) = check_rule("TSC106", judged, audit(THREE, judged.running))

    assert violation.instead == (
        "# lower partition: the next pod has the constraints of an older revision, which the "
        "template does not change"
    )


@pytest.mark.parametrize("nodes", [THREE, []])
def test_requirements_that_no_node_can_satisfy(nodes: list[Node]) -> None:
    requirements = {"nodeSelector": {ZONE: "zone-a"}, **required([among("zone-b")])}

    (violation,) = check_rule("TSC106", judged(spread(), **requirements), audit(nodes))

    assert violation.problem == (
        "by nodeSelector and node affinity its pods can go to no node, whatever nodes are added: "
        "the requirements contradict each other, or are empty, and the pods stay Pending"
    )
    assert violation.brief == "no node can satisfy nodeSelector and node affinity"


@pytest.mark.parametrize(("key", "found"), [(JOB_NAME, 0), ("app", 1)])
def test_to_which_job_of_a_job_set_the_next_pod_belongs_is_unknown(key: str, found: int) -> None:
    """Each Job has a pod in each of two zones, where minDomains 3 allows one."""
    apart = job_set(key, minDomains=3)
    pods = [running("a1", "b1")]

    reported = check_rule("TSC106", replace(apart, running=tuple(pods)), audit(SMALL, pods))

    assert len(reported) == found

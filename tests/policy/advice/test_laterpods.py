"""Awaited pods without a place while nodes are cordoned, or not ready."""

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tests.build import Json, gates, policy, spread
from tests.policy.advice.orders import count_placed
from tests.policy.advice.subjects import (
    GPU,
    LEAVING,
    NOT_READY,
    THREE,
    admission,
    audit,
    check_rule,
    deployed,
    job_set,
    node,
    running,
    subject,
    worker_set,
    workload,
    zones,
)
from webhook.policy.advice.findings import WAIT_FOR_NODES
from webhook.policy.advice.subject import Subject
from webhook.policy.kinds import JOB, STATEFUL_SET
from webhook.policy.model import HOSTNAME, ZONE, Constraint, Node
from webhook.policy.placement.nodes import UNSCHEDULABLE
from webhook.policy.podlabels import JOB_NAME, WORKER_SET_NAME

HONOR = "nodeTaintsPolicy: Honor"
HOST = spread(topologyKey=HOSTNAME)


def cordon(one: Node, *, tainted: bool = True) -> Node:
    return replace(one, unschedulable=True, taints=(UNSCHEDULABLE,) if tainted else ())


DRAINED = [*zones("a1", "a2", "b1", "b2"), *map(cordon, zones("c1", "c2"))]
UNEVEN = [*zones("a1", "a2", "a3", "a4", "b1", "b2"), *map(cordon, zones("c1", "c2"))]
NEAR_CACHE = {
    "podAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "cache"}}}
        ]
    }
}
OFF = policy(gates=gates(NodeInclusionPolicyInPodTopologySpread=False))


def naming(key: str, name: str, **changes: Any) -> Json:
    """Make a constraint on pods by the label with which a controller names their workload."""
    return spread(labelSelector={"matchLabels": {key: name}}, **changes)


NAMES = {"jobset.sigs.k8s.io/jobset-name": "js", "jobset.sigs.k8s.io/replicatedjob-name": "w"}

# subject, nodes, what to do
LATER: dict[str, tuple[Subject, list[Node], list[str]]] = {
    "a drained zone": (deployed(spread()), DRAINED, [HONOR]),
    "a drained zone for a Job, by its name": (
        subject(workload(naming(JOB_NAME, "web"), kind=JOB, parallelism=6)), DRAINED, [HONOR]
    ),
    "a drained zone for a Job, by its name of before": (
        subject(workload(naming("job-name", "web"), kind=JOB, parallelism=6)), DRAINED, [HONOR]
    ),
    "a drained zone for a JobSet, by its names": (
        job_set(labelSelector={"matchLabels": NAMES}), DRAINED, [HONOR]
    ),
    "a drained zone for a LeaderWorkerSet, by its name": (
        worker_set(labelSelector={"matchLabels": {WORKER_SET_NAME: "lws"}}), DRAINED, [HONOR]
    ),
    "a drained zone for a Job, by the name of another": (
        subject(workload(naming(JOB_NAME, "db"), kind=JOB, parallelism=6)), DRAINED, []
    ),
    "a drained zone for a StatefulSet without volumes": (
        subject(workload(spread(), kind=STATEFUL_SET, replicas=6)), DRAINED, [HONOR]
    ),
    "a drained zone, and volumes that would all be created in the others": (
        subject(workload(spread(), kind=STATEFUL_SET, replicas=6, volumeClaimTemplates=[{}])),
        DRAINED,
        [WAIT_FOR_NODES],
    ),
    "a drained zone, and nodes": (deployed(spread(), HOST), DRAINED, [HONOR, HONOR]),
    "a drained zone, and nodes that zones of two sizes exclude": (
        deployed(spread(nodeTaintsPolicy="Honor"), HOST, replicas=9), UNEVEN, [WAIT_FOR_NODES]
    ),
    "a drained zone, and pods to be near": (
        deployed(spread(), template_spec={"affinity": NEAR_CACHE}), DRAINED, []
    ),
    "a zone that is not ready": (
        deployed(spread()), [*zones("a1", "b1"), node("c1", "zone-c", NOT_READY)], [HONOR]
    ),
    "a zone that an autoscaler is about to delete": (
        deployed(spread()), [*zones("a1", "b1"), node("c1", "zone-c", LEAVING)], [HONOR]
    ),
    "a cordon without its taint": (
        deployed(spread()),
        [*zones("a1", "b1"), cordon(*zones("c1"), tainted=False)],
        [WAIT_FOR_NODES],
    ),
    "a drained node of a zone": (deployed(spread()), [*THREE, cordon(*zones("a3"))], []),
    "a drained zone that does not count, and too few others": (
        deployed(spread(minDomains=3, nodeTaintsPolicy="Honor")), DRAINED, [WAIT_FOR_NODES]
    ),
    "a drained zone, and one too few": (deployed(spread(minDomains=4)), DRAINED, [WAIT_FOR_NODES]),
    "a drained zone, and a tainted one": (
        deployed(spread()), [*DRAINED, node("d1", "zone-d", GPU)], [HONOR]
    ),
    "a drained node of a tainted zone": (
        deployed(spread()),
        [*zones("a1", "b1"), cordon(*zones("c1")), node("c2", "zone-c", GPU)], [HONOR],
    ),
    "a drained zone that is tainted, which another finding is about": (
        deployed(spread()),
        [*zones("a1", "b1"), replace(node("c1", "zone-c", GPU), unschedulable=True)], [],
    ),
    "taints are honored": (deployed(spread(nodeTaintsPolicy="Honor")), DRAINED, []),
    "pods that have a place": (deployed(spread(), replicas=2), DRAINED, []),
    "one pod": (deployed(spread(), replicas=1), DRAINED, []),
    "a tainted zone, which another finding is about": (
        deployed(spread()), [*zones("a1", "b1"), node("c1", "zone-c", GPU)], []
    ),
    "a soft constraint": (
        deployed(spread(whenUnsatisfiable="ScheduleAnyway")), DRAINED, []
    ),
    "a constraint that does not count its pods": (
        deployed(spread(labelSelector={"matchLabels": {"app": "shop"}})), DRAINED, []
    ),
    "an unknown number of replicas": (deployed(spread(), replicas=None), DRAINED, []),
}  # fmt: skip


@pytest.mark.parametrize(("judged", "nodes", "instead"), LATER.values(), ids=LATER.keys())
def test_pods_that_wait_for_nodes(judged: Subject, nodes: list[Node], instead: list[str]) -> None:
    found = check_rule("TSC106", judged, audit(nodes))

    assert [violation.instead for violation in found] == instead
    assert check_rule("TSC106", judged, admission(nodes)) == []
    if instead:
        assert max(count_placed(judged, nodes, judged.replicas or 0)) < (judged.replicas or 0)


ENOUGH = spread(minDomains=3, nodeTaintsPolicy="Honor")
UNREADY = "2 of 6 pods that wait have a place: all nodes of zone-c that they can go to are cordoned"
KEY = '"topology.kubernetes.io/zone"'

# subject, what is said after the nodes, field of the constraint
NAMED: dict[str, tuple[Subject, str, str]] = {
    "counted": (deployed(spread()), f"but {KEY} counts them", ".nodeTaintsPolicy"),
    "counted, beside too few domains": (
        deployed(spread(minDomains=4)),
        f"but {KEY} counts them",
        "",
    ),
    "not counted": (deployed(ENOUGH), f"so that {KEY} has 2 domains, and minDomains is 3", ""),
}


@pytest.mark.parametrize(("judged", "effect", "field"), NAMED.values(), ids=NAMED.keys())
def test_the_closed_domains_and_the_places_are_named(
    judged: Subject, effect: str, field: str
) -> None:
    (violation,) = check_rule("TSC106", judged, audit(DRAINED))

    assert violation.field == f"spec.template.spec.topologySpreadConstraints[0]{field}"
    assert violation.problem == f"{UNREADY}, not ready or tainted for now, {effect}"


def test_nodes_that_return_are_no_cause_beside_enough_domains() -> None:
    """The zone that affinity closes counts without pods; TSC116 reports it."""
    nodes = [*zones("a1", "b1", "b2"), *map(cordon, zones("b3", "c1"))]
    honoring = spread(topologyKey=HOSTNAME, nodeTaintsPolicy="Honor", nodeAffinityPolicy="Ignore")
    judged = deployed(honoring, template_spec={"nodeSelector": {ZONE: "zone-b"}})

    assert check_rule("TSC106", judged, audit(nodes)) == []
    assert check_rule("TSC116", judged, audit(nodes))


def test_nodes_that_return_are_a_cause_beside_a_domain_that_stays_closed() -> None:
    nodes = [*zones("a1", "b1"), *map(cordon, zones("b2"))]
    honoring = spread(topologyKey=HOSTNAME, nodeTaintsPolicy="Honor", nodeAffinityPolicy="Ignore")
    judged = deployed(
        honoring,
        replicas=2,
        strategy={"type": "Recreate"},
        template_spec={"nodeSelector": {ZONE: "zone-b"}},
    )

    (violation,) = check_rule("TSC106", judged, audit(nodes))

    assert violation.problem == (
        "1 of 2 pods that wait have a place: b2 is cordoned, not "
        f'ready or tainted for now, and each other domain takes 1 pod at most, since "{HOSTNAME}" '
        "counts a1, where they cannot go"
    )
    assert violation.instead == "nodeAffinityPolicy: Honor"
    assert check_rule("TSC116", judged, audit(nodes)) == []


def test_nodes_without_the_key_of_another_constraint_open_no_domain() -> None:
    nodes = [node("b1", "b"), cordon(node("b2", "b", rack="r2")), node("a1", "a", rack="r1")]
    rack = spread(topologyKey="rack")

    found = check_rule("TSC106", deployed(rack, spread(), replicas=2), audit(nodes))

    assert [(one.field.partition("[")[2], one.instead) for one in found] == [
        ("0].nodeTaintsPolicy", HONOR),
        ("1].nodeTaintsPolicy", HONOR),
    ]


INDEX = "jobset.sigs.k8s.io/job-index"
BY_JOB = spread(topologyKey=HOSTNAME, whenUnsatisfiable="ScheduleAnyway", matchLabelKeys=[INDEX])

# constraints of a JobSet of two Jobs of three pods each, pods that have a place in two zones
OF_JOBS: dict[str, tuple[tuple[Json, ...], str]] = {
    "a soft constraint that compares Jobs": ((spread(), BY_JOB), "2 of 6 pods"),
    "a hard constraint that compares Jobs": ((spread(matchLabelKeys=[INDEX]),), "4 of 6 pods"),
    "both": ((spread(), spread(matchLabelKeys=[INDEX], maxSkew=9)), "at most 2 of 6 pods"),
}


@pytest.mark.parametrize(("constraints", "places"), OF_JOBS.values(), ids=OF_JOBS)
def test_pods_of_several_jobs_wait_for_nodes(constraints: tuple[Json, ...], places: str) -> None:
    written = tuple(msgspec.convert(one, Constraint) for one in constraints)
    judged = job_set(jobs=2, parallelism=3).with_constraints(written)

    (violation,) = check_rule("TSC106", judged, audit(DRAINED))

    assert violation.problem.startswith(f"{places} that wait have a place: all nodes of zone-c ")
    assert violation.instead == HONOR


def test_of_running_jobs_only_what_all_jobs_share_is_certain() -> None:
    pods = running("a1", "b1")
    apart, beside = spread(matchLabelKeys=[INDEX]), spread()
    found = []
    for constraints in ([apart], [apart, beside]):
        written = tuple(msgspec.convert(one, Constraint) for one in constraints)
        judged = job_set(jobs=2, parallelism=3).with_constraints(written)
        judged = replace(judged, running=(pods,))
        found.append(check_rule("TSC106", judged, audit(DRAINED, [pods])))

    assert [len(one) for one in found] == [0, 1]


def test_several_constraints_may_allow_fewer_pods_than_each_alone() -> None:
    nodes = [*zones("a0", "a1", "a2", "b1"), cordon(*zones("b0"))]
    judged = deployed(spread(), HOST)

    (violation,) = check_rule("TSC106", judged, audit(nodes))

    assert violation.problem.startswith("at most 4 of 6 pods that wait have a place: b0 is ")
    assert violation.brief.startswith("at most 4 of 6 pods have a place while ")
    assert max(count_placed(judged, nodes, 6)) == 3


def test_no_pod_has_a_place_before_nodes_have_the_keys_of_all_hard_constraints() -> None:
    judged = deployed(spread(topologyKey="topology.kubernetes.io/zones"), spread())

    (violation,) = check_rule("TSC106", judged, audit(DRAINED))

    assert violation.problem.startswith(
        "at most 2 of 6 pods that wait have a place, and none before nodes have "
        '"topology.kubernetes.io/zones": all nodes of zone-c '
    )
    assert violation.instead == HONOR


def test_without_node_policies_the_nodes_must_return() -> None:
    (violation,) = check_rule("TSC106", deployed(spread()), audit(DRAINED, config=OFF))

    assert violation.instead == WAIT_FOR_NODES


def test_pods_that_run_have_a_place_already() -> None:
    pods = running("a1", "b1", "c1")
    judged = replace(deployed(spread()), running=(pods,))

    (violation,) = check_rule("TSC106", judged, audit(DRAINED, [pods]))

    assert violation.problem.startswith(
        "2 of 3 pods that wait have a place: all nodes of zone-c that "
    )
    assert check_rule("TSC106", replace(judged, replicas=5), audit(DRAINED, [pods])) == []


def test_pods_that_count_only_themselves_all_have_a_place() -> None:
    nodes = [*zones("a1"), cordon(*zones("b1"))]
    key = "apps.kubernetes.io/pod-index"
    alone = subject(workload(spread(matchLabelKeys=[key]), kind=STATEFUL_SET, replicas=4))

    assert check_rule("TSC106", alone, audit(nodes)) == []

import pytest
from msgspec.structs import replace

from tests.build import Json, gates, policy, spread
from tests.policy.advice.subjects import (
    GPU,
    audit,
    check_rule,
    deployed,
    node,
    running,
    subject,
    suggestions,
    workload,
    zones,
)
from webhook.policy.advice.findings import WAIT_FOR_NODES
from webhook.policy.advice.subject import Subject
from webhook.policy.api.gates import Gates
from webhook.policy.kinds import REPLICA_SET, STATEFUL_SET
from webhook.policy.model import HOSTNAME, Node
from webhook.policy.placement.nodes import UNSCHEDULABLE
from webhook.policy.podlabels import TEMPLATE_HASH

SOFT = "ScheduleAnyway"
PATH = "spec.template.spec.topologySpreadConstraints"
HOST = spread(topologyKey=HOSTNAME)
DRAINED_NODE = replace(node("c1", "zone-c", UNSCHEDULABLE), unschedulable=True)
DRAINED = [*zones("a1", "b1"), DRAINED_NODE]
OFF = gates(NodeInclusionPolicyInPodTopologySpread=False)
MANY = spread(minDomains=5)
ENOUGH = spread(minDomains=3, nodeTaintsPolicy="Honor")
MANY_HOSTS = spread(topologyKey=HOSTNAME, minDomains=9)

# constraints, nodes, gates, changed field and its value
CAUSES: dict[str, tuple[list[Json], list[Node], Gates, tuple[str, str]]] = {
    "a cordoned zone": (
        [spread()], DRAINED, gates(), (f"{PATH}[0].nodeTaintsPolicy", "nodeTaintsPolicy: Honor")
    ),
    "a zone of tainted nodes": (
        [spread()], [*zones("a1", "b1"), node("c1", "zone-c", GPU)], gates(),
        (f"{PATH}[0].nodeTaintsPolicy", "nodeTaintsPolicy: Honor"),
    ),
    "a cordoned zone without node policies": (
        [spread()], DRAINED, OFF, (f"{PATH}[0]", WAIT_FOR_NODES)
    ),
    "a cordoned zone, and two constraints": (
        [spread(), HOST], DRAINED, gates(), (f"{PATH}[0]", WAIT_FOR_NODES)
    ),
    "a cordoned zone that does not count, and too few others": (
        [ENOUGH], DRAINED, gates(), (f"{PATH}[0]", WAIT_FOR_NODES)
    ),
    "too few domains": (
        [MANY], zones("a1", "b1"), gates(), (f"{PATH}[0].minDomains", "minDomains: 2")
    ),
    "too few domains, and zones of different sizes": (
        [MANY, spread(topologyKey=HOSTNAME, maxSkew=2)], zones("a1", "b1", "b2", "b3"), gates(),
        (f"{PATH}[0].minDomains", f"whenUnsatisfiable: {SOFT}\nminDomains: null"),
    ),
    "too few domains of two keys": (
        [MANY, MANY_HOSTS], zones("a1", "b1"), gates(),
        (f"{PATH}[0].whenUnsatisfiable", f"whenUnsatisfiable: {SOFT}\nminDomains: null"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("constraints", "nodes", "known", "expected"), CAUSES.values(), ids=CAUSES.keys()
)
def test_the_cause_is_changed_rather_than_the_skew(
    constraints: list[Json], nodes: list[Node], known: Gates, expected: tuple[str, str]
) -> None:
    context = audit(nodes, [running("a1", "b1")], config=policy(gates=known))

    (violation,) = check_rule("TSC106", deployed(*constraints), context)

    assert (violation.field, violation.instead) == expected


@pytest.mark.parametrize(
    ("claims", "instead"), [([], "nodeTaintsPolicy: Honor"), ([{}], WAIT_FOR_NODES)]
)
def test_volumes_are_not_all_to_be_created_outside_a_cordoned_zone(
    claims: list[Json], instead: str
) -> None:
    judged = subject(workload(spread(), kind=STATEFUL_SET, volumeClaimTemplates=claims))

    assert suggestions("TSC106", judged, audit(DRAINED, [running("a1", "b1")])) == [instead]


def test_without_node_policies_another_change_is_suggested() -> None:
    off = policy(gates=gates(NodeInclusionPolicyInPodTopologySpread=False))
    nodes = [*zones("a1"), node("c1", "zone-c", GPU)]

    three = replace(deployed(spread(), replicas=3), kind=REPLICA_SET)
    waiting = replace(three, running=(running("a1", "gone"),))

    (violation,) = check_rule("TSC106", waiting, audit(nodes, [running("a1")], config=off))

    assert violation.instead == "maxSkew: 2"
    assert suggestions("TSC106", deployed(spread()), audit(nodes, [running("a1")], config=off)) == [
        f"whenUnsatisfiable: {SOFT}"  # a maxSkew of all replicas would keep no pod from any zone
    ]
    assert violation.problem == (
        "the one node that its pods can go to rejects the next pod: "
        '"topology.kubernetes.io/zone" rejects 1'
    )


FULL = running("a1", "b1", "b1", labels={"app": "web", TEMPLATE_HASH: "abc"})
APART = [TEMPLATE_HASH]
ZONE_TWICE = (spread(), spread(nodeTaintsPolicy="Honor"))
HOST_HONORING = spread(topologyKey=HOSTNAME, nodeTaintsPolicy="Honor")


def filled(*constraints: Json, replicas: int = 3) -> Subject:
    """Build a Deployment with a pod in zone-a and two on one node of zone-b."""
    return replace(deployed(*constraints, replicas=replicas), running=(FULL,))


# a Deployment; field and value that place its next pod; nothing if there is a place
REVISIONS: dict[str, tuple[Subject, tuple[str, str] | None]] = {
    "a new revision, which has a place if zones count it apart": (
        filled(spread(), HOST),
        (f"{PATH}[0].matchLabelKeys", f"matchLabelKeys: [{TEMPLATE_HASH}]"),
    ),
    "a new revision, beside a constraint that counts it apart": (
        filled(spread(topologyKey=HOSTNAME, maxSkew=2, matchLabelKeys=APART), spread(), HOST),
        (f"{PATH}[1].matchLabelKeys", f"matchLabelKeys: [{TEMPLATE_HASH}]"),
    ),
    "a new revision, which two constraints on zones count together": (
        filled(*ZONE_TWICE, HOST),
        (f"{PATH}[2].matchLabelKeys", f"matchLabelKeys: [{TEMPLATE_HASH}]"),
    ),
    "a new revision, which no single change places": (
        filled(*ZONE_TWICE, HOST, HOST_HONORING),
        (f"{PATH}[0].whenUnsatisfiable", f"whenUnsatisfiable: {SOFT}"),
    ),
    "a new revision, which both constraints count apart": (
        filled(spread(matchLabelKeys=APART), spread(topologyKey=HOSTNAME, matchLabelKeys=APART)),
        None,
    ),
    "a missing replica": (filled(spread(), HOST, replicas=4), (f"{PATH}[0].maxSkew", "maxSkew: 2")),
}  # fmt: skip


@pytest.mark.parametrize(("judged", "expected"), REVISIONS.values(), ids=REVISIONS.keys())
def test_a_pod_that_only_a_rollout_adds_is_counted_apart(
    judged: Subject, expected: tuple[str, str] | None
) -> None:
    found = check_rule("TSC106", judged, audit(zones("a1", "b1", "b2"), judged.running))

    assert [(one.field, one.instead) for one in found] == ([expected] if expected else [])


def test_without_the_gate_revisions_are_not_counted_apart() -> None:
    off = policy(
        gates=gates(
            MatchLabelKeysInPodTopologySpread=False,
            MatchLabelKeysInPodTopologySpreadSelectorMerge=False,
        )
    )
    judged = filled(spread(), HOST)
    context = audit(zones("a1", "b1", "b2"), judged.running, config=off)

    assert suggestions("TSC106", judged, context) == ["maxSkew: 2"]

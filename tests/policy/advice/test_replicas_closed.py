"""TSC109 while nodes are cordoned, not ready or tainted, and once they return."""

import pytest
from msgspec.structs import replace

from tests.build import Json, spread
from tests.policy.advice.subjects import (
    GPU,
    audit,
    check_rule,
    deployed,
    node,
    running,
    zones,
)
from webhook.policy.advice.findings import WAIT_FOR_NODES
from webhook.policy.model import HOSTNAME, ZONE, Node
from webhook.policy.placement.nodes import UNSCHEDULABLE

HOST = spread(topologyKey=HOSTNAME)
UNEVEN = zones("a1", "b1", "b2", "b3")


def cordon(one: Node) -> Node:
    return replace(one, unschedulable=True, taints=(UNSCHEDULABLE,))


def test_a_conflict_that_passes_is_no_reason_to_relax() -> None:
    honoring = [spread(topologyKey=key, nodeTaintsPolicy="Honor") for key in (ZONE, HOSTNAME)]
    judged = deployed(*honoring, replicas=4)
    cordoned = replace(node("b2", "zone-b", UNSCHEDULABLE), unschedulable=True)
    nodes = zones("a1", "a2", "a3", "b1", "b2")

    (violation,) = check_rule("TSC109", judged, audit([*nodes[:4], cordoned]))

    assert violation.problem.startswith(
        "while nodes are cordoned, not ready or tainted, there is no way to place more than 3 of 4 "
    )
    assert violation.instead == WAIT_FOR_NODES
    assert check_rule("TSC109", judged, audit(nodes)) == []


# constraints, replicas, nodes that are open, the most replicas; other nodes are cordoned
COUNTED: dict[str, tuple[list[Json], int, list[Node], int]] = {
    "nested domains": ([spread(maxSkew=2), HOST], 4, zones("b1", "c1", "c2", "c3"), 3),
    "crossing domains": (
        [spread(maxSkew=2), spread(topologyKey="rack", maxSkew=3)], 6,
        [
            node("n0", "c", rack="s"), node("n1", "b", rack="t"), node("n2", "c", rack="r"),
            node("n3", "a", rack="t"),
        ],
        5,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("written", "replicas", "nodes", "most"), COUNTED.values(), ids=COUNTED)
def test_cordoned_nodes_count_while_no_pod_runs(
    written: list[Json], replicas: int, nodes: list[Node], most: int
) -> None:
    context = audit([*nodes, cordon(node("x1", "x", rack="x"))])
    judged = deployed(*written, replicas=replicas)
    started = replace(judged, running=(running(nodes[0].name),))

    (violation,) = check_rule("TSC109", judged, context)

    assert violation.problem.startswith(
        "while nodes are cordoned, not ready or tainted, there is no way to place more than "
        f"{most} of {replicas} "
    )
    assert violation.instead == WAIT_FOR_NODES
    assert check_rule("TSC109", started, context) == []


def test_a_conflict_that_one_constraint_hides_for_now_is_found() -> None:
    nodes = [*zones("a1", "a2", "a3", "a4", "b1"), cordon(*zones("b2")), node("b9", "zone-b", GPU)]
    judged = deployed(spread(), HOST)

    (violation,) = check_rule("TSC109", judged, audit(nodes))

    assert violation.problem == (
        "once no node is cordoned, not ready or tainted any more, there is no way to place more "
        'than 5 of 6 replicas one after the other so that "topology.kubernetes.io/zone" keeps '
        'maxSkew 1 and "kubernetes.io/hostname" keeps maxSkew 1'
    )
    assert violation.instead == "maxSkew: 3"


def test_a_conflict_that_lasts_is_reported_once() -> None:
    nodes = [*UNEVEN, cordon(*zones("b4"))]

    (violation,) = check_rule("TSC109", deployed(spread(), HOST), audit(nodes))

    assert violation.problem.startswith("there is no way to place more than ")
    assert not violation.problem.endswith("though each alone can be kept")
    (always,) = check_rule("TSC109", deployed(spread(), HOST), audit(UNEVEN))
    assert always.problem.endswith("though each alone can be kept")


def test_different_nodes_may_count_for_zones_and_for_nodes() -> None:
    judged = deployed(spread(), spread(topologyKey=HOSTNAME, nodeTaintsPolicy="Honor"))
    nodes = [*UNEVEN, node("cp", "zone-a", GPU)]

    (violation,) = check_rule("TSC109", judged, audit(nodes))

    assert violation.problem.startswith("there is no way to place more than 3 of 6 replicas one ")


def test_a_conflict_that_lasts_may_leave_other_numbers_once_nodes_are_open() -> None:
    nodes = [*zones("a1", "b1", "c1", "c2"), cordon(*zones("a2"))]

    (violation,) = check_rule("TSC109", deployed(spread(), HOST, replicas=9), audit(nodes))

    assert violation.problem.startswith(
        "there is no way to place more than 7 of 9 replicas (8 once no node is cordoned, not ready "
        "or tainted any more) one after the other so that "
    )

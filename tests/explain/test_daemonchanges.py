"""Changes for a DaemonSet are tried with all missing pods, each of which keeps its node."""

import pytest

from tests.explain.scenarios import scenario
from tests.policy.placement.clusters import node, spread_over
from webhook.explain.awaited import MOST_PLACEMENTS
from webhook.explain.daemonchanges import find_daemon_changes
from webhook.explain.daemons import DaemonPods, WaitingPod, find_missing, pin
from webhook.policy.model import Constraint, Node
from webhook.policy.placement.daemondemands import daemon_demands
from webhook.policy.placement.nodes import Demands

ALL = spread_over(node_affinity_policy="Ignore")
NODES = (node("a1", "a"), node("a2", "a"), node("a3", "a"), node("b1", "b"))


def find(
    *constraints: Constraint, nodes: tuple[Node, ...] = NODES, running: tuple[str, ...] = ("a1",)
) -> list[tuple[str, tuple[str, ...], int | None, int]]:
    """Find the changes for the first missing pod that cannot be placed, by its node."""
    demands = daemon_demands(Demands(), host_network=False)
    question = scenario(
        nodes, *constraints, pods=dict.fromkeys(running, 1), demands=demands
    )  # fmt: skip
    pods = DaemonPods(dict.fromkeys(running, "p"))
    report = find_missing(question, pods)
    blocked = next(pod for pod in report.missing if pod.reason)
    pinned = pin(question, next(one for one in nodes if one.name == blocked.node))
    changes = find_daemon_changes(question, pinned, report, pods)
    return [(one.sentence, one.nodes, one.placed, one.awaited) for one in changes]


def test_changes_of_constraints_place_the_missing_pods() -> None:
    everywhere = ("a2", "a3", "b1")

    assert find(ALL) == [
        ("set nodeAffinityPolicy of constraint 0 (zone) to Honor", everywhere, 3, 3),
        ("raise maxSkew of constraint 0 (zone) from 1 to 2", everywhere, 3, 3),
        ("make constraint 0 (zone) ScheduleAnyway", everywhere, 3, 3),
    ]


def test_a_max_skew_is_raised_until_it_places_all_missing_pods() -> None:
    nodes = (*NODES[:3], node("c1", "c"), node("a4", "a"))

    raised = [change for change in find(ALL, nodes=nodes) if "maxSkew" in change[0]]

    assert raised == [
        ("raise maxSkew of constraint 0 (zone) from 1 to 3", ("a2", "a3", "c1", "a4"), 4, 4)
    ]


def test_a_change_that_places_some_missing_pods_comes_last() -> None:
    nodes = (node("a1", "a"), node("n1"), node("n2"))

    found = find(ALL, nodes=nodes, running=("a1",))

    assert found[-1] == ("label node n1 with zone=a", ("n1",), 1, 2)


def test_too_many_missing_pods_are_not_tried() -> None:
    number = int(MOST_PLACEMENTS**0.5) + 2
    nodes = (*(node(f"a{i}", "a") for i in range(number)), node("b1", "b"))

    changes = find(ALL, nodes=nodes, running=("a0",))

    assert {(placed, awaited) for _, _, placed, awaited in changes} == {(None, number)}


@pytest.mark.parametrize("edit", ["uncordon", "add 1 node", "affinity out of the pod", "tolerate"])
def test_no_change_would_move_a_pod_from_its_node(edit: str) -> None:
    assert not [change for change in find(ALL) if edit in change[0]]


def test_changes_are_tried_with_the_constraints_that_each_pod_has() -> None:
    demands = daemon_demands(Demands(), host_network=False)
    new, own = (scenario(NODES, *one, pods={"a1": 1}, demands=demands) for one in ([], [ALL]))
    pods = DaemonPods({"a1": "p"}, {"a2": WaitingPod("q", "Pending", own)})
    report = find_missing(new, pods)

    changes = find_daemon_changes(new, pin(own, NODES[1]), report, pods)

    assert {(one.placed, one.awaited) for one in changes} == {(3, 3)}
    assert "raise maxSkew of constraint 0 (zone) from 1 to 2" in [one.sentence for one in changes]

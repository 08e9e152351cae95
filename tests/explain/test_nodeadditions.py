"""New nodes have the labels that the pod, its constraints and its volumes require."""

import pytest

from tests.explain.filterscenarios import TWO as HIGH
from tests.explain.filterscenarios import filter_scenario, running, storage_scenario
from tests.explain.scenarios import scenario
from tests.policy.placement.clusters import node, spread_over
from tests.policy.placement.filters.objects import anti_affinity, term
from tests.policy.placement.filters.volumes import in_zones, volume_object
from webhook.explain.nodeadditions import add_nodes
from webhook.explain.remedies import MOST_TOGETHER
from webhook.explain.scenario import Scenario
from webhook.policy.model import HOSTNAME, ZONE
from webhook.policy.placement.nodes import Demands

TWO = (node("n1", "a"), node("n2", "b"))
HOST = spread_over(HOSTNAME)
SSD = Demands(pairs=(("disk", "ssd"),))

# scenario, the first of what is tried
TRIED: dict[str, tuple[Scenario, list[list[str]]]] = {
    "a new node is away from pods that avoid the pod, or that it avoids": (
        filter_scenario(
            HIGH[:1],
            [running("x", "n1", affinity=anti_affinity(term("rack", app="web")))],
            affinity=anti_affinity(term(ZONE, app="web"), term(HOSTNAME, app="web")),
        ),
        [["add 1 node like n1 with zone=new-zone-1, rack=new-rack-1"]],
    ),
    "a node in the emptiest domain, then where it fits, then in new domains": (
        scenario(TWO, spread_over(), pods={"n1": 1}),
        [
            ["add 1 node with zone=b"],
            ["add 1 node with zone=b"],
            ["add 1 node with zone=new-zone-1"],
            ["add 1 node with zone=new-zone-1"],
            ["add 1 node with zone=new-zone-1", "add 1 node with zone=new-zone-2"],
        ],
    ),
    "a node that the pod requires, in the first domain of all": (
        scenario([], spread_over(), demands=SSD),
        [
            ["add 1 node with disk=ssd, zone=new-zone-1"],
            ["add 1 node with disk=ssd, zone=new-zone-1"],
        ],
    ),
    "the zone that the pod requires": (
        scenario([], spread_over(), HOST, demands=Demands(pairs=((ZONE, "x"),))),
        [["add 1 node with zone=x"], ["add 1 node with zone=x"]],
    ),
    "a node without a zone stands for a new one": (
        scenario([node("n1", rack="r")], spread_over(), spread_over("rack")),
        [
            ["add 1 node with zone=new-zone-1, rack=new-rack-1"],
            ["add 1 node with zone=new-zone-1, rack=r"],
        ],
    ),
}


@pytest.mark.parametrize(("question", "expected"), TRIED.values(), ids=TRIED.keys())
def test_the_first_candidates(question: Scenario, expected: list[list[str]]) -> None:
    tried = [list(map(str, edits)) for edits in add_nodes(question, question.placement())]

    assert tried[: len(expected)] == expected


def test_only_so_many_nodes_are_added_together() -> None:
    many = [node(f"n{number}") for number in range(MOST_TOGETHER + 4)]
    bare = scenario(many, spread_over(min_domains=MOST_TOGETHER + 1))

    assert max(map(len, add_nodes(bare, bare.placement()))) == MOST_TOGETHER


def test_new_nodes_can_access_the_volumes() -> None:
    pending = storage_scenario(HIGH, volume_object("pv", **in_zones("c", "d", key=ZONE)))

    tried = [list(map(str, edits)) for edits in add_nodes(pending, pending.placement())]

    assert tried[:3] == [
        ["add 1 node like n1 with zone=c"],
        ["add 1 node like n1 with zone=d"],
        ["add 1 node like n1 with zone=c"],
    ]


def test_no_new_node_can_access_a_local_volume() -> None:
    pending = storage_scenario(HIGH, volume_object("pv", **in_zones("n3", key=HOSTNAME)))

    assert list(add_nodes(pending, pending.placement())) == []

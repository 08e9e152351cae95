from collections.abc import Callable, Iterator

import pytest
from msgspec.structs import replace

from tests.policy.explain.scenarios import scenario
from tests.policy.placement.clusters import GPU, node, spread_over
from webhook.policy.defaulting.profiles import HOSTNAME, ZONE
from webhook.policy.explain.noderemedies import (
    MOST_TOGETHER,
    add_nodes,
    combine_changes,
    label_nodes,
    uncordon,
)
from webhook.policy.explain.remedies import Edits
from webhook.policy.explain.scenario import Scenario
from webhook.policy.model import Node
from webhook.policy.placement.nodes import Demands
from webhook.policy.placement.place import PodPlacement
from webhook.policy.placement.taints import UNSCHEDULABLE

TWO = (node("n1", "a"), node("n2", "b"))
HOST = spread_over(HOSTNAME)
SSD = Demands(pairs=(("disk", "ssd"),))


def cordoned(name: str, zone: str | None = None) -> Node:
    return replace(node(name, zone, taints=[UNSCHEDULABLE]), unschedulable=True)


Search = Callable[[Scenario, PodPlacement], Iterator[Edits]]

# way, scenario, the first of what is tried
TRIED: dict[str, tuple[Search, Scenario, list[list[str]]]] = {
    "a cordoned node of each zone, then all": (
        uncordon,
        scenario([*TWO, cordoned("c1", "c"), cordoned("c2", "c"), cordoned("d1", "d")],
                  spread_over()),
        [["uncordon node c1"], ["uncordon node d1"], ["uncordon node c1", "uncordon node d1"]],
    ),
    "no node is cordoned": (uncordon, scenario(TWO, spread_over()), []),
    "a node that lacks the key joins the emptiest domain, then a new one": (
        label_nodes,
        scenario([*TWO, node("n3")], spread_over(), pods={"n1": 1}),
        [["label node n3 with zone=b"], ["label node n3 with zone=new-zone-1"]],
    ),
    "nodes that lack the key form new domains together": (
        label_nodes,
        scenario([node("n1"), node("n2")], spread_over()),
        [
            ["label node n1 with zone=new-zone-1"],
            ["label node n1 with zone=new-zone-1"],
            ["label node n1 with zone=new-zone-1", "label node n2 with zone=new-zone-2"],
        ],
    ),
    "nodes that the pod cannot go to are not labelled": (
        label_nodes, scenario([node("n1", taints=[GPU])], spread_over()), []
    ),
    "no node lacks the key": (label_nodes, scenario(TWO, spread_over()), []),
    "a node in the emptiest domain, then where it fits, then in new domains": (
        add_nodes,
        scenario(TWO, spread_over(), pods={"n1": 1}),
        [
            ["add 1 node with zone=b"],
            ["add 1 node with zone=b"],
            ["add 1 node with zone=new-zone-1"],
            ["add 1 node with zone=new-zone-1"],
            ["add 1 node with zone=new-zone-1", "add 1 node with zone=new-zone-2"],
        ],
    ),
    "a node that the pod asks for, in the first domain of all": (
        add_nodes,
        scenario([], spread_over(), demands=SSD),
        [
            ["add 1 node with disk=ssd, zone=new-zone-1"],
            ["add 1 node with disk=ssd, zone=new-zone-1"],
        ],
    ),
    "the zone that the pod asks for": (
        add_nodes,
        scenario([], spread_over(), HOST, demands=Demands(pairs=((ZONE, "x"),))),
        [["add 1 node with zone=x"], ["add 1 node with zone=x"]],
    ),
    "a node without a zone stands for a new one": (
        add_nodes,
        scenario([node("n1", rack="r")], spread_over(), spread_over("rack")),
        [
            ["add 1 node with zone=new-zone-1, rack=new-rack-1"],
            ["add 1 node with zone=new-zone-1, rack=r"],
        ],
    ),
    "all that one node asks for, the least first": (
        combine_changes,
        scenario(
            [replace(cordoned("n1"), taints=(GPU, UNSCHEDULABLE)), node("n2", disk="ssd")],
            spread_over(min_domains=2),
            demands=replace(SSD, terms=()),
            pods={"n2": 1},
        ),
        [
            [
                "take the required node affinity out of the pod",
                "label node n2 with zone=new-zone-1",
                "raise maxSkew of constraint 0 (zone) from 1 to 2",
            ],
            [
                "uncordon node n1",
                "tolerate taint gpu:NoSchedule",
                "take disk=ssd out of nodeSelector",
                "take the required node affinity out of the pod",
                "label node n1 with zone=new-zone-1",
            ],
        ],
    ),
    "a node that asks for nothing but a skew": (
        combine_changes,
        scenario([node("n1", "a", disk="ssd")], spread_over(min_domains=2),
                  demands=SSD, pods={"n1": 1}),
        [["raise maxSkew of constraint 0 (zone) from 1 to 2"]],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("search", "question", "expected"), TRIED.values(), ids=TRIED.keys())
def test_the_candidates_in_order(
    search: Search, question: Scenario, expected: list[list[str]]
) -> None:
    tried = [list(map(str, edits)) for edits in search(question, question.placement())]

    assert tried[: len(expected)] == expected
    assert bool(tried) is bool(expected)


def test_only_so_many_nodes_are_changed_together() -> None:
    many = [node(f"n{i}") for i in range(MOST_TOGETHER + 4)]
    bare = scenario(many, spread_over(min_domains=MOST_TOGETHER + 1))
    shut = scenario([cordoned(each.name, each.name) for each in many], spread_over())

    for search, question in ((label_nodes, bare), (add_nodes, bare), (uncordon, shut)):
        assert max(map(len, search(question, question.placement()))) == MOST_TOGETHER

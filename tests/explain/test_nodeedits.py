import pytest
from msgspec.structs import replace

from tests.build import requirement
from tests.explain.filterscenarios import TWO, filter_scenario, owned_by, running
from tests.explain.scenarios import scenario
from tests.policy.placement.clusters import GPU, node
from webhook.explain.keynames import REGION, SHORT_NAMES
from webhook.explain.nodeedits import (
    AddNodes,
    Cordon,
    LabelNode,
    RemoveNodes,
    Uncordon,
    render_labels,
    resemble,
    shared_labels,
    suppose_resources,
)
from webhook.explain.scenario import ScenarioEdit
from webhook.policy.model import HOSTNAME, ZONE, Node
from webhook.policy.placement.nodeaffinity import NodeSelectorTerm
from webhook.policy.placement.nodes import UNSCHEDULABLE, Demands

OPEN = node("n1", "a", disk="ssd")
TAINTED = node("n2", "b", taints=[GPU], disk="ssd")
CORDONED = replace(TAINTED, taints=(GPU, UNSCHEDULABLE), unschedulable=True)

# nodes, edit, its sentence, nodes in the end
EDITS: dict[str, tuple[list[Node], ScenarioEdit, str, list[Node]]] = {
    "a node is uncordoned, and keeps its own taints": (
        [OPEN, CORDONED], Uncordon("n2"), "uncordon node n2", [OPEN, TAINTED]
    ),
    "a node is cordoned, and keeps its own taints": (
        [OPEN, TAINTED], Cordon("n2"), "cordon node n2", [OPEN, CORDONED]
    ),
    "a node that is cordoned twice has one taint of it": (
        [CORDONED], Cordon("n2"), "cordon node n2", [CORDONED]
    ),
    "a node that is not there": ([OPEN], Cordon("n9"), "cordon node n9", [OPEN]),
    "a node gets labels": (
        [OPEN],
        LabelNode("n1", {"rack": "r", ZONE: "z"}),
        "label node n1 with rack=r, zone=z",
        [node("n1", "z", disk="ssd", rack="r")],
    ),
    "a new node is like all others": (
        [OPEN, TAINTED],
        AddNodes({ZONE: "c"}),
        "add 1 node with zone=c",
        [OPEN, TAINTED, node("new-1", "c", disk="ssd")],
    ),
    "new nodes have names that are free": (
        [node("new-1")],
        AddNodes({HOSTNAME: "any"}, 2),
        "add 2 nodes",
        [node("new-1"), node("new-2"), node("new-3")],
    ),
    "the first node": ([], AddNodes({}), "add 1 node", [node("new-1")]),
    "a zone is lost": ([OPEN, TAINTED], RemoveNodes(ZONE, "a"), "lose zone a", [TAINTED]),
    "an empty region is lost": ([OPEN], RemoveNodes(REGION, "x"), "lose region x", [OPEN]),
}  # fmt: skip


@pytest.mark.parametrize(
    ("nodes", "edit", "sentence", "expected"), EDITS.values(), ids=EDITS.keys()
)
def test_an_edit(
    nodes: list[Node], edit: ScenarioEdit, sentence: str, expected: list[Node]
) -> None:
    before = scenario(nodes)

    assert str(edit) == sentence
    assert list(edit.apply(before).topology.nodes) == expected
    assert list(before.topology.nodes) == nodes


def test_new_nodes_have_the_resources_of_the_usual_node() -> None:
    before = filter_scenario(TWO)

    same, add = suppose_resources([Cordon("n1"), AddNodes({ZONE: "c"})], before)

    assert (str(same), str(add)) == ("cordon node n1", "add 1 node like n1 with zone=c")
    allocatable = add.apply(before).cluster.allocatable
    assert allocatable["new-1"] == allocatable["n1"]


POOLS = (
    Node("n1", {HOSTNAME: "n1", "pool": "a", "disk": "ssd", "arch": "arm64"}),
    Node("n2", {HOSTNAME: "n2", "pool": "b", "disk": "ssd", "arch": "amd64"}),
)


@pytest.mark.parametrize(
    ("labels", "demands", "sentence"),
    [
        ({}, Demands(), "add 1 node like n1"),
        ({}, Demands((("pool", "a"),)), "add 1 node like n1 without pool=a"),
        (
            {ZONE: "c"},
            Demands((("pool", "a"),)),
            "add 1 node like n1 with zone=c and without pool=a",
        ),
        ({"pool": "c"}, Demands((("pool", "a"),)), "add 1 node like n1 with pool=c"),
        ({}, Demands((("disk", "ssd"), (HOSTNAME, "n1"))), "add 1 node like n1"),
        (
            {},
            Demands(terms=(NodeSelectorTerm((requirement("arch", "NotIn", "s390x"),)),)),
            "add 1 node like n1 without arch=arm64",
        ),
    ],
    ids=str,
)
def test_labels_that_decide_and_that_a_new_node_lacks_are_named(
    labels: dict[str, str], demands: Demands, sentence: str
) -> None:
    before = scenario(POOLS, demands=demands)

    assert str(resemble(AddNodes(labels), "n1", before)) == sentence


def test_new_nodes_resemble_none_if_no_resources_are_known() -> None:
    assert resemble(AddNodes({}), "", scenario(POOLS)) == AddNodes({})


def test_new_nodes_have_the_pods_of_daemon_sets_of_the_usual_node() -> None:
    agent = owned_by("DaemonSet", running("agent", "n1", cpu="500m"))
    before = filter_scenario(TWO, [agent, running("web-1", "n1")])

    after = AddNodes({ZONE: "c"}, 2, "n1").apply(before)

    for name in ("new-1", "new-2"):
        usage = after.cluster.placed.usage(name)
        assert (usage.pods, usage.requests.milli_cpu) == (1, 500)


def test_labels_that_nodes_share() -> None:
    assert shared_labels([OPEN, TAINTED]) == {"disk": "ssd"}
    assert shared_labels([OPEN]) == OPEN.labels
    assert shared_labels([]) == {}


def test_labels_are_written_by_short_names() -> None:
    assert render_labels({ZONE: "a", "rack": "r"}, SHORT_NAMES) == "zone=a, rack=r"

"""Options of what-if scenarios become edits, which have an effect on the cluster."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.explain.scenarios import scenario
from tests.policy.placement.clusters import node, spread_over
from webhook.cli.commands.explain import ROLLOUT
from webhook.cli.inputs.placementtargets import PlacementTarget
from webhook.cli.whatif import WhatIfOptions, check_edits, keep_supported, parse_edits
from webhook.errors import ConfigError
from webhook.explain.keynames import KeyNames
from webhook.explain.nodeedits import AddNodes, Cordon, RemoveNodes
from webhook.explain.scenario import Scale, ScenarioEdit
from webhook.policy.kinds import CRON_JOB, DAEMON_SET, DEPLOYMENT, LEADER_WORKER_SET, POD
from webhook.policy.model import HOSTNAME, GroupKind, LabelSelectorRequirement, Node
from webhook.policy.placement.nodeaffinity import NodeSelectorTerm
from webhook.policy.placement.nodes import UNSCHEDULABLE, Demands

ZONE = "topology.kubernetes.io/zone"

EDITS = {
    "no edits": ((), (), (), ()),
    "a zone is lost": (("zone=us-1c",), (), (), (RemoveNodes(ZONE, "us-1c"),)),
    "a node is cordoned": ((), ("n1",), (), (Cordon("n1"),)),
    "a node is added": ((), (), ("zone=us-1d",), (AddNodes({ZONE: "us-1d"}, 1),)),
    "nodes with two labels are added": (
        (),
        (),
        ("zone=us-1d,disk=ssd:3",),
        (AddNodes({ZONE: "us-1d", "disk": "ssd"}, 3),),
    ),
}


@pytest.mark.parametrize(("without", "cordon", "add", "edits"), EDITS.values(), ids=EDITS.keys())
def test_options_become_edits(
    without: tuple[str, ...], cordon: tuple[str, ...], add: tuple[str, ...], edits: tuple[object]
) -> None:
    assert parse_edits(without, cordon, add) == edits


INVALID_EDITS = {
    "a label without a value": (("zone",), (), "'zone' is not a label"),
    "a label with an invalid key": (("-=a",), (), "is not a label"),
    "a key twice": ((), ("zone=a,zone=b",), "has a key twice"),
    "the name of a node": (
        (),
        ("zone=a,hostname=foo:1",),
        "kubernetes.io/hostname of its own",
    ),
    "no labels": ((), (":3",), "is not an addition"),
    "no nodes": ((), ("zone=a:0",), "a number up to 1000"),
    "too many nodes": ((), ("zone=a:1001",), "a number up to 1000"),
}


@pytest.mark.parametrize(
    ("without", "add", "message"), INVALID_EDITS.values(), ids=INVALID_EDITS.keys()
)
def test_invalid_values_are_errors(
    without: tuple[str, ...], add: tuple[str, ...], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_edits(without, (), add)


def test_a_short_name_is_a_key_where_the_cluster_has_such_a_key() -> None:
    options = WhatIfOptions("", ("zone=a",), (), ("zone=a,hostname=b:2",), None)

    names = KeyNames(frozenset({"zone", "hostname"}))

    assert options.parse(names) == (
        RemoveNodes("zone", "a"),
        AddNodes({"zone": "a", "hostname": "b"}, 2),
    )


# changes of options without any, whether they simulate
SIMULATIONS: dict[str, tuple[dict[str, Any], bool]] = {
    "none": ({}, False),
    "without a change": ({"what_if": "replicas"}, True),
    "a rollout": ({"what_if": "rollout"}, True),
    "lost nodes": ({"without": ("zone=a",)}, True),
    "a cordon": ({"cordon": ("n1",)}, True),
    "added nodes": ({"add_nodes": ("zone=a",)}, True),
    "no replica": ({"scale": 0}, True),
}


@pytest.mark.parametrize(("written", "expected"), SIMULATIONS.values(), ids=SIMULATIONS.keys())
def test_any_option_requests_a_simulation(written: dict[str, Any], *, expected: bool) -> None:
    none: dict[str, Any] = {
        "what_if": "", "without": (), "cordon": (), "add_nodes": (), "scale": None
    }  # fmt: skip
    values = {**none, **written, "other": 7}

    options = WhatIfOptions.take(values)

    assert (options.simulates, values) == (expected, {"other": 7})


@pytest.mark.parametrize(("what_if", "expected"), [("rollout", True), ("replicas", False)])
def test_one_value_requests_a_rollout(what_if: str, *, expected: bool) -> None:
    assert WhatIfOptions(what_if, (), (), (), None).rolls_out is expected


def test_known_words_are_listed_by_their_names_in_the_cluster() -> None:
    present = target(Node("n1", {"zone": "x", ZONE: "a", HOSTNAME: "n1"}))
    names = KeyNames(frozenset({"zone"}))
    situation = replace(present.situation, names=names)

    with pytest.raises(ConfigError, match=r"hostname, topology\.kubernetes\.io/zone, zone"):
        check_edits([RemoveNodes("rack", "r")], [replace(present, situation=situation)], None)


def target(
    *nodes: Node, kind: GroupKind = DEPLOYMENT, demands: Demands | None = None
) -> PlacementTarget:
    present = scenario(nodes, spread_over("rack"), demands=demands)
    return PlacementTarget(
        subject="it",
        kind=kind,
        situation=present,
        runs_on="",
        replicas=3,
        running={"n1": 2},
        present=present,
    )


CLUSTER = (node("n1", "a"), node("n2", "b", disk="ssd"))
SSD = LabelSelectorRequirement(key="cpu", operator="In", values=("fast",))
DEMANDS = Demands(pairs=(("pool", "web"),), terms=(NodeSelectorTerm(match_expressions=(SSD,)),))
GOOD: dict[str, ScenarioEdit] = {
    "a zone": RemoveNodes(ZONE, "b"),
    "a node": Cordon("n1"),
    "a value that no node has": AddNodes({ZONE: "new"}),
    "a label of a node": AddNodes({"disk": "hdd"}),
    "a topology key of the pod": AddNodes({"rack": "r1"}),
    "a label of its nodeSelector": AddNodes({"pool": "web"}),
    "a label of its affinity": AddNodes({"cpu": "fast"}),
    "another edit": Scale(3),
}


@pytest.mark.parametrize("edit", GOOD.values(), ids=GOOD)
def test_edits_with_an_effect_are_fine(edit: ScenarioEdit) -> None:
    check_edits([edit], [target(*CLUSTER, demands=DEMANDS)], 1)


IDLE: dict[str, tuple[ScenarioEdit, tuple[Node, ...], str]] = {
    "no such zone": (
        RemoveNodes(ZONE, "c"), CLUSTER, "--without: no node has the label zone=c: zone is a, b"
    ),
    "no such label": (
        RemoveNodes("zoen", "a"), CLUSTER,
        "--without: no node has the label zoen=a: their labels are disk, hostname, zone",
    ),
    "nodes without labels": (RemoveNodes("x", "a"), (Node("n1", {}),), "they have no labels"),
    "a zone without nodes": (RemoveNodes(ZONE, "a"), (), "zone=a: there is no node"),
    "no such node": (
        Cordon("n3"), CLUSTER, "--cordon: node 'n3' does not exist: the nodes are n1, n2"
    ),
    "a node without nodes": (Cordon("n1"), (), "'n1' does not exist: there is no node"),
    "a label that nothing uses": (
        AddNodes({"dsik": "ssd"}), CLUSTER,
        "--add-nodes: no node has a label dsik, and the pod does not use it: known are disk, ",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("edit", "nodes", "message"), IDLE.values(), ids=IDLE)
def test_edits_without_an_effect_are_errors(
    edit: ScenarioEdit, nodes: tuple[Node, ...], message: str
) -> None:
    with pytest.raises(ConfigError) as raised:
        check_edits([edit], [target(*nodes)], None)

    assert message in str(raised.value)


CORDONED = (Node("n1", {}, unschedulable=True, taints=(UNSCHEDULABLE,)), Node("n2", {}))
REPEATED: dict[str, tuple[list[ScenarioEdit], tuple[Node, ...], str]] = {
    "a node twice": ([Cordon("n1"), Cordon("n1")], CLUSTER, "--cordon: cordon node n1 changes"),
    "a node that is lost": ([RemoveNodes(ZONE, "a"), Cordon("n1")], CLUSTER, "--cordon: "),
    "a zone twice": ([RemoveNodes(ZONE, "a")] * 2, CLUSTER, "--without: lose zone a changes"),
    "a cordoned node": ([Cordon("n1")], CORDONED, "are lost or cordoned already"),
}


@pytest.mark.parametrize(("edits", "nodes", "message"), REPEATED.values(), ids=REPEATED)
def test_edits_without_an_effect_after_others_are_errors(
    edits: list[ScenarioEdit], nodes: tuple[Node, ...], message: str
) -> None:
    with pytest.raises(ConfigError) as raised:
        check_edits(edits, [target(*nodes)], None)

    assert message in str(raised.value)


def test_several_edits_with_an_effect_are_fine() -> None:
    check_edits([Cordon("n1"), Cordon("n2"), AddNodes({"disk": "ssd"})], [target(*CLUSTER)], None)


def test_without_nodes_any_label_may_be_added() -> None:
    check_edits([AddNodes({"disk": "ssd"})], [target()], None)


def test_of_many_names_the_similar_ones_come_first() -> None:
    nodes = (node(f"{pool}-{number}") for pool in ("db", "web") for number in range(20))

    with pytest.raises(ConfigError, match=r"the nodes are web-9, .* and 28 more"):
        check_edits([Cordon("web-99")], [target(*nodes)], None)


UNSCALABLE = {
    GroupKind("apps.kruise.io", "DaemonSet"): "a DaemonSet has no replicas",
    GroupKind("jobset.x-k8s.io", "JobSet"): "a JobSet cannot be scaled: change the number of its",
    LEADER_WORKER_SET: "the replicas of a LeaderWorkerSet are groups of pods, whose scaling is not",
    DAEMON_SET: "a DaemonSet has no replicas, but one pod on each node",
    CRON_JOB: "a CronJob cannot be scaled: change spec.parallelism",
    POD: "a pod alone cannot be scaled down: name its workload",
}


@pytest.mark.parametrize(("kind", "message"), UNSCALABLE.items())
def test_some_kinds_cannot_be_scaled(kind: GroupKind, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        check_edits([], [target(kind=kind)], 2)


def test_pods_like_a_pod_can_be_added() -> None:
    check_edits([], [target(kind=POD)], 3)


def test_targets_that_the_options_cannot_be_applied_to_are_problems() -> None:
    web, once = replace(target(), name="web"), replace(target(kind=CRON_JOB), name="once")
    scaled, rolled = WhatIfOptions("", (), (), (), 3), WhatIfOptions(ROLLOUT, (), (), (), None)

    kept, problems = keep_supported([once, web], scaled)

    assert (kept, list(map(str, problems))) == (
        [web],
        ["once: --scale: a CronJob cannot be scaled: change spec.parallelism in its manifest"],
    )
    assert keep_supported([], scaled) == ([], [])
    with pytest.raises(ConfigError, match="a CronJob cannot be scaled"):
        keep_supported([once], scaled)
    with pytest.raises(ConfigError, match="the rollout of a CronJob is not modelled"):
        keep_supported([once], rolled)

import pytest
from msgspec.structs import replace

from tests.explain.filterscenarios import filter_scenario
from tests.explain.scenarios import scenario
from tests.policy.placement.clusters import GPU, node, spread_over
from tests.policy.placement.filters.nominees import nominate
from tests.policy.placement.filters.objects import container, node_object, pod
from webhook.explain.keynames import SHORT_NAMES
from webhook.explain.scenario import Scenario
from webhook.explain.sentences import explain_minimum, rejection_reason, summarize
from webhook.policy.model import HOSTNAME, SCHEDULE_ANYWAY
from webhook.policy.placement.filters.filterpods import CLAIM, PodVolume
from webhook.policy.placement.nodes import Demands

TWO = (node("n1", "us-1a"), node("n2", "us-1b"))
CORDONED = replace(node("n3", "us-1c"), unschedulable=True)

# scenario, where the pod runs, its sentence
HEADLINES: dict[str, tuple[Scenario, str, str]] = {
    "every node is as good": (scenario(TWO, spread_over()), "", "can be placed on 2 of 2 nodes"),
    "some nodes are better": (
        scenario(TWO, spread_over(when_unsatisfiable=SCHEDULE_ANYWAY), pods={"n1": 1}), "",
        "can be placed on 2 of 2 nodes; spreading prefers n2",
    ),
    "a pod that runs well": (
        scenario(TWO, spread_over()), "n1",
        "runs on n1; it can be placed anew on 2 of 2 nodes",
    ),
    "a pod that would go elsewhere": (
        scenario(TWO, spread_over(), pods={"n1": 1}), "n1",
        "runs on n1; it can be placed anew on 1 of 2 nodes, but not on n1 again",
    ),
    "a pod on a node that does not exist": (
        scenario(TWO, spread_over()), "n9",
        "is bound to node n9, which does not exist; it can be placed anew on 2 of 2 nodes",
    ),
    "a pod that runs where none could go": (
        scenario((), spread_over()), "n1", "runs on n1; it cannot be placed anew: there is no node"
    ),
    "there is no node": (scenario(()), "", "cannot be placed: there is no node"),
    "other filters take all nodes": (
        scenario([CORDONED, node("n4", "us-1d", taints=[GPU])]), "",
        ("cannot be placed: no node takes it: 1 node(s) were unschedulable, "
        "1 node(s) had untolerated taint gpu:NoSchedule"),
    ),
    "a third domain is required": (
        scenario(TWO, spread_over(min_domains=3), pods={"n1": 1, "n2": 1}), "",
        "cannot be placed: zone needs a third domain (minDomains 3, found 2: us-1a, us-1b)",
    ),
    "many more domains are required": (
        scenario(
            [node(f"n{i}", f"z{i}") for i in range(7)],
            spread_over(min_domains=9),
            pods={f"n{i}": 1 for i in range(7)},
        ),
        "",
        ("cannot be placed: zone needs one more domain "
        "(minDomains 9, found 7: z0, z1, z2, z3, z4, z5 and 1 more)"),
    ),
    "no node has the key": (
        scenario([node("n1"), node("n2")], spread_over()), "",
        ("cannot be placed: no node counts for zone: "
        "2 node(s) lack a topology key topology.kubernetes.io/zone"),
    ),
    "the only zone left is closed": (
        scenario([*TWO, CORDONED], spread_over(), pods={"n1": 1, "n2": 1}), "",
        ("cannot be placed: zone (maxSkew 1) allows only us-1c, where no node takes it: "
        "1 node(s) were unschedulable"),
    ),
    "the only node left is closed, and others are no domains": (
        scenario(
            [
                node("n1", pool=""), replace(node("n2", pool=""), unschedulable=True),
                node("n3"), node("n4", taints=[GPU]),
            ],
            spread_over(HOSTNAME), pods={"n1": 1}, demands=Demands(pairs=(("pool", ""),)),
        ),
        "",
        ("cannot be placed: hostname (maxSkew 1) allows only n2, where no node takes it: "
        "1 node(s) were unschedulable"),
    ),
    "two constraints contradict each other": (
        scenario(
            [node("n1", "a", rack="r"), node("n2", "b", rack="s"), node("n3", "b", rack="r")],
            spread_over(), spread_over("rack"), pods={"n1": 1, "n2": 1, "n3": 1},
        ),
        "",
        ("cannot be placed: zone (maxSkew 1) allows only a; rack (maxSkew 1) allows only s; "
        "no node satisfies all of them"),
    ),
    "a third constraint allows all domains": (
        scenario(
            [
                node("n1", "a", rack="r", pool="x"), node("n2", "b", rack="s", pool="x"),
                node("n3", "b", rack="r", pool="y"),
            ],
            spread_over(), spread_over("rack"), spread_over("pool", max_skew=9),
            pods={"n1": 1, "n2": 1, "n3": 1},
        ),
        "",
        ("cannot be placed: zone (maxSkew 1) allows only a; rack (maxSkew 1) allows only s; "
        "pool (maxSkew 9) allows x, y; no node satisfies all of them"),
    ),
    "the only node that satisfies two constraints is cordoned": (
        scenario(
            [
                node("n1", "a", rack="r"), node("n2", "b", rack="s"), node("n3", "b", rack="r"),
                replace(node("n4", "a", rack="s"), unschedulable=True),
            ],
            spread_over(), spread_over("rack"), pods={"n1": 1, "n2": 1, "n3": 1},
        ),
        "",
        ("cannot be placed: zone (maxSkew 1) allows only a; rack (maxSkew 1) allows only s; "
        "only n4 satisfies all of them, and rejects it: 1 node(s) were unschedulable"),
    ),
    "nodes of another pool are not named": (
        scenario(
            [
                node("n1", "a", rack="r", pool=""), node("n2", "b", rack="s", pool=""),
                node("n3", "b", rack="r", pool=""), node("n4", "a", rack="s"),
            ],
            spread_over(), spread_over("rack"), pods={"n1": 1, "n2": 1, "n3": 1},
            demands=Demands(pairs=(("pool", ""),)),
        ),
        "",
        ("cannot be placed: zone (maxSkew 1) allows only a; rack (maxSkew 1) allows only s; "
        "no node satisfies all of them"),
    ),
    "nodes that satisfy two constraints are closed": (
        scenario(
            [
                node("n1", "a", rack="r"), node("n2", "b", rack="s"), node("n3", "b", rack="r"),
                replace(node("n4", "a", rack="s"), unschedulable=True),
                node("n5", "a", rack="s", taints=[GPU]),
            ],
            spread_over(), spread_over("rack"), pods={"n1": 1, "n2": 1, "n3": 1},
        ),
        "",
        ("cannot be placed: zone (maxSkew 1) allows only a; rack (maxSkew 1) allows only s; "
        "only n4, n5 satisfy all, and reject it: 1 node(s) were unschedulable, "
        "1 node(s) had untolerated taint gpu:NoSchedule"),
    ),
    "only a node that does not count satisfies two constraints": (
        scenario(
            [
                node("n1", "a", rack="r"), node("n2", "b", rack="s"), node("n3", "b", rack="r"),
                node("n4", "c", rack="t", taints=[GPU]),
            ],
            spread_over(node_taints_policy="Honor"),
            spread_over("rack", node_taints_policy="Honor"),
            pods={"n1": 1, "n2": 1, "n3": 1},
        ),
        "",
        ("cannot be placed: zone (maxSkew 1) allows only a; rack (maxSkew 1) allows only s; "
        "no node that counts satisfies all of them; n4 does not count, and rejects it: "
        "1 node(s) had untolerated taint gpu:NoSchedule"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("question", "runs_on", "sentence"), HEADLINES.values(), ids=HEADLINES.keys()
)
def test_headline(question: Scenario, runs_on: str, sentence: str) -> None:
    assert summarize(question, question.placement(), runs_on) == sentence


def test_what_keeps_a_pod_off_every_node_is_said_once() -> None:
    claimed = scenario(TWO).change_pod(volumes=(PodVolume(CLAIM, "data", "shop"),))

    assert summarize(claimed, claimed.placement(), "") == (
        'cannot be placed: no node takes it: persistentvolumeclaim "data" not found'
    )


def test_the_reasons_of_one_node_are_told_from_those_of_another() -> None:
    small, tainted = node_object("n1", {"pods": "9", "cpu": "1"}), node_object("n2")
    tainted["spec"] = {"taints": [{"key": "gpu", "effect": "NoSchedule"}]}
    containers = [container({"cpu": "2", "memory": "1Gi"})]
    question = filter_scenario([small, tainted], containers=containers)

    assert summarize(question, question.placement(), "") == (
        "cannot be placed: no node takes it: 1 Insufficient cpu and Insufficient memory, "
        "1 node(s) had untolerated taint gpu:NoSchedule"
    )


# scenario, what makes its minimum
MINIMA: dict[str, tuple[Scenario, str]] = {
    "no domain": (scenario([node("n1")], spread_over()), "no node counts for zone"),
    "too few": (scenario(TWO, spread_over(min_domains=4)), "minDomains 4, found 2"),
    "an empty one": (scenario(TWO, spread_over(), pods={"n2": 1}), "no pod in us-1a"),
    "pods everywhere": (
        scenario(TWO, spread_over(HOSTNAME), pods={"n1": 2, "n2": 1}), "fewest pods in n2"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("question", "sentence"), MINIMA.values(), ids=MINIMA.keys())
def test_why_minimum(question: Scenario, sentence: str) -> None:
    (tally,) = question.placement().tallies.hard

    assert explain_minimum(tally, SHORT_NAMES) == sentence


def test_unmet_demands_of_a_pod_are_rejections() -> None:
    question = scenario(TWO, demands=Demands(pairs=(("disk", "ssd"),)))

    assert summarize(question, question.placement(), "") == (
        "cannot be placed: no node takes it: 2 node(s) didn't match Pod's node affinity/selector"
    )


REASONS = scenario(
    [*TWO, CORDONED, node("n4", "us-1d", taints=[GPU]), node("n5")],
    spread_over(),
    pods={"n1": 2, "n2": 1, "n3": 1, "n4": 1},
)

# node, its reason
OBSTACLES = {
    "the pod can go there": ("n2", ""),
    "a skew": ("n1", "zone: skew 2 > maxSkew 1"),
    "a missing key": ("n5", "node(s) lack a topology key topology.kubernetes.io/zone"),
    "another filter goes first": ("n4", "node(s) had untolerated taint gpu:NoSchedule"),
    "a cordon": ("n3", "node(s) were unschedulable"),
}


@pytest.mark.parametrize(("name", "sentence"), OBSTACLES.values(), ids=OBSTACLES.keys())
def test_why_a_node_does_not_pass(name: str, sentence: str) -> None:
    assert rejection_reason(name, REASONS, REASONS.placement()) == sentence


def test_nominated_pods_are_a_part_of_the_reason() -> None:
    wanted = [container({"cpu": "1"})]
    question = filter_scenario([node_object("n1", {"cpu": "1", "pods": "9"})], containers=wanted)
    nominated = nominate(question.cluster, n1=[pod("first", containers=wanted)])
    question = replace(question, cluster=nominated)

    reason = rejection_reason("n1", question, question.placement())

    assert reason == "Insufficient cpu, with 1 nominated pod"

from typing import Any

from hypothesis import given
from msgspec.structs import replace

from tests.explain.scenarios import scenario, scenarios
from tests.policy.placement.clusters import GPU, SELECTS_WEB, gates, node, spread_over
from webhook.explain.caveats import ALWAYS_IGNORED
from webhook.explain.daemons import DaemonPods
from webhook.explain.explanation import (
    NAMED_NODES,
    ConstraintExplanation,
    DomainRow,
    NodeExplanation,
    NodeGroup,
    Refusal,
    explain,
    explain_daemons,
    explain_refusal,
)
from webhook.explain.scenario import Scenario
from webhook.policy.model import HOSTNAME, SCHEDULE_ANYWAY, ZONE
from webhook.policy.placement.spreads import DefaultConstraints, resolve_constraints

NODES = (node("n1", "a"), node("n2", "b"), node("n3", "c", taints=[GPU]), node("n4"))
NO_KEY = f"node(s) lack a topology key {ZONE}"
TAINTED = "node(s) had untolerated taint gpu:NoSchedule"


def one_zone(**changes: Any) -> Scenario:
    """Place a fourth web pod beside three in two zones."""
    return scenario(NODES, spread_over(**changes), pods={"n1": 2, "n2": 1})


def test_the_domains_of_a_constraint() -> None:
    (part,) = explain(one_zone(node_taints_policy="Honor"), "Pod shop/web-4").constraints

    assert part == ConstraintExplanation(
        index=0,
        topology_key=ZONE,
        when_unsatisfiable="DoNotSchedule",
        max_skew=1,
        min_domains=1,
        selector="app=web",
        node_affinity_policy="Honor",
        node_taints_policy="Honor",
        selects_pod=True,
        global_minimum=1,
        minimum_because="fewest pods in b",
        pods=3,
        unevenness=1,
        domains=(
            DomainRow("a", nodes=1, left_out=0, pods=2, skew=2, fits=False),
            DomainRow("b", nodes=1, left_out=0, pods=1, skew=1, fits=True),
            DomainRow("c", nodes=0, left_out=1, pods=0, skew=0, fits=True),
        ),
        left_out=(NodeGroup(TAINTED, 1, ("n3",)), NodeGroup(NO_KEY, 1, ("n4",))),
    )


def test_a_soft_constraint_has_no_skew_to_keep_and_scores() -> None:
    explained = explain(
        one_zone(when_unsatisfiable=SCHEDULE_ANYWAY, node_affinity_policy="Ignore"),
        "Pod shop/web-4",
    )

    (part,) = explained.constraints
    assert part.node_affinity_policy == "Ignore"
    assert {(row.skew, row.fits) for row in part.domains} == {(None, True)}
    assert explained.sentence == "can be placed on 3 of 4 nodes; spreading prefers n2"
    assert explained.nodes == (
        NodeExplanation(name="n1", passes=True, best=False, score=33, raw_score=3),
        NodeExplanation(name="n2", passes=True, best=True, score=100, raw_score=1),
        NodeExplanation(name="n3", passes=False, best=False, reason=TAINTED),
        NodeExplanation(name="n4", passes=True, best=False, score=0, raw_score=0),
    )


def test_a_constraint_that_counts_no_pod() -> None:
    (part,) = explain(one_zone(label_selector=None), "Pod shop/web-4").constraints

    assert (part.selector, part.selects_pod, part.pods) == ("<none>", False, 0)


def test_a_pod_that_cannot_be_placed_gets_suggested_changes() -> None:
    explained = explain(one_zone(), "Pod shop/web-4", runs_on="n1")

    assert not explained.placeable
    assert explained.sentence.startswith(
        "runs on n1; it cannot be placed anew: zone (maxSkew 1) allows"
    )
    assert explained.changes
    assert explained.rejected == (
        NodeGroup(TAINTED, 1, ("n3",)),
        NodeGroup(NO_KEY, 1, ("n4",)),
        NodeGroup("zone: skew 2 > maxSkew 1", 1, ("n2",)),
        NodeGroup("zone: skew 3 > maxSkew 1", 1, ("n1",)),
    )


def test_of_many_nodes_the_first_are_named() -> None:
    many = [node(f"n{i}", "a") for i in range(NAMED_NODES + 2)]

    (group,) = explain(scenario(many, spread_over(min_domains=2), pods={"n0": 1}), "x").rejected

    assert (group.nodes, group.named) == (len(many), ("n0", "n1", "n2"))


def test_constraints_stand_in_their_order() -> None:
    soft = spread_over(HOSTNAME, when_unsatisfiable=SCHEDULE_ANYWAY)

    explained = explain(scenario(NODES, soft, spread_over()), "x")

    assert [part.index for part in explained.constraints] == [0, 1]


def test_defaults_of_the_scheduler_are_marked() -> None:
    bare = scenario(NODES)
    defaults = DefaultConstraints((spread_over(when_unsatisfiable=SCHEDULE_ANYWAY),), SELECTS_WEB)
    given = replace(bare, spreads=resolve_constraints((), bare.pod.labels, gates(), defaults))

    assert explain(given, "x").defaulted
    assert not explain(bare, "x").defaulted
    assert not explain(one_zone(), "x").defaulted


@given(scenarios())
def test_an_explanation_agrees_with_the_placement(some: Scenario) -> None:
    explained, placement = explain(some, "x"), some.placement()

    assert [node_row.name for node_row in explained.nodes if node_row.passes] == list(
        placement.passing
    )
    assert explained.placeable is bool(placement.passing)
    assert sum(group.nodes for group in explained.rejected) + len(placement.passing) == len(
        explained.nodes
    )
    assert [part.index for part in explained.constraints] == sorted(
        tally.spread.index for tally in (*placement.tallies.hard, *placement.tallies.soft)
    )
    assert explained.not_modelled == ALWAYS_IGNORED


def test_a_daemon_set_has_the_constraints_of_its_first_blocked_pod() -> None:
    gpu = node("g1", "b", taints=[GPU])
    soft = spread_over(node_affinity_policy="Ignore")
    question = scenario([node("a1", "a"), node("a2", "a"), node("b1", "b"), gpu], soft,
                        pods={"a1": 1})  # fmt: skip

    explained = explain_daemons(question, "DaemonSet shop/agent", DaemonPods({"a1": "p"}), ("x",))

    assert not explained.placeable
    assert [(item.name, item.passes) for item in explained.nodes] == [
        ("a1", True), ("a2", False), ("b1", True),
    ]  # fmt: skip
    assert [group.named for group in explained.rejected] == [("g1",)]
    assert [row.pods for row in explained.constraints[0].domains] == [1, 0]
    assert explained.daemon is not None
    assert len(explained.daemon.missing) == 2
    assert explained.not_modelled == ("x",)


def test_a_daemon_set_without_a_blocked_pod_has_no_constraints() -> None:
    question = scenario([node("a1", "a")], spread_over())

    explained = explain_daemons(question, "DaemonSet shop/agent", DaemonPods())

    assert (explained.placeable, explained.constraints) == (True, ())


def test_what_is_refused_is_not_placed() -> None:
    found = explain_refusal(
        "Pod shop/x", (Refusal("TSC001", "a", "b"), Refusal("TSC001", "c", "d"))
    )

    assert (found.sentence, found.placeable) == (
        "is refused by kube-apiserver: a: b (TSC001)",
        False,
    )
    assert (found.constraints, found.nodes) == ((), ())


def test_a_refusal_without_a_rule_names_none() -> None:
    found = explain_refusal("Pod shop/x", (Refusal("", "a", "b"), Refusal("TSC001", "c", "d")))

    assert found.sentence == "is refused by kube-apiserver: a: b (TSC001)"
    assert explain_refusal("", found.refused[:1]).sentence.endswith("kube-apiserver: a: b")


def test_what_a_policy_rule_denies_is_refused_by_evenspread() -> None:
    found = explain_refusal("Pod shop/x", (Refusal("TSC101", "a", "b"),))

    assert found.sentence == "is refused by evenspread: a: b (TSC101)"

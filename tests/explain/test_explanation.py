from hypothesis import given
from msgspec.structs import replace

from tests.explain.scenarios import FOUR_NODES, NO_KEY, TAINTED, one_zone, scenario, scenarios
from tests.policy.placement.clusters import GPU, SELECTS_WEB, gates, node, spread_over
from webhook.explain.caveats import ALWAYS_IGNORED
from webhook.explain.constraints import NodeGroup
from webhook.explain.daemons import DaemonPods
from webhook.explain.explanation import (
    Refusal,
    explain,
    explain_daemons,
    explain_refusal,
)
from webhook.explain.scenario import Scenario
from webhook.policy.model import SCHEDULE_ANYWAY
from webhook.policy.placement.nodes import Demands
from webhook.policy.placement.spreads import DefaultConstraints, resolve_constraints


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


def test_defaults_of_the_scheduler_are_marked() -> None:
    bare = scenario(FOUR_NODES)
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


def test_a_daemon_set_whose_template_lacks_what_its_runtime_class_adds_is_told_so() -> None:
    known = scenario([node("a1", "a")], demands=Demands((("pool", "kata"),)))

    explained = explain_daemons(
        known, "DaemonSet shop/agent", DaemonPods(template_demands=Demands())
    )

    assert not explained.placeable
    assert explained.sentence.endswith("write the same nodeSelector and tolerations into it")
    assert [item.name for item in explained.nodes] == ["a1"]


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

    assert found.sentence == "is refused by kube-apiserver: a: b"


def test_what_a_policy_rule_denies_is_refused_by_evenspread() -> None:
    found = explain_refusal("Pod shop/x", (Refusal("TSC101", "a", "b"),))

    assert found.sentence == "is refused by evenspread: a: b (TSC101)"

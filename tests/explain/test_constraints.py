from tests.explain.scenarios import FOUR_NODES, NO_KEY, TAINTED, one_zone, scenario
from tests.policy.placement.clusters import node, spread_over
from webhook.explain.constraints import NAMED_NODES, ConstraintExplanation, DomainRow, NodeGroup
from webhook.explain.explanation import NodeExplanation, explain
from webhook.policy.model import HOSTNAME, SCHEDULE_ANYWAY, ZONE


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
    assert part.unevenness == 1, "no pod can go to zone c"
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


def test_of_many_nodes_the_first_are_named() -> None:
    many = [node(f"n{i}", "a") for i in range(NAMED_NODES + 2)]

    (group,) = explain(scenario(many, spread_over(min_domains=2), pods={"n0": 1}), "x").rejected

    assert (group.nodes, group.named) == (len(many), ("n0", "n1", "n2"))


def test_constraints_stand_in_their_order() -> None:
    soft = spread_over(HOSTNAME, when_unsatisfiable=SCHEDULE_ANYWAY)

    explained = explain(scenario(FOUR_NODES, soft, spread_over()), "x")

    assert [part.index for part in explained.constraints] == [0, 1]

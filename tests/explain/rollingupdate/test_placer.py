"""Pods of a rolling update are placed beside those of its state, and those of others."""

from tests.explain.rollingupdate.rollouts import (
    both,
    cluster,
    observe,
    of_sets,
    rolling,
    workload,
)
from tests.policy.placement.clusters import GPU, WEB, node, spread_over
from webhook.explain.rollingupdate.placer import Placer
from webhook.explain.rollingupdate.setup import prepare_sets
from webhook.explain.rollingupdate.state import RolloutState
from webhook.policy.model import ZONE

NODES = (node("n1", "a"), node("n2", "b"))


def test_placement_counts_the_pods_of_the_state() -> None:
    setup = of_sets(NODES, rolling(2), spread_over())
    placer = Placer(setup.scenario, setup.kinds)
    state = RolloutState((1, 0), 0, (("n1", (0,)),), (0, 1), ())

    assert placer.place(1, state).passing == ("n2",)
    assert placer.find_best(1, state) == ("n2",)
    assert placer.placements == 1, "the second is known"
    assert placer.list_pending(state) == [0, 1]
    assert placer.list_keys() == [ZONE]


def test_other_pods_count_and_the_workloads_own_do_not() -> None:
    revisions, pods = both(spread_over()), observe({"n2": 1})
    scenario = cluster(NODES, revisions, pods)
    scenario.census.add("shop", {**WEB, "tier": "other"}, "n1")
    setup = prepare_sets(scenario, workload(pods), rolling(1), revisions)
    placer = Placer(setup.scenario, setup.kinds)

    assert placer.place(1, RolloutState((0, 0), 0, (), (), ())).passing == ("n2",)


def test_nodes_are_told_apart_by_what_decides_on_pods() -> None:
    nodes = (*NODES, node("n3", "a", taints=[GPU]), node("n4", "b", disk="ssd"))
    setup = of_sets(nodes, rolling(1), spread_over())
    setup.scenario.census.add("shop", {**WEB, "tier": "other"}, "n2")

    signatures = Placer(setup.scenario, setup.kinds).sign_nodes()

    assert signatures["n1"] == signatures["n4"]
    assert len(set(signatures.values())) == 3


def test_a_placement_is_that_of_the_scenario() -> None:
    nodes = (*NODES, node("n3", "a", taints=[GPU]))
    setup = of_sets(nodes, rolling(2), spread_over())
    placer = Placer(setup.scenario, setup.kinds)
    state = RolloutState((1, 0), 0, (("n1", (0, 1)),), (1,), ())

    assert placer.place(1, state) == placer.describe(1, state).placement()

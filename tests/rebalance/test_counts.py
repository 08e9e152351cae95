from tests.policy.placement.clusters import GPU, node, spread_over
from tests.rebalance.situations import (
    Situation,
    compile_situation,
    web_pods,
    workload_pod,
    zone_nodes,
)
from webhook.policy.model import LabelSelector
from webhook.policy.placement.filters.filterpods import FilterPod
from webhook.policy.placement.place import tally_constraints
from webhook.rebalance.counts import CellCounts, CompiledLimit, compile_counts

TIER = spread_over(label_selector=LabelSelector({"tier": "front"}), node_taints_policy="Honor")
NODES = [*zone_nodes("a", "b"), node("c1", "c", taints=[GPU]), node("x1")]


def compile_first(situation: Situation) -> CellCounts:
    """The counts of the first constraint of the first pod."""
    first = situation.pods[0].replacement
    rest = Situation([], situation.nodes, others=situation.others).cluster
    spreads = situation.pods[0].spreads
    tally = tally_constraints(first, spreads, rest.topology, rest.placed.census).hard[0]
    return compile_counts(tally, "shop", compile_situation(situation).space)


def test_the_pods_of_each_domain_are_those_that_move_and_those_that_stay() -> None:
    labels = {"tier": "front"}
    pods = [
        workload_pod("web", "a1", [TIER], labels={**labels, "app": "web"}),
        workload_pod("api", "a1", [TIER], labels={**labels, "app": "api"}, workload="X/api"),
        workload_pod("far", "a1", [TIER], labels=labels, namespace="far", workload="X/far"),
        workload_pod("db", "b1", [TIER], labels={"app": "db"}, workload="X/db"),
        workload_pod("lost", "c1", [TIER], labels={**labels, "app": "web"}),
    ]
    other = FilterPod(namespace="shop", labels=labels, node_name="b1")
    situation = Situation(pods, NODES, others=[other])
    counts = compile_first(situation)

    assert (counts.values, counts.size) == (("a", "b", "c"), 2)
    assert counts.domains == (0, 1, 2, None)
    assert counts.eligible == ((0, 0), (1, 1))
    assert counts.fixed == (0, 1, 0)
    state = compile_situation(situation).space.count_start()
    assert counts.count_pods(state) == [2, 1, 0]


def test_one_kind_is_counted_alike() -> None:
    situation = Situation(web_pods({"a1": 2, "b1": 1}))

    counts = compile_first(situation)

    assert counts.count_pods(compile_situation(situation).space.count_start()) == [2, 1, 0]


def test_the_most_pods_that_one_more_pod_may_join() -> None:
    own = CompiledLimit(0, max_skew=2, min_domains=2, matches_pod=True)
    foreign = CompiledLimit(0, max_skew=2, min_domains=1, matches_pod=False)

    assert own.find_most([3, 4, 9], size=2) == 4
    assert own.find_most([3], size=1) == 1
    assert foreign.find_most([3], size=1) == 5
    assert foreign.find_most([], size=0) == 2

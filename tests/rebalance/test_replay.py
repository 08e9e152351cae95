from msgspec.structs import replace

from tests.policy.placement.clusters import spread_over
from tests.rebalance.situations import (
    Situation,
    compile_situation,
    web_pods,
    workload_pod,
    zone_nodes,
)
from webhook.policy.model import SCHEDULE_ANYWAY
from webhook.policy.placement.filters.cluster import SchedulingCluster
from webhook.rebalance.model import Eviction
from webhook.rebalance.replay import EvictionStep, find_candidates, replay
from webhook.rebalance.search import NextEviction
from webhook.rebalance.solution import solve

HOSTS = zone_nodes("a", "b", "c", nodes=2)


def steps_of(situation: Situation) -> tuple[list[EvictionStep], SchedulingCluster]:
    compiled, cluster = compile_situation(situation), situation.cluster
    order = range(len(compiled.bounds))
    solution = solve(compiled, [True] * len(order), order)
    return list(replay(compiled, solution.attempt.strategy or {}, cluster)), cluster


def test_the_steps_of_a_strategy() -> None:
    steps, cluster = steps_of(Situation(web_pods({"a1": 1, "a2": 4, "b1": 2}), HOSTS))

    assert steps == [
        EvictionStep("shop", "web-1", "Deployment/web", "a2", ("c1", "c2"), "c1"),
        EvictionStep("shop", "web-2", "Deployment/web", "a2", ("c1", "c2"), "c2"),
    ]
    assert [cluster.placed.usage(node.name).pods for node in HOSTS] == [1, 2, 2, 0, 1, 1]


def test_a_replacement_goes_where_most_evictions_remain_or_to_the_emptiest_node() -> None:
    steps, _ = steps_of(Situation(web_pods({"a1": 6, "b1": 1}, spread_over(max_skew=2))))

    assert [(one.candidates, one.target) for one in steps] == [
        (("b1", "c1"), "c1"),
        (("b1", "c1"), "b1"),
        (("b1", "c1"), "c1"),
    ]


def test_a_pod_that_is_evicted_again_keeps_the_name_of_the_first() -> None:
    pods = web_pods({"a1": 1}, uid="uid-0")
    compiled = compile_situation(situation := Situation(pods, zone_nodes("a", "b")))
    start, model = compiled.model.start, compiled.model
    eviction = next(model.list_evictions(start))
    cluster = situation.cluster
    run = replay(compiled, {start: NextEviction(eviction, 1)}, cluster)

    steps = [next(run) for _ in range(3)]
    assert [(one.pod, one.uid) for one in steps] == [("web-0", "uid-0"), *[("web-0", "")] * 2]
    assert isinstance(eviction, Eviction)


def test_the_nodes_that_the_scheduler_may_choose() -> None:
    soft = spread_over(when_unsatisfiable=SCHEDULE_ANYWAY)
    others = web_pods({"a1": 1})
    one = workload_pod("web-9", "", [soft])

    assert find_candidates(one, Situation(others, HOSTS).cluster) == ("b1", "b2", "c1", "c2")
    hard = replace(one, spreads=others[0].spreads)
    assert find_candidates(hard, Situation(others, HOSTS).cluster) == ("b1", "b2", "c1", "c2")
    full = {host.name: 0 for host in HOSTS}
    assert find_candidates(one, Situation(others, HOSTS, slots=full).cluster) == ()

from msgspec.structs import replace

from tests.policy.placement.clusters import node, spread_over
from tests.rebalance.randomclusters import random_situation
from tests.rebalance.situations import Situation, budget, effort, pose, web_pods, zone_nodes
from webhook.policy.model import HOSTNAME, SCHEDULE_ANYWAY
from webhook.rebalance.bounds import UNREACHABLE
from webhook.rebalance.exhaustive import explore, find_shortest
from webhook.rebalance.paths import find_descent, find_direct

EASY = Situation(web_pods({"a1": 5, "b1": 2}))
# One host of a has to lose a pod, and the pod of c1 has to come to the other zones.
SOFT = spread_over(when_unsatisfiable=SCHEDULE_ANYWAY)
APART = Situation(
    web_pods({"a1": 1, "a2": 1, "a3": 1, "b1": 2, "c1": 1}, spread_over(), spread_over(HOSTNAME)),
    [*zone_nodes("a", nodes=3), *zone_nodes("b", "c", nodes=2)],
)
# By its zone a pod cannot go to the node without a zone, which the soft constraint counts.
RETURNING = Situation(
    web_pods({"a1": 2}, spread_over(max_skew=2), replace(SOFT, topology_key=HOSTNAME)),
    [*zone_nodes("a"), node("x1")],
)
STUCK = Situation(web_pods({"a1": 3, "b1": 1}), budgets=[budget(4, 4)])


def test_a_direct_strategy_is_as_long_as_the_bound() -> None:
    problem = pose(EASY)

    strategy = find_direct(problem, effort(problem))

    assert strategy is not None
    assert strategy[problem.model.start].length == problem.bound(problem.model.start) == 2


def test_there_is_no_direct_strategy_if_each_eviction_serves_one_goal() -> None:
    problem = pose(APART)

    assert find_direct(problem, effort(problem)) is None


def test_a_descent_follows_the_worst_case() -> None:
    problem = pose(EASY)

    strategy = find_descent(problem, effort(problem))

    assert strategy is not None
    assert sorted(following.length for following in strategy.values()) == [1, 2]


def test_a_descent_ends_where_no_eviction_brings_the_goals_nearer() -> None:
    for situation in (STUCK, RETURNING):
        problem = pose(situation)
        assert find_descent(problem, effort(problem)) is None


def test_both_give_up_when_the_effort_is_spent() -> None:
    problem = pose(EASY)

    assert find_direct(problem, effort(problem, 0)) is None
    assert find_descent(problem, effort(problem, 0)) is None


def test_direct_strategies_are_shortest_and_descents_are_not_shorter() -> None:
    for seed in range(60):
        situation = random_situation(seed)
        if not any(one.is_spread for one in situation.pods):
            continue
        problem = pose(situation)
        start = problem.model.start
        if not 0 < problem.bound(start) < UNREACHABLE:
            continue
        graph = explore(problem.model, effort(problem))
        assert graph is not None
        shortest = find_shortest(graph, problem)
        direct = find_direct(problem, effort(problem))
        if direct is not None:
            assert shortest is not None, seed
            assert direct[start].length == shortest[start].length, seed
        descent = find_descent(problem, effort(problem))
        if descent is not None:
            assert descent[start].length >= problem.bound(start), seed

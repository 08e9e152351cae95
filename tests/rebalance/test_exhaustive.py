from tests.policy.placement.clusters import spread_over
from tests.rebalance.situations import (
    APART,
    RETURNING,
    Situation,
    effort,
    pose,
    web_pods,
    zone_nodes,
)
from webhook.policy.model import HOSTNAME
from webhook.rebalance.exhaustive import explore, find_shortest

EASY = Situation(web_pods({"a1": 3, "b1": 1}))


def shortest_length(situation: Situation) -> int | None:
    problem = pose(situation)
    graph = explore(problem.model, effort(problem))
    assert graph is not None
    strategy = find_shortest(graph, problem)
    if strategy is None:
        return None
    start = problem.model.start
    return strategy[start].length if start in strategy else 0


def test_the_shortest_strategy() -> None:
    assert shortest_length(EASY) == 1
    assert shortest_length(Situation(web_pods({"a1": 1}))) == 0


def test_each_eviction_may_have_to_serve_a_goal_of_its_own() -> None:
    assert shortest_length(APART) == 2


def test_there_is_no_strategy_if_a_replacement_may_return() -> None:
    assert shortest_length(RETURNING) is None
    pods = web_pods({"a1": 2, "a2": 1}, spread_over(HOSTNAME), spread_over(max_skew=9))

    assert shortest_length(Situation(pods, zone_nodes("a", nodes=3))) == 1
    wide = web_pods({"a1": 4, "a2": 1}, spread_over(HOSTNAME, max_skew=3), spread_over())
    assert shortest_length(Situation(wide, zone_nodes("a", nodes=2))) == 0


def test_the_states_are_not_listed_if_there_are_too_many() -> None:
    problem = pose(EASY)

    assert explore(problem.model, effort(problem, 0)) is None

from tests.rebalance.randomclusters import solve_random
from tests.rebalance.situations import APART, RETURNING, Situation, budget, effort, pose, web_pods
from webhook.rebalance.paths import find_descent, find_direct

EASY = Situation(web_pods({"a1": 5, "b1": 2}))
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
    for seed, problem, shortest in solve_random(60):
        start = problem.model.start
        direct = find_direct(problem, effort(problem))
        if direct is not None:
            assert shortest is not None, seed
            assert direct[start].length == shortest[start].length, seed
        descent = find_descent(problem, effort(problem))
        if descent is not None:
            assert descent[start].length >= problem.bound(start), seed

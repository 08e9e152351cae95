from tests.rebalance.randomclusters import solve_random
from tests.rebalance.situations import APART, Situation, effort, pose, web_pods
from webhook.rebalance.deepening import LONGEST_STRATEGY, find_deepening


def test_the_same_length_as_by_listing_all_states() -> None:
    compared = 0
    for seed, problem, shortest in solve_random(400):
        start = problem.model.start
        strategy, bound = find_deepening(problem, effort(problem, 40_000))
        if shortest is None:
            assert strategy is None, seed
        elif strategy is not None:
            compared += 1
            lengths = (strategy[start].length, bound, shortest[start].length)
            assert len(set(lengths)) == 1, seed
    assert compared > 50


def test_the_search_gives_up_when_the_effort_is_spent() -> None:
    problem = pose(Situation(web_pods({"a1": 5, "b1": 2})))

    assert find_deepening(problem, effort(problem, 0)) == (None, 2)


def test_what_was_tried_before_the_search_gives_up_proves_nothing() -> None:
    found = []
    for cells in range(0, 1200, 2):
        problem = pose(APART)
        found.append(find_deepening(problem, effort(problem, cells)))

    assert {bound for strategy, bound in found if strategy is not None} == {2}
    assert {bound for strategy, bound in found if strategy is None} == {1, 2}


def test_long_strategies_are_not_tried() -> None:
    problem = pose(Situation(web_pods({"a1": 2 * LONGEST_STRATEGY})))

    assert find_deepening(problem, effort(problem)) == (None, problem.bound(problem.model.start))


def test_goals_that_hold_need_no_strategy() -> None:
    problem = pose(Situation(web_pods({"a1": 1})))

    assert find_deepening(problem, effort(problem)) == ({}, 0)

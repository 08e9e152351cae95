from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random

from tests.policy.placement.clusters import node, spread_over
from tests.rebalance.situations import (
    APART,
    RETURNING,
    Situation,
    compile_situation,
    repel,
    web_pods,
    workload_pod,
    zone_nodes,
)
from webhook.policy.model import HOSTNAME, SCHEDULE_ANYWAY, ZONE
from webhook.rebalance.bounds import UNREACHABLE
from webhook.rebalance.goals import GoalObstacle
from webhook.rebalance.replay import replay
from webhook.rebalance.solution import Attempt, Solution, solve

BY_HOST = spread_over(HOSTNAME)
SOFT = spread_over(when_unsatisfiable=SCHEDULE_ANYWAY)


def solve_all(situation: Situation, hard: Sequence[bool] = (True, True)) -> Solution:
    compiled = compile_situation(situation)
    order = range(len(compiled.bounds))
    return solve(compiled, hard, order)


def scatter(seed: int, nodes: int, pods: int) -> Counter[str]:
    """Scatter pods over the nodes of zones a and b: node name -> pods."""
    random, names = Random(seed), [node.name for node in zone_nodes("a", "b", nodes=nodes)]
    return Counter(random.choice(names) for _ in range(pods))


def test_all_goals_are_reached_by_a_direct_strategy() -> None:
    attempt, reached, obstacles = solve_all(Situation(web_pods({"a1": 5, "b1": 2})))

    assert (attempt.bound, attempt.is_proven, reached, obstacles) == (2, True, (0,), {})


def test_goals_are_reached_by_listing_all_states() -> None:
    attempt, reached, _ = solve_all(APART)

    assert (attempt.bound, attempt.is_proven, reached) == (2, True, (0, 1))


def test_goals_are_reached_although_there_are_too_many_states_to_list() -> None:
    others = [workload_pod(f"db-{n}", "a1", workload="X/db", labels={}) for n in range(12)]

    attempt, reached, _ = solve_all(replace(APART, pods=[*APART.pods, *others]))

    assert (attempt.bound, attempt.is_proven, reached) == (2, True, (0, 1))


def test_a_long_strategy_is_not_proven_to_be_the_shortest() -> None:
    constraints = (spread_over(max_skew=3), spread_over(HOSTNAME, max_skew=3))
    pods = web_pods(scatter(1, nodes=12, pods=60), *constraints)

    attempt, reached, _ = solve_all(Situation(pods, zone_nodes("a", "b", "c", nodes=12)))

    assert attempt.strategy is not None
    assert (attempt.is_proven, reached) == (False, (0, 1))


def test_a_search_that_is_given_up_says_nothing_of_its_goals() -> None:
    pods = web_pods(scatter(1, nodes=14, pods=70), spread_over(), BY_HOST)

    solution = solve_all(Situation(pods, zone_nodes("a", "b", "c", nodes=14)))

    assert solution.obstacles == {0: GoalObstacle.UNKNOWN, 1: GoalObstacle.UNKNOWN}


def test_a_goal_that_can_never_hold_leaves_the_others() -> None:
    pods = web_pods({"a1": 3}, spread_over(), spread_over(HOSTNAME, max_skew=3))

    attempt, reached, obstacles = solve_all(Situation(pods, slots={"b1": 0}))

    assert (attempt.bound, reached, obstacles) == (0, (1,), {0: GoalObstacle.NO_NODES})


def test_a_soft_goal_that_the_scheduler_does_not_reach() -> None:
    assert solve_all(RETURNING, (True, False)).obstacles == {1: GoalObstacle.SCORES}


def test_a_hard_goal_that_no_sequence_reaches() -> None:
    # The pods have to be in the zone of another one of them.
    pods = web_pods({"a1": 2}, affinity=(repel(ZONE, "web"),))
    situation = Situation(pods, zone_nodes("a", "b"))

    assert solve_all(situation, (True,)).obstacles == {0: GoalObstacle.NO_SEQUENCE}


def test_a_goal_that_another_one_excludes() -> None:
    nodes = [node("a1", "a"), node("b1", "b"), node("b2", "b"), node("b3", "b")]
    pods = web_pods({"a1": 2, "b1": 2}, BY_HOST, SOFT)

    solution = solve_all(Situation(pods, nodes), (True, False))

    assert (solution.reached, solution.obstacles) == ((0,), {1: GoalObstacle.CONFLICT})


def end_of(situation: Situation) -> tuple[list[int], int]:
    """Solve a situation, and return the pods of each node after the steps, and their number."""
    compiled, cluster = compile_situation(situation), situation.cluster
    solution = solve_all(situation, hard=(True, False))
    steps = list(replay(compiled, solution.attempt.strategy or {}, cluster))
    assert solution.reached == (0,)
    assert solution.obstacles.keys() == {1}
    return [cluster.placed.usage(node.name).pods for node in situation.nodes], len(steps)


def test_a_soft_constraint_that_cannot_hold_gets_as_near_as_the_evictions_allow() -> None:
    # Three of six pods have to leave zone a for the only node of zone b.
    soft = spread_over(HOSTNAME, when_unsatisfiable=SCHEDULE_ANYWAY)
    nodes = [node("a1", "a"), node("a2", "a"), node("a3", "a"), node("b1", "b")]

    pods = web_pods({"a1": 3, "a2": 3}, spread_over(), soft)
    assert end_of(Situation(pods, [*nodes[:2], nodes[3]])) == ([1, 2, 3], 3)
    pods = web_pods({"a1": 2, "a2": 2, "a3": 2}, spread_over(), soft)
    assert end_of(Situation(pods, nodes)) == ([1, 1, 1, 3], 3)
    pods = web_pods({"a1": 6}, spread_over(), soft)
    assert end_of(Situation(pods, [*nodes[:2], nodes[3]])) == ([3, 0, 3], 3)


def test_no_strategy_is_longer_than_any() -> None:
    start = compile_situation(Situation(web_pods({"a1": 1}))).model.start

    assert Attempt(None, 3, is_proven=False).count_evictions(start) == UNREACHABLE
    assert Attempt({}, 0, is_proven=True).count_evictions(start) == 0

import os

import pytest

from tests.policy.rebalance.bruteforce import BruteForce
from tests.policy.rebalance.randomclusters import random_situation

CASES = 2000 if os.environ.get("EVENSPREAD_E2E") == "long" else 100
BATCHES = 4  # so that several processes share the cases


@pytest.mark.parametrize("batch", range(BATCHES))
def test_no_strategy_has_fewer_evictions_in_the_worst_case(batch: int) -> None:
    for seed in range(batch, CASES, BATCHES):
        situation = random_situation(seed)

        plan = situation.plan()

        number, reached = BruteForce(situation).least()
        held = frozenset(i for i, goal in enumerate(plan.goals) if goal.obstacle is None)
        assert (len(plan.steps), held) == (number, reached), seed
        assert plan.is_certain, seed


@pytest.mark.parametrize("batch", range(BATCHES))
def test_constraints_that_are_reached_hold_on_the_cluster_of_the_steps(batch: int) -> None:
    for seed in range(CASES + batch, 2 * CASES, BATCHES):
        plan = random_situation(seed).plan()

        for result in plan.goals:
            tally = result.after
            excess = max(tally.pods.values(), default=0) - tally.minimum - tally.spread.max_skew
            assert (excess > 0) == (result.obstacle is not None), seed

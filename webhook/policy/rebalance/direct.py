"""
A strategy whose every eviction brings the bound down by one: ``find_direct``.

Such a strategy is the best there is, since none is shorter than the bound. It is found without
backtracking, so that large workloads cost one look at each state on the way.
"""

from webhook.policy.rebalance.cells import State
from webhook.policy.rebalance.search import (
    CANDIDATES,
    NextEviction,
    SearchEffort,
    SearchProblem,
    Strategy,
)


def find_direct(problem: SearchProblem, effort: SearchEffort) -> Strategy | None:
    """
    Find a strategy as long as the bound.

    Returns:
        None if the most promising evictions do not make one, or the effort is spent.
    """
    strategy: dict[State, NextEviction] = {}
    pending = [problem.model.start]
    while pending:
        state = pending.pop()
        length = problem.bound(state)
        if not length or state in strategy:
            continue
        found = next(problem.rank_evictions(state, length - 1, CANDIDATES), None)
        if found is None or effort.is_spent:
            return None
        eviction, outcomes = found
        strategy[state] = NextEviction(eviction, length)
        pending += outcomes
    return strategy

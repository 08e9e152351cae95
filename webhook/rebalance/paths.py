"""
Strategies that are found without going back: ``find_direct`` and ``find_descent``.

Each eviction of a direct strategy brings the bound down by one, whatever the scheduler chooses, so
that no strategy is shorter. A descent follows the worst case only; its length is neither proven
least nor certain. Large workloads cost one look at each state on the way.
"""

from webhook.rebalance.cells import State
from webhook.rebalance.model import Eviction
from webhook.rebalance.search import NextEviction, SearchEffort, SearchProblem, Strategy

MOST_EVICTIONS = 6  # evictions that are tried in a state, from the fullest domains


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
        found = next(problem.rank_evictions(state, length - 1, MOST_EVICTIONS), None)
        if found is None or effort.is_spent:
            return None
        eviction, outcomes = found
        strategy[state] = NextEviction(eviction, length)
        pending += outcomes
    return strategy


def find_descent(problem: SearchProblem, effort: SearchEffort) -> Strategy | None:
    """
    Find a strategy that evicts what brings the goals nearest in the worst case.

    Returns:
        The evictions on the way of the worst case; None if none brings the goals nearer, or the
        effort is spent.
    """
    path: list[tuple[State, Eviction]] = []
    state = problem.model.start
    measured = problem.measure(state)
    while measured[0]:
        found = next(problem.rank_evictions(state, measured[0], MOST_EVICTIONS), None)
        if found is None or effort.is_spent:
            return None
        eviction, outcomes = found
        path.append((state, eviction))
        state = max(outcomes, key=problem.measure)
        before, measured = measured, problem.measure(state)
        if measured >= before:
            return None
    lengths = range(len(path), 0, -1)
    return {
        state: NextEviction(eviction, length)
        for (state, eviction), length in zip(path, lengths, strict=True)
    }

"""
Some strategy, if there are too many states for a better one: ``find_descent``.

It evicts what brings the goals nearest in the worst case, and follows the worst case. Its length is
neither proven least nor certain: after another choice of the scheduler, plan again.
"""

from webhook.policy.rebalance.cells import State
from webhook.policy.rebalance.model import Eviction
from webhook.policy.rebalance.search import (
    CANDIDATES,
    NextEviction,
    SearchEffort,
    SearchProblem,
    Strategy,
)


def find_descent(problem: SearchProblem, effort: SearchEffort) -> Strategy | None:
    """Find a strategy; None if no eviction brings the goals nearer, or the effort is spent."""
    path: list[tuple[State, Eviction]] = []
    state = problem.model.start
    measured = problem.measure(state)
    while measured[0]:
        found = next(problem.rank_evictions(state, measured[0], CANDIDATES), None)
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

"""
The best strategy by trying one length after another: ``find_deepening``.

For clusters with too many states to list them all. A state that has no strategy of some length is
remembered with it, so that another path to the state ends there.
"""

from webhook.rebalance.bounds import UNREACHABLE
from webhook.rebalance.cells import State
from webhook.rebalance.search import NextEviction, SearchEffort, SearchProblem, Strategy

LONGEST_STRATEGY = 60
"""Longest strategy that is tried; each eviction takes some frames of the interpreter's stack."""


class _Deepening:
    """
    The memory of one search.

    Attributes:
        least: State -> a proven bound, where it is better than the one of the problem.
        is_spent: Whether the effort ended; results after that mean nothing.
    """

    def __init__(self, problem: SearchProblem, effort: SearchEffort) -> None:
        self._problem, self._effort = problem, effort
        self.least: dict[State, int] = {}
        self.strategy: dict[State, NextEviction] = {}
        self.is_spent = False

    def bound(self, state: State) -> int:
        return self.least.get(state) or self._problem.bound(state)

    def solve(self, state: State, length: int) -> bool:
        """Find whether there is a strategy of at most a length, and remember the result."""
        least = self.bound(state)
        if least > length or not least:
            return not least
        known = self.strategy.get(state)
        if known is not None and known.length <= length:
            return True
        if self._effort.is_spent:
            self.is_spent = True
            return False
        for eviction, outcomes in self._problem.rank_evictions(state, length - 1):
            if all(self.solve(outcome, length - 1) for outcome in outcomes):
                self.strategy[state] = NextEviction(eviction, length)
                return True
        if not self.is_spent:
            self.least[state] = length + 1
        return False


def find_deepening(problem: SearchProblem, effort: SearchEffort) -> tuple[Strategy | None, int]:
    """
    Find the shortest strategy.

    Returns:
        The strategy, or None if the effort is spent; and the largest bound that is proven.
    """
    start = problem.model.start
    search = _Deepening(problem, effort)
    length = problem.bound(start)
    while length <= LONGEST_STRATEGY:
        if search.solve(start, length):
            return measure_lengths(search.strategy, problem), length
        if search.is_spent:
            break
        length += 1
    return None, min(length, UNREACHABLE)


def measure_lengths(strategy: Strategy, problem: SearchProblem) -> Strategy:
    """Replace each length by the exact one, for the states that the strategy leads to."""
    exact: dict[State, NextEviction] = {}

    def measure(state: State) -> int:
        if not problem.bound(state):
            return 0
        if state not in exact:
            eviction = strategy[state].eviction
            longest = max(map(measure, problem.model.evict(state, eviction)))
            exact[state] = NextEviction(eviction, longest + 1)
        return exact[state].length

    measure(problem.model.start)
    return exact

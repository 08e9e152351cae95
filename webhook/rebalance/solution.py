"""
The goals that can be reached together, and the strategy that reaches them: ``solve``.

If not all goals can be reached, they are tried one after another: hard constraints that hold
already, the other hard ones, and then soft ones in the same order. Each is kept that can be reached
together with those before it. No constraint that holds is given up for one after it.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import accumulate, chain
from typing import NamedTuple

from webhook.rebalance.bounds import UNREACHABLE, GoalBound
from webhook.rebalance.cells import State
from webhook.rebalance.compilation import CompiledPlan
from webhook.rebalance.deepening import find_deepening
from webhook.rebalance.exhaustive import StateGraph, explore, find_shortest
from webhook.rebalance.goals import GoalObstacle
from webhook.rebalance.model import RebalanceModel
from webhook.rebalance.paths import find_descent, find_direct
from webhook.rebalance.search import SearchEffort, SearchProblem, Strategy

EXHAUSTIVE_WORK = 600_000
"""The work of a search that tries everything, in cells that are looked at; about 0.2 s."""

PATH_WORK = 40
"""
Work of a search for one path, in cells that are looked at, for each cell and eviction of the path:
each of some evictions leads to some states, of which the pods of each domain are counted.
"""


class Attempt(NamedTuple):
    """
    The result of a search for one set of goals.

    Attributes:
        strategy: None if none is found.
        bound: Proven number of evictions that every strategy needs at least.
        is_proven: Whether the strategy is shortest, or there is none.
    """

    strategy: Strategy | None
    bound: int
    is_proven: bool

    def count_evictions(self, start: State) -> int:
        """Count the evictions of the strategy in the worst case; ``UNREACHABLE`` without one."""
        if self.strategy is None:
            return UNREACHABLE
        return self.strategy[start].length if start in self.strategy else 0


class Solution(NamedTuple):
    """
    The best strategy for as many goals as can be reached.

    Attributes:
        reached: Indexes of the goals.
        obstacles: Index of each other goal -> why it is not reached.
    """

    attempt: Attempt
    reached: tuple[int, ...]
    obstacles: Mapping[int, GoalObstacle]


class GoalSearch:
    """The searches of one model; its states are listed at most once."""

    def __init__(self, model: RebalanceModel, bounds: Sequence[GoalBound]) -> None:
        self._model, self._bounds = model, bounds
        self._attempts: dict[frozenset[int], Attempt] = {}
        self._graph: StateGraph | None = None
        self._is_explored = False

    def reach(self, goals: Sequence[int]) -> Attempt:
        """Find the shortest strategy after which some goals hold."""
        known = frozenset(goals)
        if known not in self._attempts:
            self._attempts[known] = self._search(goals)
        return self._attempts[known]

    def _search(self, goals: Sequence[int]) -> Attempt:
        problem = SearchProblem(self._model, [self._bounds[goal] for goal in goals])
        least = problem.bound(self._model.start)
        if least >= UNREACHABLE:
            return Attempt(None, least, is_proven=True)
        path = EXHAUSTIVE_WORK + PATH_WORK * least * len(self._model.start)
        direct = find_direct(problem, SearchEffort(self._model, path))
        if direct is not None:
            return Attempt(direct, least, is_proven=True)
        graph = self._explore()
        if graph is not None:
            shortest = find_shortest(graph, problem)
            bound = shortest[self._model.start].length if shortest else UNREACHABLE
            return Attempt(shortest, bound, is_proven=True)
        strategy, bound = find_deepening(problem, SearchEffort(self._model, EXHAUSTIVE_WORK))
        if strategy is not None:
            return Attempt(strategy, bound, is_proven=True)
        return Attempt(
            find_descent(problem, SearchEffort(self._model, path)), bound, is_proven=False
        )

    def _explore(self) -> StateGraph | None:
        if not self._is_explored:
            self._is_explored = True
            self._graph = explore(self._model, SearchEffort(self._model, EXHAUSTIVE_WORK))
        return self._graph


def solve(compiled: CompiledPlan, hard: Sequence[bool], order: Sequence[int]) -> Solution:
    """
    Find the goals that can be reached, and the shortest strategy for them.

    The skew of a soft constraint that is not reached gets as small as these evictions allow.

    Args:
        hard: By goal, whether kube-scheduler enforces it.
        order: The indexes of the goals, the most important first.
    """
    model, bounds = compiled.model, compiled.bounds
    search = GoalSearch(model, [*bounds, *chain.from_iterable(compiled.easings)])
    best = search.reach(order)
    if best.strategy is not None:
        return Solution(best, tuple(order), {})
    reached: tuple[int, ...] = ()
    obstacles: dict[int, GoalObstacle] = {}
    best = search.reach(())
    for goal in order:
        attempt = search.reach((*reached, goal))
        if attempt.strategy is not None:
            reached, best = (*reached, goal), attempt
        else:
            obstacles[goal] = bounds[goal].obstacle or (
                _explain(search, goal, attempt, is_hard=hard[goal])
                if any(True for _ in model.list_evictions(model.start))
                else GoalObstacle.BUDGETS
            )
    eased = _ease(search, best, (reached, [*obstacles]), compiled)
    return Solution(eased, reached, obstacles)


def _ease(
    search: GoalSearch,
    best: Attempt,
    goals: tuple[Sequence[int], Sequence[int]],
    compiled: CompiledPlan,
) -> Attempt:
    """
    Find a strategy that also brings soft constraints nearer, with no more evictions.

    Args:
        best: The shortest strategy for the goals that are reached.
        goals: The indexes of these, and of the others.
    """
    start, (reached, missed) = compiled.model.start, goals
    most = best.count_evictions(start)
    starts = [*accumulate(map(len, compiled.easings), initial=len(compiled.bounds))]
    for goal in missed if most else ():
        eased = range(starts[goal], starts[goal + 1])
        kept = reached

        def is_near(one: int, kept: Sequence[int] = kept) -> bool:
            return search.reach((*kept, one)).count_evictions(start) <= most

        found = bisect_left(eased, 1, key=is_near)
        if found < len(eased):
            reached = (*kept, eased[found])
    strategy = search.reach(reached).strategy
    return best._replace(strategy=strategy)


def _explain(search: GoalSearch, goal: int, attempt: Attempt, *, is_hard: bool) -> GoalObstacle:
    """Explain why there is no strategy for a goal and those before it."""
    if not attempt.is_proven:
        return GoalObstacle.UNKNOWN
    if search.reach((goal,)).strategy is not None:
        return GoalObstacle.CONFLICT
    return GoalObstacle.NO_SEQUENCE if is_hard else GoalObstacle.SCORES

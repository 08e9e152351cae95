"""
What a search looks for: ``SearchProblem``, and what it finds: ``Strategy``.

A strategy names the next eviction in each state that the scheduler's choices can lead to, until all
goals hold. Its *length* in a state is the number of evictions that remain in the worst case.

All searches count the work that they do, and give up when a limit is reached; none looks at a
clock, so that the same input gives the same plan.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import nlargest
from itertools import groupby
from typing import NamedTuple, TypeAlias

from webhook.rebalance.bounds import UNREACHABLE, EvictionBound, GoalBound
from webhook.rebalance.cells import State
from webhook.rebalance.components import name_workload
from webhook.rebalance.model import Eviction, RebalanceModel


class NextEviction(NamedTuple):
    """
    The eviction of a strategy in one state.

    Attributes:
        length: Number of evictions that remain in the worst case, at least 1.
    """

    eviction: Eviction
    length: int


Strategy: TypeAlias = Mapping[State, NextEviction]
"""The next eviction in each state; a state in which all goals hold has none."""


class SearchEffort:
    """The work that a search may do, in cells that the model looks at."""

    def __init__(self, model: RebalanceModel, cells: int) -> None:
        self._model, self._end = model, model.work + cells

    @property
    def is_spent(self) -> bool:
        """Whether the search has to give up."""
        return self._model.work >= self._end


class SearchProblem:
    """A model with the goals that are to hold at the end."""

    def __init__(self, model: RebalanceModel, bounds: Sequence[GoalBound]) -> None:
        self.model, self._bounds = model, tuple(bounds)
        self._parts = _separate(model, self._bounds)
        self._known: dict[State, tuple[int, int]] = {}

    def bound(self, state: State) -> int:
        """Bound the length of any strategy from below; 0 exactly if all goals hold."""
        return self.measure(state)[0]

    def measure(self, state: State) -> tuple[int, int]:
        """
        Measure how far a state is from the goals.

        Returns:
            The bound, and the sum of the bounds of all goals.
        """
        found = self._known.get(state)
        if found is None:
            pods = self.model.count_pods(state)
            parts = [
                [goal.list_cases(pods[goal.counts], state) for goal in part] for part in self._parts
            ]
            each = (min(case.total for case in cases) for part in parts for cases in part)
            found = self._known[state] = (join_cases(parts), sum(each))
        return found

    def rank_evictions(
        self, state: State, within: int, most: int | None = None
    ) -> Iterator[tuple[Eviction, tuple[State, ...]]]:
        """
        Yield the evictions after which the bound is at most a number, the most promising first.

        Args:
            most: Look only at so many, from the fullest domains. Of equal ones, those come first
                whose workload has the most pods there, so that its own pods become even, too.

        Returns:
            Each eviction with the states that it may lead to, at least one.
        """
        ranked: list[tuple[tuple[int, int, int], Eviction, tuple[State, ...]]] = []
        evictions = list(self.model.list_evictions(state))
        if most is not None and len(evictions) > most:
            evictions = nlargest(most, evictions, key=self._find_excess(state))
        for eviction in evictions:
            outcomes = self.model.evict(state, eviction)
            measured = [self.measure(outcome) for outcome in outcomes]
            bound, total = max(measured, default=(UNREACHABLE, 0))
            if bound <= within:
                ranked.append(((bound, total, len(outcomes)), eviction, outcomes))
        ranked.sort(key=lambda one: one[0])
        for _, equal in groupby(ranked, lambda one: one[0]):
            found = [(eviction, outcomes) for _, eviction, outcomes in equal]
            if most is not None and len(found) > 1:
                found.sort(key=lambda one: -self._count_own(state, one[0]))
            yield from found

    def _count_own(self, state: State, eviction: Eviction) -> int:
        """Count the pods of an evicted one's workload in the domains that it leaves, by goal."""
        model, workload = self.model, name_workload(self.model.kinds[eviction.kind].example)
        own = [
            kind for kind, one in enumerate(model.kinds) if name_workload(one.example) == workload
        ]
        left = ((one.counts, model.find_domain(one.counts, eviction)) for one in self._bounds)
        return sum(
            state[cell][kind]
            for counts, domain in left
            if domain is not None
            for cell in range(len(state))
            for kind in own
            if model.find_domain(counts, Eviction(kind, cell)) == domain
        )

    def _find_excess(self, state: State) -> Callable[[Eviction], tuple[int, int]]:
        """Return the function that compares the domains that evictions leave with their levels."""
        pods, model = self.model.count_pods(state), self.model
        goals = [
            (one.counts, one.find_least(pods[one.counts], state).level) for one in self._bounds
        ]

        def find_excess(eviction: Eviction) -> tuple[int, int]:
            domains = [(one, model.find_domain(one, eviction), level) for one, level in goals]
            above = [pods[one][at] - level for one, at, level in domains if at is not None]
            return sum(number > 0 for number in above), sum(above)

        return find_excess


def _separate(model: RebalanceModel, bounds: Sequence[GoalBound]) -> list[tuple[GoalBound, ...]]:
    """Separate goals that have no counted pods in common."""
    parts: list[tuple[frozenset[int], tuple[GoalBound, ...]]] = []
    for bound in bounds:
        kinds = model.counted_kinds(bound.counts)
        joined = [part for part in parts if part[0] & kinds]
        parts = [part for part in parts if not part[0] & kinds]
        kinds = kinds.union(*(part[0] for part in joined))
        members = [one for part in joined for one in part[1]]
        parts.append((kinds, (*members, bound)))
    return [part for _, part in parts]


def join_cases(parts: Sequence[Sequence[Sequence[EvictionBound]]]) -> int:
    """
    Bound the evictions for several goals from below.

    Args:
        parts: The cases of each goal. Goals of different parts count no pods in common; evictions
            of other pods may serve a goal of another part.
    """
    goals = [cases for part in parts for cases in part]
    number = max([min([case.total for case in cases]) for cases in goals], default=0)
    larger = {case.total for cases in goals for case in cases if case.total > number}
    # With more evictions more cases are possible, some of them with fewer of counted pods.
    for total in (*sorted(larger), UNREACHABLE):
        least = sum([max([_count_least(cases, number) for cases in part]) for part in parts])
        if least <= total:
            return max(least, number)
        number = total
    return UNREACHABLE


def _count_least(cases: Sequence[EvictionBound], number: int) -> int:
    """Find the fewest evictions of counted pods, of cases with at most a number of evictions."""
    return min([case.counted for case in cases if case.total <= number])

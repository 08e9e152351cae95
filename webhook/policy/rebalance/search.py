"""
What a search looks for: ``SearchProblem``, and what it finds: ``Strategy``.

A strategy names the next eviction in each state that the scheduler's choices can lead to, until all
goals hold. Its *length* in a state is the number of evictions that remain in the worst case.

All searches count the states that they expand, and give up when a number is spent; none looks at a
clock, so that the same input gives the same plan.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from webhook.policy.rebalance.bounds import UNREACHABLE, GoalBound
from webhook.policy.rebalance.cells import State
from webhook.policy.rebalance.model import Eviction, RebalanceModel


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
    """
    How many states searches may still expand.

    ``spend`` is false once the number is used up.
    """

    def __init__(self, states: int) -> None:
        self.left = states

    def spend(self) -> bool:
        """Count one state, if there is one left."""
        self.left -= 1
        return self.left >= 0


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
            each = [[goal.bound(pods[goal.counts]) for goal in part] for part in self._parts]
            # Goals that count the same pods may be served by the same evictions.
            highest = sum(max(part) for part in each)
            found = self._known[state] = (min(highest, UNREACHABLE), sum(map(sum, each)))
        return found

    def rank_evictions(
        self, state: State, within: int
    ) -> Iterator[tuple[Eviction, tuple[State, ...]]]:
        """
        Yield the evictions after which the bound is at most a number, the most promising first.

        Returns:
            Each eviction with the states that it may lead to, at least one.
        """
        ranked: list[tuple[tuple[int, int, int], Eviction, tuple[State, ...]]] = []
        for eviction in self.model.list_evictions(state):
            outcomes = self.model.evict(state, eviction)
            measured = [self.measure(outcome) for outcome in outcomes]
            worst = max(measured, default=(UNREACHABLE, 0))
            if worst[0] <= within:
                ranked.append(((*worst, len(outcomes)), eviction, outcomes))
        ranked.sort(key=lambda one: one[0])
        for _, eviction, outcomes in ranked:
            yield eviction, outcomes


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

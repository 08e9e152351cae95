"""
The evictions that are possible in a state, and where the replacements may go: ``RebalanceModel``.

A state has the number of pods of each kind in each cell. States that differ by an exchange of cells
of one group are represented by one of them, the *canonical* one.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from operator import mul
from typing import NamedTuple, TypeAlias

from webhook.rebalance.budgets import PodDisruptionBudget
from webhook.rebalance.cells import AMPLE, Column, State, StateSpace
from webhook.rebalance.counts import CellCounts, CompiledLimit
from webhook.rebalance.kinds import NEVER, PodKind, SortedPods


class Eviction(NamedTuple):
    """The eviction of a pod of one kind in one cell."""

    kind: int
    cell: int


CellRanking: TypeAlias = Callable[[State, Sequence[int]], Sequence[int]]
"""Returns the cells with the best score, among those that pass, for the replacement to place."""

CellFilter: TypeAlias = Callable[[State, int], Iterable[int]]
"""Returns the cells that pass all filters but that of constraints, for a kind."""


class KindRules(NamedTuple):
    """
    What decides on the nodes for the replacement of a kind.

    Attributes:
        hard: Its constraints with DoNotSchedule.
        passing: Replaces the check of resources if other filters look at pods that move.
        ranking: None without constraints to score by.
    """

    hard: tuple[CompiledLimit, ...]
    passing: CellFilter | None = None
    ranking: CellRanking | None = None


class RebalanceModel:
    """
    The evictions of each state, and the states that each may lead to.

    Attributes:
        space: The kinds and cells.
        start: The canonical state at the start.
        work: Number of cells that were looked at.
        is_doubtful: Whether a state was looked at in which an assumption about room may fail.
    """

    def __init__(
        self,
        space: StateSpace,
        counts: Sequence[CellCounts],
        rules: Sequence[KindRules],
        budgets: Sequence[PodDisruptionBudget],
    ) -> None:
        self.space = space
        self.counts, self._rules, self._budgets = tuple(counts), tuple(rules), budgets
        groups = defaultdict[int, list[int]](list)
        self._group = space.groups
        for index, group in enumerate(self._group):
            groups[group].append(index)
        self._groups = [tuple(members) for members in groups.values() if len(members) > 1]
        self._group_of = {cell: tuple(members) for members in groups.values() for cell in members}
        self.work, self.is_doubtful = 0, False
        self._placements: dict[tuple[State, int], tuple[State, ...]] = {}
        self.start = self.canonical(space.count_start())
        self._evictable = find_evictable(space.pods, budgets)

    @property
    def kinds(self) -> tuple[PodKind, ...]:
        """The kinds of the pods."""
        return self.space.kinds

    def canonical(self, state: State) -> State:
        """Return the state that represents all that are equal but for an exchange of cells."""
        for group in self._groups:
            state = _sort_group(state, group)
        return state

    def _change(self, state: State, cell: int, kind: int, pods: int) -> State:
        """Add pods to a canonical state."""
        changed = change_state(state, cell, kind, pods)
        group = self._group_of[cell]
        return _sort_group(changed, group) if len(group) > 1 else changed

    def find_cell(self, state: State, cell: int, column: Column) -> int:
        """Find a cell of a group, given by one of its cells, that has a column."""
        group = self._group[cell]
        found = (i for i, pods in enumerate(state) if pods == column and self._group[i] == group)
        return next(found)

    def count_pods(self, state: State) -> list[list[int]]:
        """Count the pods of each domain, for all counts."""
        self.work += len(state) * len(self.counts)
        return [counts.count_pods(state) for counts in self.counts]

    def counted_kinds(self, counts: int) -> frozenset[int]:
        """Return the kinds that count."""
        return frozenset(self.counts[counts].kinds)

    def find_domain(self, counts: int, eviction: Eviction) -> int | None:
        """Find the domain in which an evicted pod is counted; None if it is not."""
        one = self.counts[counts]
        return self._inside[counts].get(eviction.cell) if eviction.kind in one.kinds else None

    @cached_property
    def _inside(self) -> Sequence[dict[int, int]]:
        """The domain of each cell that counts, for all counts."""
        return [dict(counts.eligible) for counts in self.counts]

    def list_evictions(self, state: State) -> Iterator[Eviction]:
        """Yield the evictions that are allowed; of those that differ by an exchange, one."""
        allowed = [kind for kind in range(len(self.kinds)) if self._is_allowed(state, kind)]
        seen = set[tuple[int, Column]]()
        for cell, column in enumerate(state):
            place = (self._group[cell], column)
            if place not in seen:
                seen.add(place)
                yield from (Eviction(kind, cell) for kind in allowed if column[kind])

    def _is_allowed(self, state: State, kind: int) -> bool:
        if not self._evictable[kind]:
            return False
        index = self.kinds[kind].budget
        if index is None:
            return True
        others = [i for i, one in enumerate(self.kinds) if one.budget == index and not one.is_ready]
        recovered = sum(self._unready[i] - sum(column[i] for column in state) for i in others)
        return self._budgets[index].allows(recovered, is_ready=self.kinds[kind].is_ready)

    @cached_property
    def _unready(self) -> Sequence[int]:
        """The number of pods of each kind at the start."""
        return [sum(pods) for pods in zip(*self.start, strict=True)]

    def evict(self, state: State, eviction: Eviction) -> tuple[State, ...]:
        """
        Find the states after an eviction, one for each choice of the scheduler that matters.

        Returns:
            Canonical states; none if the replacement would have no node.
        """
        kind, cell = eviction
        rest = self._change(state, cell, kind, -1)
        successor = self.kinds[kind].successor
        known = self._placements.get((rest, successor))
        self.work += 1
        if known is None:
            self.work += len(state)
            known = self._placements[rest, successor] = tuple(self._place(rest, successor))
        return known

    def _place(self, rest: State, kind: int) -> Iterable[State]:
        seen = dict[tuple[int, Column], State]()
        for cell in self._find_cells(rest, kind):
            place = (self._group[cell], rest[cell])
            if place not in seen:
                self.work += len(rest)
                seen[place] = self._change(rest, cell, kind, 1)
        return dict.fromkeys(seen.values())

    def _find_cells(self, rest: State, kind: int) -> Sequence[int]:
        """Find the cells that the scheduler may choose for the replacement of a pod that left."""
        rules = self._rules[kind]
        find_passing = rules.passing or self.find_room
        passing = list(find_passing(rest, kind))
        for limit in rules.hard:
            counts = self.counts[limit.counts]
            pods = counts.count_pods(rest)
            most, domains = limit.find_most(pods, counts.size), counts.domains
            passing = [
                cell
                for cell in passing
                if (domain := domains[cell]) is not None and pods[domain] <= most
            ]
        return rules.ranking(rest, passing) if rules.ranking and passing else passing

    def find_room(self, rest: State, kind: int) -> Iterator[int]:
        """Yield the cells that pass the filters, if besides constraints only resources matter."""
        requests = self.space.requests
        wanted = requests[kind]
        for cell, free, ceiling in self._limited[kind]:
            column = rest[cell]
            # Most cells take any pod, or a number of pods.
            if free[0] >= AMPLE:
                self.is_doubtful |= ceiling is not None and sum(column) >= ceiling
                yield cell
            elif len(wanted) == 1:
                if sum(column) < free[0]:
                    yield cell
            elif _fits(wanted, free, column, requests):
                yield cell

    @cached_property
    def _limited(self) -> Sequence[Sequence[tuple[int, Column, int | None]]]:
        """By kind, the cells that it may enter, with what is free there."""
        cells = self.space.cells
        return [
            [(i, cell.free, cell.ceiling) for i, cell in enumerate(cells) if cell.passes[kind]]
            for kind in range(len(self.kinds))
        ]


def _fits(wanted: Column, free: Column, column: Column, requests: Sequence[Column]) -> bool:
    """Whether there is room for one more pod; a resource that it does not request may be short."""
    return all(
        amount <= free[dimension] - sum(map(mul, column, taken))
        for dimension, (amount, taken) in enumerate(
            zip(wanted, zip(*requests, strict=True), strict=True)
        )
        if amount
    )


def _sort_group(state: State, members: Sequence[int]) -> State:
    columns = list(state)
    ordered = sorted([columns[cell] for cell in members])
    for cell, column in zip(members, ordered, strict=True):
        columns[cell] = column
    return tuple(columns)


def change_state(state: State, cell: int, kind: int, pods: int) -> State:
    """Add pods of a kind to a cell; a negative number removes them."""
    column = state[cell]
    changed = (*column[:kind], column[kind] + pods, *column[kind + 1 :])
    return (*state[:cell], changed, *state[cell + 1 :])


def find_evictable(pods: SortedPods, budgets: Sequence[PodDisruptionBudget]) -> tuple[bool, ...]:
    """Find the kinds whose pods can be evicted, now or once all pods have ready replacements."""
    unready = Counter[int | None]()
    for (kind, _), members in pods.members.items():
        if not pods.kinds[kind].is_ready:
            unready[pods.kinds[kind].budget] += len(members)
    return tuple(
        kind.budget is None
        or (
            kind.budget != NEVER
            and budgets[kind.budget].allows(unready[kind.budget], is_ready=kind.is_ready)
        )
        for kind in pods.kinds
    )

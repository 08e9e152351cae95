"""
The best strategy, from all states that evictions can lead to: ``explore`` and ``find_shortest``.

``explore`` lists them once for all sets of goals. ``find_shortest`` then works backwards from the
states in which the goals hold: a state is solved when all states that some eviction of it may lead
to are. It proves both that a strategy is shortest and that there is none.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from webhook.rebalance.cells import State
from webhook.rebalance.model import Eviction, RebalanceModel
from webhook.rebalance.search import NextEviction, SearchEffort, SearchProblem, Strategy

StateGraph: TypeAlias = Mapping[State, list[tuple[Eviction, tuple[State, ...]]]]
"""State -> its evictions, each with the states that it may lead to, at least one."""


def explore(model: RebalanceModel, effort: SearchEffort) -> StateGraph | None:
    """List all states that evictions can lead to; None if the effort is spent before."""
    graph: dict[State, list[tuple[Eviction, tuple[State, ...]]]] = {}
    pending = [model.start]
    while pending:
        state = pending.pop()
        if state in graph:
            continue
        if effort.is_spent:
            return None
        found = ((one, model.evict(state, one)) for one in model.list_evictions(state))
        graph[state] = [(eviction, outcomes) for eviction, outcomes in found if outcomes]
        pending += (outcome for _, outcomes in graph[state] for outcome in outcomes)
    return graph


class _Choice(NamedTuple):
    """An eviction in a state, and the states after it that are not solved; these are removed."""

    state: State
    eviction: Eviction
    unsolved: set[State]


def find_shortest(graph: StateGraph, problem: SearchProblem) -> Strategy | None:
    """
    Find the shortest strategy; O(states x evictions x outcomes).

    Returns:
        None if there is no strategy, whatever its length.
    """
    causes = defaultdict[State, list[_Choice]](list)
    for state, evictions in graph.items():
        # Of equally short strategies, one that leaves the scheduler the least choice is better.
        for eviction, outcomes in sorted(evictions, key=lambda one: len(one[1])):
            choice = _Choice(state, eviction, set(outcomes))
            for outcome in outcomes:
                causes[outcome].append(choice)
    solved = [state for state in graph if not problem.bound(state)]
    done, strategy, length = set(solved), dict[State, NextEviction](), 0
    while solved:
        length += 1
        following: list[State] = []
        for outcome in solved:
            for choice in causes[outcome]:
                choice.unsolved.discard(outcome)
                if not choice.unsolved and choice.state not in done:
                    done.add(choice.state)
                    strategy[choice.state] = NextEviction(choice.eviction, length)
                    following.append(choice.state)
        solved = following
    return strategy if problem.model.start in done else None

"""
What can happen in a rolling update: the first choices, and all others within a bound.

``follow`` takes the choices that ``explain`` takes everywhere; ``explore`` tries every choice that
kube-scheduler and the controllers have: the node among those with the highest score, the pod to
delete among equal ones, and whether a pod is placed or gets ready before the controllers go on.
"""

from collections.abc import Hashable, Iterable, Iterator
from typing import NamedTuple, Protocol

import msgspec

from webhook.explain.newpods import choose_node
from webhook.explain.rollingupdate.placer import Placer
from webhook.explain.rollingupdate.state import RolloutState
from webhook.explain.rollingupdate.symmetry import NodeSymmetry

MOST_WORK = 300_000
"""
Nodes that a search looks at: those with pods for each choice, and all for each placement.

That takes about half a second.
"""


class RolloutController(Protocol):
    """The controllers of a workload."""

    def advance(self, state: RolloutState, /) -> RolloutState | None:
        """Synchronize them once; None if there is nothing to do now."""
        ...

    def list_removable(self, state: RolloutState, /) -> list[tuple[str, int]]:
        """List the pods one of which is deleted next, by node and kind; the preferred one first."""
        ...

    def remove(self, state: RolloutState, node: str, kind: int, /) -> RolloutState:
        """Delete one of these pods."""
        ...

    def ignore_nodes(self) -> "RolloutController":
        """Return them without what depends on the nodes besides their domains."""
        ...

    def is_finished(self, state: RolloutState, /) -> bool:
        """Whether the rolling update has reached its end."""
        ...

    def describe(self, before: RolloutState, after: RolloutState, /) -> str:
        """Describe what they did between two states."""
        ...

    def name_pod(self, kind: int, /) -> str:
        """Return the name of the pod of a kind; empty if it is not determined."""
        ...


class Round(NamedTuple):
    """
    A step: what the controllers do, until kube-scheduler has placed what it can.

    Attributes:
        action: What the controllers did, as ``new 0 -> 1``.
        state: The pods after that.
    """

    action: str
    state: RolloutState


def follow(controller: RolloutController, placer: Placer, state: RolloutState) -> Iterator[Round]:
    """Yield the steps of a rolling update, until it has finished or stops."""
    while True:
        acted = _settle(controller, state)
        after = _run_pods(placer, acted)
        if after == state:
            return
        yield Round(controller.describe(state, acted), after)
        state = after


def _settle(controller: RolloutController, state: RolloutState) -> RolloutState:
    """Synchronize the controllers until they have nothing to do."""
    while True:
        removable = controller.list_removable(state)
        after = controller.remove(state, *removable[0]) if removable else controller.advance(state)
        if after is None:
            return state
        state = after


def _run_pods(placer: Placer, state: RolloutState) -> RolloutState:
    """Place the pending pods that have a place, and let all placed pods get ready."""
    for kind in placer.list_pending(state):
        placement = placer.place(kind, state)
        if placement.passing:
            state = state.bind(kind, choose_node(placement))
    for kind in state.starting:
        state = state.start(kind)
    return state


class Exploration(msgspec.Struct, frozen=True):
    """
    The ends of a rolling update.

    Attributes:
        ends: States in which nothing happens any more; of equivalent ones, one.
        is_complete: Whether all choices were tried.
    """

    ends: tuple[RolloutState, ...]
    is_complete: bool


def explore(
    controller: RolloutController,
    placer: Placer,
    symmetry: NodeSymmetry,
    starts: Iterable[RolloutState],
) -> Exploration:
    """Try all choices from some states, up to the bounds of a search."""
    seen: set[Hashable] = set()
    ends: list[RolloutState] = []
    waiting = list(starts)
    work, before = 0, placer.placements
    while waiting:
        if work + (placer.placements - before) * len(placer.nodes) > MOST_WORK:
            return Exploration(tuple(ends), is_complete=False)
        state = waiting.pop()
        key = symmetry.key(state)
        if key in seen:
            continue
        seen.add(key)
        following = _list_moves(controller, placer, symmetry, state)
        work += (len(following) + 1) * (len(state.placed) + 1) + len(placer.nodes)
        if following:
            waiting += following
        else:
            ends.append(state)
    return Exploration(tuple(ends), is_complete=True)


def _list_moves(
    controller: RolloutController, placer: Placer, symmetry: NodeSymmetry, state: RolloutState
) -> list[RolloutState]:
    removable = controller.list_removable(state)
    if removable:
        return _list_removals(controller, symmetry, state, removable)
    after = controller.advance(state)
    # To create pods earlier keeps every choice open: they can be placed at any time after that.
    if after is not None and after.placed == state.placed and after.removal is None:
        return [after]
    moves = [] if after is None else [after]
    for kind in dict.fromkeys(placer.list_pending(state)):
        best = placer.find_best(kind, state)
        moves += [state.bind(kind, node) for node in symmetry.choose_different(state, best)]
    return moves + [state.start(kind) for kind in dict.fromkeys(state.starting)]


def _list_removals(
    controller: RolloutController,
    symmetry: NodeSymmetry,
    state: RolloutState,
    removable: Iterable[tuple[str, int]],
) -> list[RolloutState]:
    by_kind: dict[int, list[str]] = {}
    for node, kind in removable:
        by_kind.setdefault(kind, []).append(node)
    return [
        controller.remove(state, node, kind)
        for kind, nodes in by_kind.items()
        for node in symmetry.choose_different(state, nodes)
    ]

"""
Changes judged by all replicas that await a node, not only by the next one.

``judge_for_all`` is the entry point. What lets the next pod be placed may leave those after it
Pending, as with two constraints that exclude each other for the number of replicas.
"""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from webhook.policy.explain.changes import SuggestedChange, describe_change
from webhook.policy.explain.newpods import place_pods
from webhook.policy.explain.remedies import Edits
from webhook.policy.explain.scenario import RaiseMaxSkew, Scenario, apply_all

MOST_PLACEMENTS = 20_000
"""Nodes times replicas up to which all replicas are placed with each change; that takes 40 ms."""

MOST_RAISES = 8  # values of one maxSkew that are tried


def judge_for_all(
    changes: Iterable[SuggestedChange], scenario: Scenario, replicas: int
) -> tuple[SuggestedChange, ...]:
    """
    Find how many replicas each change places, and raise a maxSkew until it places all of them.

    Args:
        changes: Changes that let the next pod of the scenario be placed.
        replicas: Number of replicas that await a node; the next pod is one of them.

    Returns:
        The changes that place all replicas first. Too many replicas are not tried.
    """
    if replicas <= 1 or replicas * len(scenario.topology.nodes) > MOST_PLACEMENTS:
        return tuple(changes)
    judged = (_judge(change, scenario, replicas) for change in changes)
    return tuple(sorted(judged, key=lambda change: change.placed < change.awaited))


def _judge(change: SuggestedChange, scenario: Scenario, replicas: int) -> SuggestedChange:
    for edits in _widen(change.edits):
        if _count_placed(edits, scenario, replicas) == replicas:
            nodes = apply_all(edits, scenario).placement().passing
            sentence = describe_change(edits, scenario.names)
            return SuggestedChange(sentence, edits, nodes, replicas, replicas)
    placed = _count_placed(change.edits, scenario, replicas)
    return replace(change, placed=placed, awaited=replicas)


def _widen(edits: Edits) -> Iterator[Edits]:
    """Yield the edits, and if they are the raise of one maxSkew, larger ones."""
    yield edits
    if len(edits) == 1 and isinstance(edit := edits[0], RaiseMaxSkew):
        for more in range(1, MOST_RAISES):
            yield (replace(edit, after=edit.after + more),)


def _count_placed(edits: Edits, scenario: Scenario, replicas: int) -> int:
    _, placed = place_pods(apply_all(edits, scenario), replicas)
    return placed.total()

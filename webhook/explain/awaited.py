"""
Changes judged by all replicas that await a node, not only by the next one.

``judge_for_all`` is the entry point. What lets the next pod be placed may leave those after it
Pending, as with two constraints that exclude each other for the number of replicas. So may another
choice among equal nodes: a change has to place all replicas with two opposite choices.
"""

from collections.abc import Iterable, Iterator
from itertools import islice

from msgspec.structs import replace

from webhook.explain.changes import SuggestedChange, describe_change
from webhook.explain.newpods import ALIKE, PodSuccession, count_placed
from webhook.explain.remedies import Edits
from webhook.explain.scenario import RaiseMaxSkew, Scenario, apply_all
from webhook.policy.advice.findings import all_of

MOST_PLACEMENTS = 20_000
"""Nodes times replicas up to which all replicas are placed with each change; that takes 0.2 s."""

MOST_RAISES = 8  # values of one maxSkew that are tried


def judge_for_all(
    changes: Iterable[SuggestedChange],
    scenario: Scenario,
    replicas: int,
    awaiting: PodSuccession = ALIKE,
) -> tuple[SuggestedChange, ...]:
    """
    Find how many replicas each change places, and raise a maxSkew until it places all of them.

    Of two opposite choices among equal nodes, the one that places fewer counts.

    Args:
        changes: Changes that let the next pod of the scenario be placed.
        replicas: Number of replicas that await a node; the next pod is one of them.
        awaiting: These replicas.

    Returns:
        The changes that place all replicas first. Of too many replicas, ``placed`` is not known.
    """
    if replicas <= 1:
        return tuple(changes)
    if replicas * len(scenario.topology.nodes) > MOST_PLACEMENTS:
        return tuple(replace(change, placed=None, awaited=replicas) for change in changes)
    judged = (_judge(change, scenario, replicas, awaiting) for change in changes)
    return tuple(sorted(judged, key=lambda change: change.placed != change.awaited))


def note_untried(changes: Iterable[SuggestedChange]) -> Iterator[str]:
    """Yield a note if not all replicas were placed with each change."""
    for change in islice(changes, 1):
        if change.placed is None:
            replicas = all_of(change.awaited, "replica")
            yield (
                f"the suggested changes place the next pod; for {replicas} they are tried only up "
                f"to {MOST_PLACEMENTS} nodes times replicas"
            )


def _judge(
    change: SuggestedChange, scenario: Scenario, replicas: int, awaiting: PodSuccession
) -> SuggestedChange:
    for edits in widen(change.edits):
        if all(placed == replicas for placed in count_placed(scenario, replicas, awaiting, edits)):
            nodes = apply_all(edits, scenario).placement().passing
            sentence = describe_change(edits, scenario.names)
            return SuggestedChange(sentence, edits, nodes, replicas, replicas)
    placed = min(count_placed(scenario, replicas, awaiting, change.edits))
    return replace(change, placed=placed, awaited=replicas)


def widen(edits: Edits) -> Iterator[Edits]:
    """Yield the edits, and if they raise nothing but maxSkew, larger ones."""
    yield edits
    raises = [edit for edit in edits if isinstance(edit, RaiseMaxSkew)]
    if len(raises) == len(edits):
        for more in range(1, MOST_RAISES):
            yield tuple(replace(edit, after=edit.after + more) for edit in raises)

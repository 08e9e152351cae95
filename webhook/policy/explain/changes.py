"""
The smallest changes that let a pod be placed, each tried before it is told.

Each way to help is searched on its own: a larger maxSkew, a toleration, a label on a node. In its
own way a change is the smallest: no part of it can be left out, and no number be nearer to what it
was. Only if no single way helps, everything that one node asks for is told together.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

import msgspec

from webhook.policy.explain.edits import apply_all
from webhook.policy.explain.noderemedies import add_nodes, combined, label_nodes, uncordon
from webhook.policy.explain.remedies import (
    Edits,
    loosen_selector,
    lower_min_domains,
    raise_max_skew,
    soften,
    tolerate,
)
from webhook.policy.explain.scenario import Scenario
from webhook.policy.placement.place import Placement

MOST_TRIALS = 20
"""Of one way to help; a trial takes 10 ms where there are 5 000 nodes."""


class SuggestedChange(msgspec.Struct, frozen=True):
    """
    What would let the pod be placed.

    Attributes:
        sentence: What to do.
        edits: The same for programs; all of them are needed.
        nodes: Names of the nodes that would then pass, in order; at least one.
    """

    sentence: str
    edits: Edits
    nodes: tuple[str, ...]


class ChangeSearch(NamedTuple):
    """
    One way to help.

    Attributes:
        candidates: What could be tried, the smallest first.
        most: How many changes of this way are told.
    """

    candidates: Callable[[Scenario, Placement], Iterator[Edits]]
    most: int = 1


CHANGE_SEARCHES = (
    ChangeSearch(raise_max_skew, 3),
    ChangeSearch(lower_min_domains, 3),
    ChangeSearch(tolerate, 3),
    ChangeSearch(uncordon),
    ChangeSearch(label_nodes),
    ChangeSearch(loosen_selector, 3),
    ChangeSearch(add_nodes),
    ChangeSearch(soften, 3),
)
"""In the order in which they are told: what costs least of what somebody meant to have."""

_TOGETHER = ChangeSearch(combined)


def smallest_changes(situation: Scenario, placement: Placement) -> tuple[SuggestedChange, ...]:
    """
    Find what would let a pod be placed.

    Args:
        situation: The pod and its surroundings.
        placement: Where it can go; if there is such a node, there is nothing to change.

    Returns:
        At most 16 changes. None if the pod can be placed, or if nothing that is tried helps.
    """
    if placement.passing:
        return ()
    found = [
        change for remedy in CHANGE_SEARCHES for change in _helping(remedy, situation, placement)
    ]
    return tuple(found or _helping(_TOGETHER, situation, placement))


def _helping(
    remedy: ChangeSearch, situation: Scenario, placement: Placement
) -> Iterator[SuggestedChange]:
    tried = islice(remedy.candidates(situation, placement), MOST_TRIALS)
    return islice(_working(tried, situation), remedy.most)


def _working(candidates: Iterable[Edits], situation: Scenario) -> Iterator[SuggestedChange]:
    """Try candidates, and keep those that work and hold none that works already."""
    found: list[Edits] = []
    for edits in candidates:
        if not edits or any(all(each in edits for each in known) for known in found):
            continue
        if _passing(edits, situation):
            least = _shrunk(edits, situation)
            found.append(least)
            sentence = ", and ".join(map(str, least))
            yield SuggestedChange(sentence, least, _passing(least, situation))


def _passing(edits: Edits, situation: Scenario) -> tuple[str, ...]:
    return apply_all(edits, situation).placement().passing


def _shrunk(edits: Edits, situation: Scenario) -> Edits:
    """Leave out what is not needed."""
    for edit in edits:
        fewer = tuple(each for each in edits if each is not edit)
        if fewer and _passing(fewer, situation):
            return _shrunk(fewer, situation)
    return edits

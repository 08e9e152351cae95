"""
Find the smallest changes that let a pod be placed; every change is tried before it is suggested.

``find_changes`` is the entry point. Every kind of change (a larger maxSkew, a toleration, a label
on a node ...) is searched on its own. Its result is minimal: no part can be left out, and no
number can be closer to the present one. Only if no single kind helps, the changes that one node
needs are combined.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TypeAlias

import msgspec

from webhook.explain import remedies
from webhook.explain.correctedkeys import correct_keys
from webhook.explain.keynames import KeyNames
from webhook.explain.nodeadditions import add_nodes
from webhook.explain.nodeedits import AddNodes, LabelNode
from webhook.explain.podedits import LowerRequest
from webhook.explain.scenario import RaiseMaxSkew, Scenario, ScenarioEdit
from webhook.explain.softening import soften
from webhook.explain.trials import ChangeTrials
from webhook.policy.api.labels import key_problems
from webhook.policy.placement.place import PodPlacement

MOST_TRIALS = 20  # trials for one kind of change; a trial takes 10 ms with 5 000 nodes


class SuggestedChange(msgspec.Struct, frozen=True):
    """
    A change that lets the pod be placed.

    Attributes:
        edits: The same for programs; all of them are needed.
        nodes: Names of the nodes that then pass, in order; at least one.
        placed: How many of the replicas that await a node are then placed; None if only the next
            one was tried.
        awaited: Number of those replicas.
    """

    sentence: str
    edits: remedies.Edits
    nodes: tuple[str, ...]
    placed: int | None = 1
    awaited: int = 1


def describe_change(edits: remedies.Edits, names: KeyNames) -> str:
    """Describe edits that belong together; ``names`` are those of label keys."""
    return ", and ".join(edit.describe(names) for edit in edits)


Candidates: TypeAlias = Callable[[Scenario, PodPlacement], Iterator[remedies.Edits]]
"""Yields what to try for one kind of change, the smallest first."""

Searches: TypeAlias = tuple[tuple[Candidates, int], ...]
"""Kinds of changes, with the most to report of each."""

CHANGE_SEARCHES: Searches = (
    (correct_keys, 1),
    (remedies.honor, 3),
    (remedies.raise_max_skew, 3),
    (remedies.lower_min_domains, 3),
    (remedies.lower_requests, 3),
    (remedies.drop_ports, 1),
    (remedies.tolerate, 3),
    (remedies.uncordon, 1),
    (remedies.label_nodes, 1),
    (remedies.loosen_selector, 3),
    (remedies.loosen_pod_affinity, 1),
    (add_nodes, 1),
    (soften, 3),
)
"""
The kinds of changes, with the most to report of each.

In the order of the report: first what gives up least of what the user configured.
"""


def find_changes(
    scenario: Scenario, placement: PodPlacement, searches: Searches = CHANGE_SEARCHES
) -> tuple[SuggestedChange, ...]:
    """
    Find at most 27 changes that let a pod be placed; none if it can be or none helps.

    Args:
        searches: The kinds of changes to try. Only if these are all, they are combined.
    """
    if placement.passing:
        return ()
    trials = ChangeTrials(scenario, placement)
    found = [
        change
        for candidates, most in searches
        for change in islice(_try(candidates(scenario, placement), trials), most)
    ]
    if found or searches is not CHANGE_SEARCHES:
        return tuple(found)
    return tuple(islice(_try(remedies.combine_changes(scenario, placement), trials), 1))


def _try(candidates: Iterable[remedies.Edits], trials: ChangeTrials) -> Iterator[SuggestedChange]:
    """Yield the candidates that work, without those that contain a smaller one."""
    found: list[remedies.Edits] = []
    for edits in islice(candidates, MOST_TRIALS):
        if not edits or _contains_one(edits, found) or not all(map(_is_writable, edits)):
            continue
        passing = trials.find_passing(edits)
        if not passing:
            continue
        least = _minimize(edits, trials)
        if least is not edits:
            passing = trials.find_passing(least)
        found.append(least)
        yield SuggestedChange(describe_change(least, trials.names), least, passing)


def _is_writable(edit: ScenarioEdit) -> bool:
    """Whether kube-apiserver accepts the labels that an edit gives to nodes."""
    labels = edit.labels if isinstance(edit, LabelNode | AddNodes) else ()
    return not any(map(key_problems, labels))


def _contains_one(edits: remedies.Edits, found: Iterable[remedies.Edits]) -> bool:
    """Whether edits do all that one of the changes does that were found, or more."""
    return any(all(any(_covers(edit, one) for edit in edits) for one in known) for known in found)


def _covers(edit: ScenarioEdit, other: ScenarioEdit) -> bool:
    if isinstance(edit, RaiseMaxSkew) and isinstance(other, RaiseMaxSkew):
        return edit.index == other.index and edit.after >= other.after
    if isinstance(edit, LowerRequest) and isinstance(other, LowerRequest):
        return edit.resource == other.resource and edit.after <= other.after
    return edit == other


def _minimize(edits: remedies.Edits, trials: ChangeTrials) -> remedies.Edits:
    for edit in edits:
        fewer = tuple(other for other in edits if other is not edit)
        if fewer and trials.find_passing(fewer):
            return _minimize(fewer, trials)
    return edits

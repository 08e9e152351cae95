"""
What an author could change in a pod, in the order of trying it; whether it helps is tried later.

Source: the questions are those of kube-scheduler's filters, asked the other way round.
"""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from webhook.policy.explain.edits import (
    DropAffinity,
    DropSelector,
    LowerMinDomains,
    RaiseMaxSkew,
    ScenarioEdit,
    Soften,
    Tolerate,
)
from webhook.policy.explain.scenario import Scenario
from webhook.policy.model import Node, Taint
from webhook.policy.placement.place import Placement
from webhook.policy.placement.taints import EXCLUDING, UNSCHEDULABLE, Toleration, tolerates
from webhook.policy.placement.tallies import MinimumReason, PodTally
from webhook.policy.placement.topology import carries_keys

Edits: TypeAlias = tuple[ScenarioEdit, ...]
"""What has to be done together."""


def raise_max_skew(situation: Scenario, placement: Placement) -> Iterator[Edits]:
    """
    Raise what rejects a node that nothing else rejects, so far that it does not.

    No maxSkew changes which nodes and pods count, so this is exact: for each set of constraints
    the raise that adds up to least, sets of few constraints first.
    """
    hard = placement.tallies.hard
    keys = tuple(tally.spread.topology_key for tally in hard)
    least: dict[tuple[int, ...], tuple[RaiseMaxSkew, ...]] = {}
    for node in situation.topology.nodes:
        if node.name in placement.refused or not carries_keys(node, keys):
            continue
        raises = raises_for(node, hard)
        indexes = tuple(each.index for each in raises)
        if indexes and (indexes not in least or _total(raises) < _total(least[indexes])):
            least[indexes] = raises
    yield from sorted(least.values(), key=lambda raises: (len(raises), _total(raises)))


def raises_for(node: Node, hard: Sequence[PodTally]) -> tuple[RaiseMaxSkew, ...]:
    """What to raise so that no constraint finds the skew of a node too large; it has all keys."""
    return tuple(
        RaiseMaxSkew(spread.index, spread.topology_key, spread.max_skew, skew)
        for tally in hard
        if (skew := tally.skew(node.labels[(spread := tally.spread).topology_key]))
        > spread.max_skew
    )


def lower_min_domains(_: Scenario, placement: Placement) -> Iterator[Edits]:
    """Lower what asks for more domains than there are to what there is: alone, then together."""
    yield from alone_and_together(
        [
            LowerMinDomains(spread.index, spread.topology_key, spread.min_domains, found)
            for tally in placement.tallies.hard
            if tally.minimum_reason is MinimumReason.TOO_FEW_DOMAINS
            for spread, found in [(tally.spread, len(tally.domains.sizes))]
        ]
    )


def soften(_: Scenario, placement: Placement) -> Iterator[Edits]:
    """Make wishes of demands: one, then all."""
    spreads = (tally.spread for tally in placement.tallies.hard)
    yield from alone_and_together([Soften(each.index, each.topology_key) for each in spreads])


def tolerate(situation: Scenario, _: Placement) -> Iterator[Edits]:
    """
    Tolerate the taints of a node, of those with few taints first; then all there are.

    Whoever cordons a node does not want it tolerated: that is for ``uncordon``.
    """
    ways = {untolerated_taints(node, situation): None for node in situation.topology.nodes}
    ordered = sorted((way for way in ways if way and UNSCHEDULABLE not in way), key=len)
    yield from (tuple(map(Tolerate, way)) for way in ordered)
    yield tuple(map(Tolerate, dict.fromkeys(taint for way in ordered for taint in way)))


def untolerated_taints(node: Node, situation: Scenario) -> tuple[Taint, ...]:
    """All taints that keep the pod off a node."""
    tolerations: tuple[Toleration, ...] = situation.pod.demands.tolerations or ()
    return tuple(
        taint
        for taint in node.taints
        if taint.effect in EXCLUDING and not any(tolerates(each, taint) for each in tolerations)
    )


def loosen_selector(situation: Scenario, _: Placement) -> Iterator[Edits]:
    """Ask for fewer labels of a node: one, or the affinity; then for none at all."""
    demands = situation.pod.demands
    edits: list[ScenarioEdit] = [DropSelector(key, value) for key, value in demands.pairs]
    if demands.terms is not None:
        edits.append(DropAffinity())
    yield from alone_and_together(edits)


def alone_and_together(edits: Sequence[ScenarioEdit]) -> Iterator[Edits]:
    """Each edit on its own, then all of them."""
    yield from ((edit,) for edit in edits)
    if len(edits) > 1:
        yield tuple(edits)


def _total(raises: Sequence[RaiseMaxSkew]) -> int:
    return sum(each.after - each.before for each in raises)

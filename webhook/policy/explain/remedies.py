"""
Candidate changes of a pod, the smallest first; ``changes`` tries whether they help.

Each function inverts one question of kube-scheduler's filters: which change would make a rejected
node pass.
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
from webhook.policy.placement.place import PodPlacement
from webhook.policy.placement.taints import UNSCHEDULABLE, find_untolerated
from webhook.policy.placement.tallies import MinimumReason, PodTally
from webhook.policy.placement.topology import carries_keys

Edits: TypeAlias = tuple[ScenarioEdit, ...]
"""Edits that belong together."""


def raise_max_skew(scenario: Scenario, placement: PodPlacement) -> Iterator[Edits]:
    """
    Raise the maxSkew of constraints until a node passes that nothing else rejects.

    A maxSkew does not change which nodes and pods count, so this is exact. For every set of
    constraints it yields the smallest total raise, sets of few constraints first.
    """
    hard = placement.tallies.hard
    keys = tuple(tally.spread.topology_key for tally in hard)
    least: dict[tuple[int, ...], tuple[RaiseMaxSkew, ...]] = {}
    for node in scenario.topology.nodes:
        if node.name in placement.refused or not carries_keys(node, keys):
            continue
        raises = raises_for(node, hard)
        indexes = tuple(edit.index for edit in raises)
        if indexes and (indexes not in least or _total(raises) < _total(least[indexes])):
            least[indexes] = raises
    yield from sorted(least.values(), key=lambda raises: (len(raises), _total(raises)))


def raises_for(node: Node, hard: Sequence[PodTally]) -> tuple[RaiseMaxSkew, ...]:
    """List the raises that make a node pass, which has the topology keys of all constraints."""
    return tuple(
        RaiseMaxSkew(spread.index, spread.topology_key, spread.max_skew, skew)
        for tally in hard
        if (skew := tally.skew(node.labels[(spread := tally.spread).topology_key]))
        > spread.max_skew
    )


def lower_min_domains(_: Scenario, placement: PodPlacement) -> Iterator[Edits]:
    """Lower every minDomains that exceeds the number of domains, alone and then together."""
    yield from alone_and_together(
        [
            LowerMinDomains(spread.index, spread.topology_key, spread.min_domains, found)
            for tally in placement.tallies.hard
            if tally.minimum_reason is MinimumReason.TOO_FEW_DOMAINS
            for spread, found in [(tally.spread, len(tally.domains.sizes))]
        ]
    )


def soften(_: Scenario, placement: PodPlacement) -> Iterator[Edits]:
    """Make hard constraints soft: one, then all."""
    spreads = (tally.spread for tally in placement.tallies.hard)
    yield from alone_and_together([Soften(spread.index, spread.topology_key) for spread in spreads])


def tolerate(scenario: Scenario, _: PodPlacement) -> Iterator[Edits]:
    """
    Tolerate the taints of one node, those with few taints first; then all taints.

    Cordoned nodes are skipped: ``uncordon`` is the remedy for them.
    """
    sets = {untolerated_taints(node, scenario): None for node in scenario.topology.nodes}
    ordered = sorted((taints for taints in sets if taints and UNSCHEDULABLE not in taints), key=len)
    yield from (tuple(map(Tolerate, taints)) for taints in ordered)
    yield tuple(map(Tolerate, dict.fromkeys(taint for taints in ordered for taint in taints)))


def untolerated_taints(node: Node, scenario: Scenario) -> tuple[Taint, ...]:
    """List all taints of a node that reject the pod."""
    tolerations = scenario.pod.demands.tolerations or ()
    return tuple(taint for taint in node.taints if find_untolerated((taint,), tolerations))


def loosen_selector(scenario: Scenario, _: PodPlacement) -> Iterator[Edits]:
    """Drop one label of the nodeSelector, or the required affinity; then all of them."""
    demands = scenario.pod.demands
    edits: list[ScenarioEdit] = [DropSelector(key, value) for key, value in demands.pairs]
    if demands.terms is not None:
        edits.append(DropAffinity())
    yield from alone_and_together(edits)


def alone_and_together(edits: Sequence[ScenarioEdit]) -> Iterator[Edits]:
    """Yield every edit on its own, then all of them together."""
    yield from ((edit,) for edit in edits)
    if len(edits) > 1:
        yield tuple(edits)


def _total(raises: Sequence[RaiseMaxSkew]) -> int:
    return sum(edit.after - edit.before for edit in raises)

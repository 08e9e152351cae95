"""Everything that is known about the placement of a pod, as one value for people and programs."""

from collections.abc import Iterable

import msgspec

from webhook.policy.explain.changes import SuggestedChange, smallest_changes
from webhook.policy.explain.rollout import unevenness
from webhook.policy.explain.scenario import NOT_MODELLED, Scenario
from webhook.policy.explain.sentences import (
    explain_minimum,
    rejection_reason,
    render_rejection,
    summarize,
)
from webhook.policy.model import DO_NOT_SCHEDULE, HONOR, IGNORE, LabelSelector
from webhook.policy.placement.place import Placement
from webhook.policy.placement.spreads import SpreadConstraint
from webhook.policy.placement.tallies import Domain, PodTally
from webhook.policy.selectors import render

NAMED_NODES = 3  # of a group: enough to look at, few enough for a line


class NodeGroup(msgspec.Struct, frozen=True):
    """
    Nodes with the same thing against them.

    Attributes:
        reason: In kube-scheduler's words where it has some.
        nodes: How many; at least 1.
        named: The first of them, at most ``NAMED_NODES``.
    """

    reason: str
    nodes: int
    named: tuple[str, ...]


class DomainRow(msgspec.Struct, frozen=True, rename="camel"):
    """
    A value of a topology key.

    Attributes:
        value: Of the key.
        nodes: Eligible nodes; 0 if it is no domain.
        left_out: Nodes with it that are not eligible.
        pods: Counted pods on the eligible nodes.
        skew: What it would be if the pod went there; None for a soft constraint.
        fits: Whether the constraint takes that; a soft one always does.
    """

    value: str
    nodes: int
    left_out: int
    pods: int
    skew: int | None
    fits: bool


class ConstraintExplanation(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """
    One constraint, and what it counts.

    Attributes:
        index: Its place in the list, from 0.
        selector: Of the counted pods, matchLabelKeys included; ``<none>`` counts none.
        min_domains: As it is acted on, at least 1.
        selects_pod: Whether the pod counts itself.
        global_minimum: Pods of the emptiest domain, or 0 for want of domains.
        minimum_because: What makes it so.
        pods: All counted pods on eligible nodes.
        unevenness: Pods of the fullest domain above the emptiest one.
        domains: Sorted by value.
        left_out: Nodes that are not eligible, the largest group first.
    """

    index: int
    topology_key: str
    when_unsatisfiable: str
    max_skew: int
    min_domains: int
    selector: str
    node_affinity_policy: str
    node_taints_policy: str
    selects_pod: bool
    global_minimum: int
    minimum_because: str
    pods: int
    unevenness: int
    domains: tuple[DomainRow, ...]
    left_out: tuple[NodeGroup, ...]


class NodeExplanation(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """
    One node, and what is said of it.

    Attributes:
        passes: Whether the pod can go there.
        best: Whether spreading prefers no other node to it.
        reason: Why it does not pass; empty if it does.
        score: 0 to 100, more are better; None if nothing is scored, or it does not pass.
        raw_score: Before normalization; lower is better.
    """

    name: str
    passes: bool
    best: bool
    reason: str = ""
    score: int | None = None
    raw_score: int | None = None


class Explanation(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """
    Why a pod can or cannot be placed.

    Attributes:
        subject: What is asked about.
        sentence: It all in one.
        placeable: Whether there is a node that passes.
        runs_on: The node that the pod runs on; empty if it does not run.
        defaulted: Whether the constraints are the scheduler's defaults, not the pod's own.
        constraints: In order.
        nodes: In the order of the cluster.
        rejected: Nodes that do not pass, the largest group first.
        changes: What would let the pod be placed; empty if it can be.
        not_modelled: What was not looked at.
    """

    subject: str
    sentence: str
    placeable: bool
    runs_on: str = ""
    defaulted: bool = False
    constraints: tuple[ConstraintExplanation, ...] = ()
    nodes: tuple[NodeExplanation, ...] = ()
    rejected: tuple[NodeGroup, ...] = ()
    changes: tuple[SuggestedChange, ...] = ()
    not_modelled: tuple[str, ...] = NOT_MODELLED


def explain(situation: Scenario, subject: str, runs_on: str = "") -> Explanation:
    """
    Tell all about the placement of a pod.

    Takes O(nodes x constraints) for a pod that can be placed, some hundred times as long to look
    for changes for one that cannot.

    Args:
        situation: The pod and its surroundings.
        subject: What it is called, as ``Pod shop/web-1``.
        runs_on: The node that it runs on; empty if it waits or does not exist yet.
    """
    placement = situation.placement()
    best = frozenset(placement.best)
    nodes = tuple(_node(name, placement, best) for name in placement.statuses)
    tallies = (*placement.tallies.hard, *placement.tallies.soft)
    return Explanation(
        subject=subject,
        sentence=summarize(situation, placement, runs_on),
        placeable=bool(placement.passing),
        runs_on=runs_on,
        defaulted=situation.spreads.defaulted and bool(tallies),
        constraints=tuple(
            _constraint(tally, situation)
            for tally in sorted(tallies, key=lambda tally: tally.spread.index)
        ),
        nodes=nodes,
        rejected=_grouped((node.name, node.reason) for node in nodes if not node.passes),
        changes=smallest_changes(situation, placement),
    )


def _node(name: str, placement: Placement, best: frozenset[str]) -> NodeExplanation:
    reason = rejection_reason(name, placement)
    if reason:
        return NodeExplanation(name=name, passes=False, best=False, reason=reason)
    scores = placement.scores
    return NodeExplanation(
        name=name,
        passes=True,
        best=name in best,
        score=scores.normalized[name] if scores else None,
        raw_score=scores.raw[name] if scores else None,
    )


def _constraint(tally: PodTally, situation: Scenario) -> ConstraintExplanation:
    spread = tally.spread
    return ConstraintExplanation(
        index=spread.index,
        topology_key=spread.topology_key,
        when_unsatisfiable=spread.constraint.when_unsatisfiable,
        max_skew=spread.max_skew,
        min_domains=spread.min_domains,
        selector=_selector(spread.selector),
        node_affinity_policy=HONOR if spread.honors_affinity else IGNORE,
        node_taints_policy=HONOR if spread.honors_taints else IGNORE,
        selects_pod=tally.matches_pod,
        global_minimum=tally.minimum,
        minimum_because=explain_minimum(tally),
        pods=sum(tally.pods.values()),
        unevenness=unevenness(tally),
        domains=tuple(_row(row, spread) for row in tally.table(situation.topology)),
        left_out=_grouped(
            (node, render_rejection(obstacle)) for node, obstacle in tally.domains.left_out.items()
        ),
    )


def _selector(selector: LabelSelector | None) -> str:
    return "<none>" if selector is None else render(selector)


def _row(row: Domain, spread: SpreadConstraint) -> DomainRow:
    left_out = len(row.left_out)
    if spread.constraint.when_unsatisfiable != DO_NOT_SCHEDULE:
        return DomainRow(row.value, row.nodes, left_out, row.pods, None, fits=True)
    return DomainRow(row.value, row.nodes, left_out, row.pods, row.skew, row.fits)


def _grouped(pairs: Iterable[tuple[str, str]]) -> tuple[NodeGroup, ...]:
    """Group names by what is said of them, the largest group first."""
    groups: dict[str, list[str]] = {}
    for name, said in pairs:
        groups.setdefault(said, []).append(name)
    ordered = sorted(groups.items(), key=lambda each: (-len(each[1]), each[0]))
    return tuple(NodeGroup(said, len(names), tuple(names[:NAMED_NODES])) for said, names in ordered)

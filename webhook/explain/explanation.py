"""
The explanation of a placement: sentences and figures as one value, for terminals and programs.

``explain`` is the entry point. Its structs are the JSON output of ``evenspread explain``.
"""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from webhook.explain import sentences
from webhook.explain.caveats import ALWAYS_IGNORED
from webhook.explain.changes import SuggestedChange, find_changes
from webhook.explain.daemonchanges import find_daemon_changes
from webhook.explain.daemons import (
    DaemonPods,
    DaemonReport,
    describe_pinned,
    find_missing,
    pin_first,
    summarize_daemons,
)
from webhook.explain.rollout import unevenness
from webhook.explain.scenario import Scenario
from webhook.explain.terms import NO_TERMS, PlacementTerms
from webhook.policy.catalogue import DEFAULT_ACTIONS
from webhook.policy.model import DO_NOT_SCHEDULE, HONOR, IGNORE
from webhook.policy.placement.filters.failure import describe_failure
from webhook.policy.placement.nodes import find_mismatch
from webhook.policy.placement.place import PodPlacement
from webhook.policy.placement.tallies import PodTally
from webhook.policy.placement.topology import Topology
from webhook.policy.selectors import render

NAMED_NODES = 3  # names of a group that are listed; few enough for one line


class NodeGroup(msgspec.Struct, frozen=True):
    """
    Nodes that are rejected for the same reason.

    Attributes:
        reason: The reason, in kube-scheduler's words where it has any.
        named: Names of the first ones, at most ``NAMED_NODES``.
    """

    reason: str
    nodes: int
    named: tuple[str, ...]


class DomainRow(msgspec.Struct, frozen=True, rename="camel"):
    """
    A value of a topology key, with its pods.

    Attributes:
        nodes: Number of eligible nodes; 0 if it is no domain.
        left_out: Number of ineligible nodes with the value.
        pods: Counted pods on the eligible nodes.
        skew: The skew if the pod went there; None for a soft constraint.
        fits: Whether the constraint allows that skew; always true for a soft one.
    """

    value: str
    nodes: int
    left_out: int
    pods: int
    skew: int | None
    fits: bool


class ConstraintExplanation(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """
    One constraint in force, and the pods that it counts.

    Attributes:
        index: Position in the list, from 0.
        min_domains: The value in force; at least 1.
        selector: Selector of the counted pods with matchLabelKeys merged; ``<none>`` counts none.
        selects_pod: Whether the selector matches the pod itself.
        global_minimum: Pods of the least full domain; 0 with fewer domains than minDomains.
        minimum_because: Why the minimum is what it is.
        pods: All counted pods on eligible nodes.
        unevenness: Pods of the fullest domain above the emptiest one.
        left_out: Ineligible nodes, the largest group first.
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
    One node, and whether the pod can go there.

    Attributes:
        best: Whether no other node has a higher score.
        reason: Why it does not pass; empty if it does.
        score: 0 to 100, higher is better; None if it does not pass or nothing is scored.
        raw_score: Before normalization; lower is better.
    """

    name: str
    passes: bool
    best: bool
    reason: str = ""
    score: int | None = None
    raw_score: int | None = None


class Refusal(msgspec.Struct, frozen=True):
    """
    A violation of an API rule, or of a policy rule that denies.

    Attributes:
        rule: Empty for a field that no rule is about, such as ``spec.replicas``.
        field: The path of the field.
        message: kube-apiserver's text, or that of the policy rule.
    """

    rule: str
    field: str
    message: str


class Explanation(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """
    Why a pod can or cannot be placed.

    Attributes:
        failed_scheduling: The message of the event FailedScheduling, without what PostFilter
            plugins add; usually empty. For a DaemonSet, that of the first pod without a place.
        runs_on: The node that the pod runs on; empty if it does not run.
        defaulted: Whether the constraints are the scheduler's defaults rather than the pod's own.
        rejected: Nodes that do not pass, the largest group first.
        changes: Changes that let the pod be placed; empty if it can be placed.
        not_modelled: What kube-scheduler considers for the pod, and this does not.
        daemon: The nodes of a DaemonSet; None for others. Then ``nodes`` are those that need a pod,
            ``rejected`` those that need none, and ``constraints`` those of the first missing pod
            that cannot be placed.
        refused: Why no such pod is accepted, so that nothing is placed; usually empty.
        bound_to: The node that the template names, so that kube-scheduler does not place the pod.
        scheduler: Another scheduler, of which nothing is known; empty for kube-scheduler.
        gates: Scheduling gates, without which the rest holds.
        phase: The phase of a pod that has ended, so that the rest holds for a new pod like it.
        closed: Why the Job that would create the pod creates no pod any more; usually empty.
        suspended: Whether that Job is suspended.
        unknown_revision: The revision of the pod, if its template is not known and the rest holds
            for the present template.
    """

    subject: str
    sentence: str
    placeable: bool
    failed_scheduling: str = ""
    runs_on: str = ""
    defaulted: bool = False
    constraints: tuple[ConstraintExplanation, ...] = ()
    nodes: tuple[NodeExplanation, ...] = ()
    rejected: tuple[NodeGroup, ...] = ()
    changes: tuple[SuggestedChange, ...] = ()
    not_modelled: tuple[str, ...] = ALWAYS_IGNORED
    daemon: DaemonReport | None = None
    refused: tuple[Refusal, ...] = ()
    bound_to: str = ""
    scheduler: str = ""
    gates: tuple[str, ...] = ()
    phase: str = ""
    closed: str = ""
    suspended: bool = False
    unknown_revision: str = ""


def name_refusing_server(refused: Sequence[Refusal]) -> str:
    """Name the server that refuses an object: evenspread for policy rules, else kube-apiserver."""
    return "evenspread" if refused[0].rule in DEFAULT_ACTIONS else "kube-apiserver"


def explain_refusal(subject: str, refused: tuple[Refusal, ...]) -> Explanation:
    """Explain that an object or its pods are refused; ``refused`` is not empty."""
    found = ", ".join(dict.fromkeys(refusal.rule for refusal in refused if refusal.rule))
    rules = f" ({found})" if found else ""
    first, server = refused[0], name_refusing_server(refused)
    return Explanation(
        subject=subject,
        sentence=f"is refused by {server}: {first.field}: {first.message}{rules}",
        placeable=False,
        not_modelled=(),
        refused=refused,
    )


def explain(
    scenario: Scenario,
    subject: str,
    runs_on: str = "",
    not_modelled: tuple[str, ...] = ALWAYS_IGNORED,
    terms: PlacementTerms = NO_TERMS,
) -> Explanation:
    """
    Explain the placement of a pod; O(nodes x constraints), and longer to find changes.

    Args:
        subject: Name of the pod or workload, as ``Pod shop/web-1``.
        runs_on: The node that it runs on; empty if it is pending or does not exist yet.
        not_modelled: What the pod uses and placement does not model, from ``find_caveats``.
        terms: What decides on its node besides kube-scheduler.
    """
    placement = scenario.placement()
    sentence = sentences.summarize(scenario, placement, runs_on)
    best = frozenset(placement.best)
    nodes = tuple(_explain_node(name, scenario, placement, best) for name in placement.statuses)
    constraints = _explain_constraints(scenario, placement)
    return Explanation(
        subject=subject,
        sentence=terms.describe(sentence, placement.statuses.keys()),
        placeable=bool(placement.passing),
        failed_scheduling=describe_failure(placement.result) if terms.are_filtered else "",
        runs_on=runs_on,
        defaulted=scenario.spreads.defaulted and bool(constraints),
        constraints=constraints,
        nodes=nodes,
        rejected=_group_nodes((node.name, node.reason) for node in nodes if not node.passes),
        changes=() if terms.node or terms.closed else find_changes(scenario, placement),
        not_modelled=not_modelled,
        bound_to=terms.node,
        scheduler=terms.scheduler,
        gates=terms.gates,
        phase=terms.phase,
        closed=terms.closed,
        suspended=terms.suspended,
        unknown_revision=terms.revision,
    )


def explain_daemons(
    scenario: Scenario,
    subject: str,
    pods: DaemonPods,
    not_modelled: tuple[str, ...] = ALWAYS_IGNORED,
) -> Explanation:
    """Explain which nodes lack their pod of a DaemonSet, and why."""
    report = find_missing(scenario, pods)
    lacking = [pod for pod in report.missing if not pod.is_placeable]
    reasons = {pod.node: pod.reason or pod.reason_after for pod in lacking}
    nodes = scenario.topology.nodes
    exclusions = {node.name: find_mismatch(node, scenario.pod.demands) for node in nodes}
    pinned = pin_first(scenario, report)
    return Explanation(
        subject=subject,
        sentence=summarize_daemons(report),
        placeable=pinned is None,
        failed_scheduling=describe_pinned(pinned, nodes),
        constraints=_explain_constraints(pinned, pinned.placement()) if pinned else (),
        nodes=tuple(
            NodeExplanation(
                name=name, passes=name not in reasons, best=False, reason=reasons.get(name, "")
            )
            for name, exclusion in exclusions.items()
            if exclusion is None
        ),
        rejected=_group_nodes(
            (name, sentences.render_rejection(exclusion))
            for name, exclusion in exclusions.items()
            if exclusion is not None
        ),
        changes=find_daemon_changes(scenario, pinned, report) if pinned else (),
        daemon=report,
        not_modelled=not_modelled,
    )


def _explain_node(
    name: str, scenario: Scenario, placement: PodPlacement, best: frozenset[str]
) -> NodeExplanation:
    reason, scores = sentences.rejection_reason(name, scenario, placement), placement.scores
    return NodeExplanation(
        name=name,
        passes=not reason,
        best=name in best,
        reason=reason,
        score=scores.normalized.get(name) if scores else None,
        raw_score=scores.raw.get(name) if scores else None,
    )


def _explain_constraints(
    scenario: Scenario, placement: PodPlacement
) -> tuple[ConstraintExplanation, ...]:
    return tuple(_explain_constraint(tally, scenario) for tally in placement.tallies.by_index)


def _explain_constraint(tally: PodTally, scenario: Scenario) -> ConstraintExplanation:
    spread = tally.spread
    return ConstraintExplanation(
        index=spread.index,
        topology_key=spread.topology_key,
        when_unsatisfiable=spread.constraint.when_unsatisfiable,
        max_skew=spread.max_skew,
        min_domains=spread.min_domains,
        selector="<none>" if spread.selector is None else render(spread.selector),
        node_affinity_policy=HONOR if spread.honors_affinity else IGNORE,
        node_taints_policy=HONOR if spread.honors_taints else IGNORE,
        selects_pod=tally.matches_pod,
        global_minimum=tally.minimum,
        minimum_because=sentences.explain_minimum(tally, scenario.names),
        pods=sum(tally.pods.values()),
        unevenness=unevenness(tally),
        domains=tuple(_list_domains(tally, scenario.topology)),
        left_out=_group_nodes(
            (node, sentences.render_rejection(rejection))
            for node, rejection in tally.domains.left_out.items()
        ),
    )


def _list_domains(tally: PodTally, topology: Topology) -> Iterator[DomainRow]:
    sizes, left_out = tally.domains.sizes, tally.count_ineligible(topology)
    soft = tally.spread.constraint.when_unsatisfiable != DO_NOT_SCHEDULE
    for value in sorted({*sizes, *left_out}):
        yield DomainRow(
            value=value,
            nodes=sizes.get(value, 0),
            left_out=left_out[value],
            pods=tally.pods.get(value, 0),
            skew=None if soft else tally.skew(value),
            fits=soft or tally.fits(value),
        )


def _group_nodes(pairs: Iterable[tuple[str, str]]) -> tuple[NodeGroup, ...]:
    groups: dict[str, list[str]] = {}
    for name, reason in pairs:
        groups.setdefault(reason, []).append(name)
    ordered = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    return tuple(
        NodeGroup(reason, len(names), tuple(names[:NAMED_NODES])) for reason, names in ordered
    )

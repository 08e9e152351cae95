"""
The explanation of a placement: sentences and figures as one value, for terminals and programs.

``explain`` is the entry point. Its structs are the JSON output of ``evenspread explain``.
"""

from collections.abc import Sequence

import msgspec

from webhook.explain import sentences
from webhook.explain.caveats import ALWAYS_IGNORED
from webhook.explain.changes import SuggestedChange, find_changes
from webhook.explain.constraints import (
    ConstraintExplanation,
    NodeGroup,
    explain_constraints,
    group_nodes,
)
from webhook.explain.daemonchanges import find_daemon_changes
from webhook.explain.daemonreport import DaemonReport, summarize_daemons
from webhook.explain.daemons import (
    DaemonPods,
    describe_pinned,
    find_missing,
    pin_first,
)
from webhook.explain.scenario import Scenario
from webhook.explain.terms import NO_TERMS, PlacementTerms
from webhook.policy.catalogue import DEFAULT_ACTIONS
from webhook.policy.placement.filters.failure import describe_failure
from webhook.policy.placement.place import PodPlacement


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
    first, server = refused[0], name_refusing_server(refused)
    rule = f" ({first.rule})" if first.rule else ""
    return Explanation(
        subject=subject,
        sentence=f"is refused by {server}: {first.field}: {first.message}{rule}",
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
    constraints = explain_constraints(scenario, placement)
    return Explanation(
        subject=subject,
        sentence=terms.describe(sentence, placement.statuses.keys()),
        placeable=bool(placement.passing),
        failed_scheduling=describe_failure(placement.result) if terms.are_filtered else "",
        runs_on=runs_on,
        defaulted=scenario.spreads.defaulted and bool(constraints),
        constraints=constraints,
        nodes=nodes,
        rejected=group_nodes((node.name, node.reason) for node in nodes if not node.passes),
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


_WITHOUT_CLASS = (
    "; the controller chooses nodes by the template, which lacks what the RuntimeClass adds to the "
    "pods: write the same nodeSelector and tolerations into it"
)


def explain_daemons(
    scenario: Scenario,
    subject: str,
    pods: DaemonPods,
    not_modelled: tuple[str, ...] = ALWAYS_IGNORED,
) -> Explanation:
    """Explain which nodes lack their pod of a DaemonSet, and why."""
    report = find_missing(scenario, pods)
    lacking = [pod for pod in report.awaited if not pod.is_placeable]
    reasons = {pod.node: pod.reason or pod.reason_after for pod in lacking}
    nodes = scenario.topology.nodes
    exclusions = {node.name: pods.find_exclusion(node, scenario) for node in nodes}
    pinned = pin_first(scenario, report, pods)
    return Explanation(
        subject=subject,
        sentence=summarize_daemons(report) + (_WITHOUT_CLASS if pods.template_demands else ""),
        placeable=pinned is None,
        failed_scheduling=describe_pinned(pinned, nodes),
        constraints=explain_constraints(pinned, pinned.placement()) if pinned else (),
        nodes=tuple(
            NodeExplanation(
                name=name, passes=name not in reasons, best=False, reason=reasons.get(name, "")
            )
            for name, exclusion in exclusions.items()
            if exclusion is None
        ),
        rejected=group_nodes(
            (name, sentences.render_rejection(exclusion))
            for name, exclusion in exclusions.items()
            if exclusion is not None
        ),
        changes=find_daemon_changes(scenario, pinned, report, pods) if pinned else (),
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

"""
What places a pod that no node accepts, for TSC106.

``suggest_placing`` is the entry point. It prefers a change of the cause, which is shown to place
the pod, to a larger maxSkew; ``accepts_pod`` is how that is shown.
"""

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from webhook.policy.advice.awaitedpods import suggest_change
from webhook.policy.advice.closeddomains import (
    ClosedDomains,
    find_closed,
    honor_policies,
    open_domains,
    suggest_policies,
)
from webhook.policy.advice.context import AdviceContext, ClusterState
from webhook.policy.advice.counting import adds_revision, build_added_pod, list_revision_keys
from webhook.policy.advice.fields import counts_revisions_together, suggest_revision
from webhook.policy.advice.findings import WAIT_FOR_NODES
from webhook.policy.advice.flow import member
from webhook.policy.advice.laterpods import tally_returned
from webhook.policy.advice.mindomains import suggest_min_domains
from webhook.policy.advice.recreation import RecreatedPods
from webhook.policy.advice.requiredaffinity import NO_AFFINITY, RequiredAffinity
from webhook.policy.advice.subject import Subject
from webhook.policy.advice.volumes import volumes_return
from webhook.policy.api.gates import Gate
from webhook.policy.model import TAINTS_POLICY, Constraint, Node
from webhook.policy.placement.nodes import Demands, find_rejection
from webhook.policy.placement.scoring import filter_node
from webhook.policy.placement.tallies import MinimumReason, PodTally


def suggest_placing(
    subject: Subject,
    tallies: tuple[PodTally, ...],
    affinity: RequiredAffinity,
    context: AdviceContext,
) -> tuple[str, str]:
    """
    Suggest what places the next pod of a subject.

    Args:
        tallies: Its hard constraints; with its affinity, they reject all nodes.

    Returns:
        A field, and its new value or a comment.
    """
    for suggest in (
        _suggest_honoring,
        _suggest_domains,
        _suggest_while_closed,
        _suggest_counting_apart,
    ):
        if found := suggest(subject, tallies, affinity, context):
            return found
    assert context.cluster is not None, "the rule runs in audits"
    reached = context.cluster.topology.reachable("", (), subject.demands).values
    nodes = [node for node in context.cluster.topology.nodes if node.name in reached]
    nodes = [node for node in nodes if not affinity.find_rejecting(node)]
    recreated = RecreatedPods.read(subject, context)
    return suggest_change(recreated, tallies, nodes, affinity.avoided)


def accepts_pod(
    tallies: tuple[PodTally, ...],
    demands: Demands,
    cluster: ClusterState,
    affinity: RequiredAffinity = NO_AFFINITY,
) -> bool:
    """Whether some node accepts a pod."""
    return any(accepts(node, tallies, demands, affinity) for node in cluster.topology.nodes)


def accepts(
    node: Node, tallies: tuple[PodTally, ...], demands: Demands, affinity: RequiredAffinity
) -> bool:
    """Whether a node accepts a pod."""
    return (
        filter_node(node, tallies).passes
        and find_rejection(node, demands) is None
        and not affinity.find_rejecting(node)
    )


def _suggest_honoring(
    subject: Subject,
    tallies: tuple[PodTally, ...],
    affinity: RequiredAffinity,
    context: AdviceContext,
) -> tuple[str, str] | None:
    """
    Suggest the node inclusion policy that TSC105 or TSC116 suggests, if it places the next pod.

    Returns:
        A field and its new value; None if closed domains are not the cause.
    """
    if Gate.NODE_INCLUSION_POLICY not in context.gates:
        return None
    keys = tuple(tally.spread.topology_key for tally in tallies)
    found = [
        (tally.spread.index, closed)
        for tally in tallies
        if (closed := find_closed(tally.spread, keys, subject.demands, context))
    ]
    # One of the constraints may be enough; otherwise all of them together.
    for chosen in (*([one] for one in found), found):
        if chosen and _is_placed(subject, chosen, affinity, context):
            index, closed = chosen[0]
            return suggest_policies(subject, index, closed)
    return None


def _suggest_domains(
    subject: Subject,
    tallies: tuple[PodTally, ...],
    affinity: RequiredAffinity,
    context: AdviceContext,
) -> tuple[str, str] | None:
    """Suggest the minDomains that TSC104 suggests, if it places the next pod."""
    assert context.cluster is not None, "the rule runs in audits"
    for tally in tallies:
        if tally.minimum_reason is not MinimumReason.TOO_FEW_DOMAINS:
            continue
        index, key = tally.spread.index, tally.spread.topology_key
        left = len(context.cluster.lasting_domains(key, (key,), subject.demands).sizes)
        lowered = replace(subject.constraints[index], min_domains=left)
        if 0 < left < tally.spread.min_domains and _accepts_with(
            subject, {index: lowered}, affinity, context
        ):
            instead = suggest_min_domains(subject, index, left, context)
            return subject.field(index, "minDomains"), instead
    return None


def _suggest_while_closed(
    subject: Subject,
    tallies: tuple[PodTally, ...],
    affinity: RequiredAffinity,
    context: AdviceContext,
) -> tuple[str, str] | None:
    """
    Suggest what to do about nodes that are cordoned, not ready or tainted for now.

    A drain is no reason to allow a larger skew for good, or to create volumes elsewhere, which keep
    their pods there.
    """
    assert context.cluster is not None, "the rule runs in audits"
    returned = tally_returned(subject, context)
    if not accepts_pod(returned, subject.demands.lasting, context.cluster, affinity):
        return None
    for tally in tallies if Gate.NODE_INCLUSION_POLICY in context.gates else ():
        index = tally.spread.index
        if volumes_return(subject.constraints[index], subject, context.cluster):
            continue
        honoring = honor_policies(subject.constraints[index], (TAINTS_POLICY,))
        if _accepts_with(subject, {index: honoring}, affinity, context):
            return subject.field(index, TAINTS_POLICY), member(TAINTS_POLICY, "Honor")
    field = subject.field(tallies[0].spread.index)
    return field, WAIT_FOR_NODES


def _suggest_counting_apart(
    subject: Subject,
    tallies: tuple[PodTally, ...],
    affinity: RequiredAffinity,
    context: AdviceContext,
) -> tuple[str, str] | None:
    """Suggest what TSC107 suggests, if only a rollout adds a pod, which this places."""
    if not adds_revision(subject) or Gate.MATCH_LABEL_KEYS not in context.gates:
        return None
    for tally in tallies:
        index, constraint = tally.spread.index, tally.spread.constraint
        if not counts_revisions_together(constraint, subject):
            continue
        keys = (*constraint.match_label_keys, *list_revision_keys(subject))
        apart = replace(constraint, match_label_keys=keys)
        if _accepts_with(subject, {index: apart}, affinity, context):
            return subject.field(index, "matchLabelKeys"), suggest_revision(constraint, subject)
    return None


def _is_placed(
    subject: Subject,
    chosen: Iterable[tuple[int, ClosedDomains]],
    affinity: RequiredAffinity,
    context: AdviceContext,
) -> bool:
    """Whether the next pod has a node once closed domains of some constraints do not count."""
    changed = {index: open_domains(subject.constraints[index], closed) for index, closed in chosen}
    return _accepts_with(subject, changed, affinity, context)


def _accepts_with(
    subject: Subject,
    changed: Mapping[int, Constraint],
    affinity: RequiredAffinity,
    context: AdviceContext,
) -> bool:
    """Whether the next pod has a node with some constraints changed, by their index."""
    cluster = context.cluster
    constraints = (changed.get(i, one) for i, one in enumerate(subject.constraints))
    pod = build_added_pod(subject)
    assert cluster is not None, "the rule runs in audits"
    tallies = cluster.tally_known(pod, tuple(constraints), context.gates).hard
    return accepts_pod(tallies, pod.demands, cluster, affinity)

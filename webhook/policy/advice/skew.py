"""
Rules about running pods: TSC114 (they are uneven) and TSC106 (the next one has no node).

The counts come from ``placement``, so they are those that kube-scheduler sees.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from webhook.policy.advice.context import AdviceContext, ClusterState
from webhook.policy.advice.counting import next_pod
from webhook.policy.advice.findings import RuleViolation, join_names, quote_value
from webhook.policy.advice.flow import member
from webhook.policy.advice.subject import Subject
from webhook.policy.advice.suggestions import suggest_restart
from webhook.policy.api.gates import Gates
from webhook.policy.model import SCHEDULE_ANYWAY, Node
from webhook.policy.placement.nodes import find_rejection
from webhook.policy.placement.scoring import filter_node
from webhook.policy.placement.tallies import PodTally


def skew_is_kept(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """TSC114: scaling down and losing nodes leave pods uneven, and nothing moves running pods."""
    cluster = context.cluster
    if cluster is None or subject.is_alone:
        return
    for tally in _tally_revisions(subject, cluster, context.gates):
        skew = max(tally.pods.values(), default=0) - tally.minimum
        most = tally.minimum + tally.spread.max_skew
        if not tally.matches_pod or skew <= tally.spread.max_skew:
            continue
        full = sorted(value for value, pods in tally.pods.items() if pods > most)
        counts = [f"{value} has {tally.pods[value]} pods" for value in full]
        yield RuleViolation(
            subject.field(tally.spread.index, "maxSkew"),
            f"the skew over {quote_value(tally.spread.topology_key)} is {skew}, maxSkew is "
            f"{tally.spread.max_skew}: {join_names(counts)}, the minimum is {tally.minimum} "
            f"({tally.minimum_reason})",
            suggest_restart(subject),
            f"skew {skew} exceeds maxSkew {tally.spread.max_skew}: {join_names(full)} too full",
        )


def _tally_revisions(subject: Subject, cluster: ClusterState, gates: Gates) -> Iterator[PodTally]:
    # matchLabelKeys makes every revision count only its own pods, so a rollout has several sets.
    keys = {key for constraint in subject.constraints for key in constraint.match_label_keys}
    revisions = {
        tuple((key, group.pod.labels.get(key)) for key in sorted(keys)): group.pod.labels
        for group in subject.running
    }
    for labels in revisions.values():
        yield from cluster.tallies(next_pod(subject, labels), subject.constraints, gates)


def next_pod_has_a_node(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """TSC106: every hard constraint may allow some nodes, and yet no node satisfies all."""
    cluster = context.cluster
    if cluster is None or subject.is_daemon or _awaits_no_pod(subject):
        return
    pod = next_pod(subject)
    tallies = cluster.tally(pod, subject.constraints, context.gates).hard
    if not tallies or any(
        filter_node(node, tallies).passes and find_rejection(node, pod.demands) is None
        for node in cluster.topology.nodes
    ):
        return
    nodes = [node for node in cluster.topology.nodes if find_rejection(node, pod.demands) is None]
    if not nodes:
        return  # other filters reject every node
    rejections = [(node, [tally for tally in tallies if _rejects(tally, node)]) for node in nodes]
    rejected = Counter(tally.spread.topology_key for _, found in rejections for tally in found)
    counts = [f"{quote_value(key)} rejects {number}" for key, number in rejected.items()]
    field, instead = _suggest_change(subject, tallies, rejections)
    yield RuleViolation(
        field,
        f"none of the {len(nodes)} nodes that its pods can go to accepts the next pod: "
        f"{join_names(counts)}",
        instead,
        f"none of {len(nodes)} nodes accepts the next pod",
    )


def _awaits_no_pod(subject: Subject) -> bool:
    """Whether no pod of it is to be placed now, or its next pod is unknown."""
    has_node = bool(subject.pod.spec and subject.pod.spec.node_name)
    return has_node or subject.replicas == 0 or subject.is_complete


def _rejects(tally: PodTally, node: Node) -> bool:
    value = node.labels.get(tally.spread.topology_key)
    return value is None or not tally.fits(value)


def _suggest_change(
    subject: Subject,
    tallies: tuple[PodTally, ...],
    rejections: Iterable[tuple[Node, list[PodTally]]],
) -> tuple[str, str]:
    """Suggest a field and its new value: the smallest raise of one maxSkew, or ScheduleAnyway."""
    # A node that a single constraint rejects for its skew passes once that maxSkew is raised to it.
    raised = [
        (tally.skew(node.labels[tally.spread.topology_key]), tally.spread.index)
        for node, (tally, *others) in rejections
        if not others and tally.spread.topology_key in node.labels
    ]
    if raised:
        skew, index = min(raised)
        return subject.field(index, "maxSkew"), member("maxSkew", skew)
    index = tallies[0].spread.index
    return subject.field(index, "whenUnsatisfiable"), member("whenUnsatisfiable", SCHEDULE_ANYWAY)

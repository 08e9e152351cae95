"""
The rule about rollouts that cannot finish: TSC119.

It reports only what no choice of kube-scheduler changes. If a replica may be missing, a new pod
always fits where an old one was deleted, unless a volume keeps it in a zone that has more pods than
maxSkew allows, or that gets them before other zones do. What else can happen, as by the choice of
the old pods that a ReplicaSet deletes, is for ``explain --what-if rollout``.
"""

from collections.abc import Iterator

from webhook.policy.advice.capacity import must_add_pods
from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.counting import build_added_pod
from webhook.policy.advice.everyorder import list_counted
from webhook.policy.advice.fields import (
    counts_revisions_together,
    suggest_revision,
)
from webhook.policy.advice.findings import RuleViolation
from webhook.policy.advice.placing import accepts_pod
from webhook.policy.advice.replacedpod import replaces_all
from webhook.policy.advice.replacements import judge_volumes
from webhook.policy.advice.replicas import ConflictPeriod, find_conflicts, nodes_may_return
from webhook.policy.advice.subject import Subject
from webhook.policy.api.gates import Gate


def rollout_can_finish(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """TSC119: a rollout needs a place for a pod, beside the old ones or in their stead."""
    if subject.is_bound or subject.is_shared:
        return
    replicas = subject.most_replicas
    if must_add_pods(subject) and replicas:
        yield from _judge_replicas(subject, context, replicas)
    elif context.cluster is not None and replaces_all(subject):
        yield from judge_volumes(subject, context.cluster, context)


def _judge_replicas(
    subject: Subject, context: AdviceContext, replicas: int
) -> Iterator[RuleViolation]:
    """
    Judge a rollout that places one pod more, or all new ones, before it deletes any.

    TSC104, TSC105 and TSC116 report a single constraint that leaves it no place.
    """
    if _has_place_now(subject, context):
        return
    if any(find_conflicts(subject, context, replicas)):
        return  # TSC109 reports them
    pods = 2 * replicas if subject.doubles else replicas + 1
    needed = (
        f"all {replicas} new pods start beside the old ones"
        if subject.doubles
        else f"maxUnavailable is 0 of {replicas} replicas, so the first new pod needs a place "
        "beside all old ones"
    )
    conflicts = [*find_conflicts(subject, context, pods)]
    may_end = bool(conflicts) and nodes_may_return(subject, context)
    opened = find_conflicts(subject, context, pods, once_open=True) if may_end else conflicts
    lasting = {conflict.pair for conflict in opened}
    for conflict in conflicts:
        is_lasting = conflict.pair in lasting
        period = ConflictPeriod.ALWAYS if is_lasting else ConflictPeriod.WHILE_CLOSED
        pair = conflict.outer.index, conflict.inner.index
        together = [
            counts_revisions_together(subject.constraints[index], subject) for index in pair
        ]
        if not all(together):
            continue
        yield RuleViolation(
            subject.field(conflict.inner.index, "matchLabelKeys"),
            f"{period}no rollout can finish: {needed}, and there is no way to place {pods} pods so "
            f"that {conflict.describe()}",
            _suggest(subject, conflict.inner.index, context),
            f"no rollout can finish: no place for {pods} pods, old and new together",
        )


def _has_place_now(subject: Subject, context: AdviceContext) -> bool:
    """Whether the next pod has a node now, since running pods are not where they should be."""
    cluster = context.cluster
    if cluster is None or not any(group.placed for group in subject.running):
        return False
    pod = build_added_pod(subject)
    tallies = cluster.tally_known(pod, subject.constraints, context.gates).hard
    return accepts_pod(tallies, pod.demands, cluster)


def _suggest(subject: Subject, index: int, context: AdviceContext) -> str:
    """Suggest to count each revision apart."""
    if Gate.MATCH_LABEL_KEYS not in context.gates:
        if subject.doubles:
            return "# write a maxSkew that leaves room for the pods of both revisions"
        return "# let one pod be missing during a rollout: maxUnavailable: 1"
    return suggest_revision(subject.constraints[index], subject)


def list_apart(subject: Subject, context: AdviceContext) -> dict[int, str]:
    """
    List what counts each revision apart, for the hard constraints that count them together.

    Constraints that also count the pods of other workloads would no longer do so, and are left out.

    Returns:
        Index of a constraint -> YAML to write in it, or a comment if that is not possible.
    """
    return {
        spread.index: _suggest(subject, spread.index, context)
        for spread, own, others in list_counted(subject, context)
        if own and not others and counts_revisions_together(spread.constraint, subject)
    }

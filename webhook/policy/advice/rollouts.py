"""
The rule about rollouts that cannot finish: TSC119.

It reports only what no choice of kube-scheduler changes. If a replica may be missing, a new pod
always fits where an old one was deleted. What else can happen is for ``explain --what-if rollout``.
"""

from collections.abc import Iterator

from webhook.policy.advice.capacity import must_add_pods
from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.counting import counts_itself, hard_constraints, next_pod
from webhook.policy.advice.fields import (
    counts_revisions_together,
    distinguishes,
    suggest_revision,
)
from webhook.policy.advice.findings import RuleViolation, quote_value
from webhook.policy.advice.nextpod import accepts_pod
from webhook.policy.advice.replicas import find_conflicts
from webhook.policy.advice.subject import Subject
from webhook.policy.api.gates import Gate
from webhook.policy.podlabels import REVISION_HASH, ROLLOUT_HASH, revision_key


def rollout_can_finish(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """TSC119: a rollout needs a place beside the old pods, and there is none."""
    if subject.limits is None or subject.is_bound or subject.creator is not None:
        return
    if subject.is_daemon:
        yield from _judge_daemons(subject, context)
    elif must_add_pods(subject) and subject.replicas:
        yield from _judge_replicas(subject, context, subject.replicas)


def _judge_replicas(
    subject: Subject, context: AdviceContext, replicas: int
) -> Iterator[RuleViolation]:
    """
    Judge a rollout that places one pod more before it deletes any.

    TSC104, TSC105 and TSC116 report a single constraint that leaves it no place.
    """
    if _has_place_now(subject, context):
        return
    if any(find_conflicts(subject, context, replicas)):
        return  # TSC109 reports them
    for conflict in find_conflicts(subject, context, replicas + 1):
        pair = conflict.outer.index, conflict.inner.index
        together = [
            counts_revisions_together(subject.constraints[index], subject) for index in pair
        ]
        if not all(together):
            continue
        yield RuleViolation(
            subject.field(conflict.inner.index, "matchLabelKeys"),
            f"no rollout can finish: maxUnavailable is 0 of {replicas} replicas, so the first new "
            f"pod needs a place beside all old ones, and there is no way to place {replicas + 1} "
            f"pods so that {conflict.describe()}",
            _suggest(subject, conflict.inner.index, context),
            f"no rollout can finish: no place for {replicas + 1} pods, old and new together",
        )


def _has_place_now(subject: Subject, context: AdviceContext) -> bool:
    """Whether the next pod has a node now, since running pods are not where they should be."""
    cluster = context.cluster
    if cluster is None or not any(group.placed for group in subject.running):
        return False
    pod = next_pod(subject)
    tallies = cluster.tally_known(pod, subject.constraints, context.gates).hard
    return accepts_pod(tallies, pod.demands, cluster)


def _judge_daemons(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """
    Judge a DaemonSet that runs the new pod beside the old one on the same node.

    Each pod is bound to its node by its affinity, so that a constraint which honors affinity knows
    one domain. With a larger minDomains, the global minimum is 0.

    Source: kubernetes pkg/controller/daemon/update.go ``rollingUpdate``.
    """
    if subject.limits is None or subject.limits.surge in (0, "0%", "0"):
        return
    for spread in hard_constraints(subject, context):
        constraint = subject.constraints[spread.index]
        is_full = spread.honors_affinity and spread.min_domains > 1 and spread.max_skew == 1
        counts = counts_itself(constraint, subject, context.gates)
        if not (is_full and counts) or distinguishes(constraint, subject, REVISION_HASH):
            continue
        yield RuleViolation(
            subject.field(spread.index, "matchLabelKeys"),
            f"no rollout can start: with maxSurge {subject.limits.surge}, the new pod runs beside "
            f"the old one on its node, the only domain of {quote_value(spread.topology_key)} for "
            f"it; there are fewer than minDomains {spread.min_domains}, so that maxSkew 1 allows "
            "one pod there",
            _suggest(subject, spread.index, context),
            "no rollout can start: the new pod has no place beside the old one",
        )


def _suggest(subject: Subject, index: int, context: AdviceContext) -> str:
    """Suggest to count each revision apart."""
    if Gate.MATCH_LABEL_KEYS not in context.gates:
        return "# let one pod be missing during a rollout: maxUnavailable: 1"
    return suggest_revision(subject.constraints[index], subject)


def list_apart(subject: Subject, context: AdviceContext) -> dict[int, str]:
    """
    List what counts each revision apart, for the hard constraints that count them together.

    Returns:
        Index of a constraint -> YAML to write in it, or a comment if that is not possible.
    """
    key = REVISION_HASH if subject.is_daemon else revision_key(subject.pods_kind)
    return {
        spread.index: _suggest(subject, spread.index, context)
        for spread in hard_constraints(subject, context)
        if counts_itself(constraint := subject.constraints[spread.index], subject, context.gates)
        and not distinguishes(constraint, subject, key, ROLLOUT_HASH)
    }

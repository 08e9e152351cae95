"""
The pod that a rollout replaces first, while all pods run: part of TSC106.

The next pod is created in the stead of one that is deleted; which one that is decides the counts.
``remove_first`` is for StatefulSets, ``can_replace_any`` for rollouts that may choose any pod.

Source: pkg/controller/statefulset stateful_set_control.go
``updateStatefulSetAfterInvariantEstablished``.
"""

import dataclasses
from dataclasses import dataclass
from itertools import islice

from msgspec.structs import replace

from webhook.policy.advice.capacity import may_lack_pods
from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.counting import adds_revision, build_added_pod
from webhook.policy.advice.fields import compares_revisions
from webhook.policy.advice.placing import accepts_pod
from webhook.policy.advice.runningpods import RunningPods
from webhook.policy.advice.subject import Subject
from webhook.policy.kinds import STATEFUL_SET
from webhook.policy.model import DO_NOT_SCHEDULE
from webhook.policy.nextrevision import find_ordinals

MOST_REMOVALS = 32  # from which a pod is removed: all pods of the namespace are counted for each


@dataclass(frozen=True)
class FirstReplaced:
    """
    A StatefulSet whose rollout has deleted its first pod.

    Attributes:
        name: Of the pod.
        subject: The StatefulSet without it.
        context: What is known of the cluster, without it.
    """

    name: str
    subject: Subject
    context: AdviceContext


def replaces_all(subject: Subject) -> bool:
    """Whether a rollout of a StatefulSet replaces each of its pods, which all run."""
    is_held = subject.on_delete or subject.partitioned is not None
    is_rolling = any(group.replaced or group.unordered for group in subject.running)
    is_running = subject.has_all_pods and not subject.is_alone
    return subject.kind == STATEFUL_SET and is_running and not (is_held or is_rolling)


def remove_first(subject: Subject, context: AdviceContext) -> FirstReplaced | None:
    """
    Remove the pod that a rollout replaces first.

    Returns:
        None if it is not known, if several pods may be missing at a time, or if a constraint counts
        each revision apart, so that the old pods do not matter.
    """
    limits, cluster = subject.limits, context.cluster
    if cluster is None or limits is None or not replaces_all(subject):
        return None
    if limits.resolve(subject.replicas or 0).unavailable > 1 or _counts_apart(subject):
        return None
    last = _find_last(subject)
    if last is None:
        return None
    census = cluster.census.leave_out(subject.namespace, [(last.pod.labels, last.nodes)])
    running = tuple(group for group in subject.running if group is not last)
    return FirstReplaced(
        last.pod.metadata.name if last.pod.metadata else "",
        replace(subject, running=running),
        dataclasses.replace(context, cluster=cluster.with_pods(census, cluster.members)),
    )


def can_replace_any(subject: Subject, context: AdviceContext) -> bool:
    """
    Whether a pod of a new revision has a node, whichever of the old pods is deleted first.

    Only the first ``MOST_REMOVALS`` nodes are judged.

    Returns:
        False if no pod may be missing, or if the next pod is not one of a new revision.
    """
    cluster = context.cluster
    if cluster is None or not (adds_revision(subject) and may_lack_pods(subject)):
        return False
    pod = build_added_pod(subject)
    removals = ((one.pod.labels, {node: 1}) for one in subject.running for node in one.nodes)
    for removal in islice(removals, MOST_REMOVALS):
        census = cluster.census.leave_out(subject.namespace, [removal])
        without = cluster.with_pods(census, cluster.members)
        tallies = without.tally_known(pod, subject.constraints, context.gates).hard
        if not accepts_pod(tallies, pod.demands, without):
            return False
    return True


def _counts_apart(subject: Subject) -> bool:
    """Whether one of its hard constraints counts the pods of each revision apart."""
    return any(
        one.when_unsatisfiable == DO_NOT_SCHEDULE and compares_revisions(one, subject)
        for one in subject.constraints
    )


def _find_last(subject: Subject) -> RunningPods | None:
    """Find the pod with the last ordinal; None unless those of all pods are known."""
    found: dict[int, RunningPods] = {}
    for group in subject.running:
        metadata = group.pod.metadata
        name = metadata.name if metadata and group.number == 1 else ""
        found.update(dict.fromkeys(find_ordinals([name]), group))
    return found[max(found)] if len(found) == subject.replicas else None

"""
How many pods of a subject count each other, where a constraint compares labels of its controller.

``count_together`` is the entry point. Such a label may differ for every pod, as the index of a
StatefulSet's pod, or for every group: the Jobs of a JobSet, the groups of a LeaderWorkerSet.

Source: jobset pkg/controllers/jobset_controller.go ``labelAndAnnotateObject``; lws
pkg/webhooks/pod_webhook.go ``Default``.
"""

from webhook.policy.advice.subject import Subject
from webhook.policy.model import Constraint
from webhook.policy.podlabels import (
    COMPLETION_INDEX,
    differing_keys,
    grouped_keys,
    member_keys,
    unique_keys,
)
from webhook.policy.selectors import compared_keys


def is_unique(key: str, subject: Subject) -> bool:
    """Whether each pod of a subject has its own value of a label, which its controller adds."""
    if key not in unique_keys(subject.pods_kind) or key in subject.labels:
        return False
    # Only Jobs with completionMode Indexed number their pods; running ones show it as well.
    return (
        key != COMPLETION_INDEX
        or key in subject.given_labels
        or any(key in group.pod.labels for group in subject.running)
    )


def counts_only_itself(constraint: Constraint, subject: Subject) -> bool:
    """Whether each pod of a subject counts no other one, by a key in matchLabelKeys."""
    return any(is_unique(key, subject) for key in constraint.match_label_keys)


def count_together(constraint: Constraint, subject: Subject) -> int | None:
    """
    Count the pods of a subject that count each other, of all that it has at a time.

    Returns:
        A number that pods with the same values certainly reach; None if it is unknown.
    """
    if counts_only_itself(constraint, subject):
        return 1
    most, groups = subject.most_replicas, subject.groups
    compared = _list_compared(constraint, subject)
    if most is None or groups is None or not compared:
        return most  # most workloads
    if compared <= grouped_keys(subject.pods_kind):
        return min(most, (subject.replicas or 0) // max(groups, 1))
    return min(most, groups) if compared <= member_keys(subject.pods_kind) else 1


def counts_apart(constraint: Constraint, subject: Subject) -> bool:
    """Whether a pod of a subject may count some of the others only, whatever their revision."""
    return count_together(constraint, subject) != subject.most_replicas


def belongs_to_group(constraint: Constraint, subject: Subject) -> bool:
    """Whether a constraint counts the Job, or the group, that a pod of a subject belongs to."""
    return subject.groups is not None and counts_apart(constraint, subject)


def _list_compared(constraint: Constraint, subject: Subject) -> frozenset[str]:
    """List the compared labels that the controller adds, and that differ among the pods."""
    compared = compared_keys(constraint.label_selector).union(constraint.match_label_keys)
    return (compared & differing_keys(subject.pods_kind)) - subject.labels.keys()

"""
Which pods of a subject have no place where a constraint limits the pods of each domain.

A limit is worth a finding only if some pod stays Pending for it. ``name_waiting`` is the entry
point, and ``name_limit`` names the limit; how many places there are is for the rules to count.
"""

from webhook.policy.advice.countedgroups import count_together, counts_apart, counts_only_itself
from webhook.policy.advice.fields import counts_revisions_together
from webhook.policy.advice.findings import count_of
from webhook.policy.advice.subject import Subject
from webhook.policy.kinds import JOB_SET, POD
from webhook.policy.model import Constraint


def name_waiting(subject: Subject, constraint: Constraint, places: int) -> str:
    """
    Name the pods that stay Pending, as the beginning of a clause.

    Args:
        places: Number of pods that the constraint allows in all domains together.

    Returns:
        Empty if all pods have a place, those included without which a rollout cannot go on.
    """
    if counts_only_itself(constraint, subject):
        return ""  # every pod counts only itself
    replicas = 1 if is_single_pod(subject) else count_together(constraint, subject)
    if replicas is None:
        return "any more"
    if replicas > places:
        return "the others"
    if (count_in_rollout(constraint, subject) or 0) <= places:
        return ""
    return f"and {'the ' if replicas == places else ''}additional pods of a rollout"


def count_in_rollout(constraint: Constraint, subject: Subject) -> int | None:
    """
    Count the pods that a constraint counts together at least in a rollout; None if unknown.

    These are the replicas, and the new pods beside them without which no old one is deleted.
    """
    replicas = 1 if is_single_pod(subject) else count_together(constraint, subject)
    if not replicas or not subject.surges or may_lack_pods(subject):
        return replicas
    if not counts_revisions_together(constraint, subject):
        return replicas
    return 2 * replicas if subject.doubles else replicas + 1


def is_single_pod(subject: Subject) -> bool:
    """Whether a subject is a Pod that no controller created; other pods may be spread with it."""
    return subject.kind == POD and not subject.controlled


def name_limit(subject: Subject, constraint: Constraint, pods: int) -> str:
    """Name the most pods of a domain, as ``1 pod``; those of a Job or a group if these differ."""
    named = count_of(pods, "pod")
    if subject.groups is None or not counts_apart(constraint, subject):
        return named  # most workloads
    return f"{named} of each {'Job' if subject.kind == JOB_SET else 'group'}"


def must_add_pods(subject: Subject) -> bool:
    """Whether a rollout places a pod beside all old ones, since no replica may be missing."""
    scaling = subject.scaling
    if not subject.most_replicas or (scaling and scaling.least < scaling.most):
        return False
    return subject.limits is not None and not may_lack_pods(subject)


def may_lack_pods(subject: Subject) -> bool:
    """
    Whether a rollout may delete an old pod before a new one has a place.

    Then additional pods that have none wait for one, and the rollout goes on.
    """
    replicas, limits = subject.most_replicas, subject.limits
    return bool(limits and replicas and limits.resolve(replicas).unavailable)


def is_never_spread(subject: Subject) -> bool:
    """Whether there are never two pods to spread, not even during a rollout."""
    return subject.is_alone and not must_add_pods(subject)

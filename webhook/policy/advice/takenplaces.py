"""
Places of a constraint that other pods may take before those of a subject: ``count_taken``.

These are the pods of other workloads, and those of the other pod templates of the same object, as
of a JobSet.
"""

from webhook.policy.advice.context import ClusterState
from webhook.policy.advice.subject import WITHOUT_SURGE, Subject
from webhook.policy.placement.spreads import SpreadConstraint

_STEADY_KINDS = frozenset(kind.kind for kind in WITHOUT_SURGE)


def count_taken(subject: Subject, spread: SpreadConstraint, cluster: ClusterState) -> int:
    """Count the most pods that a constraint of a subject counts and that are none of its own."""
    counting = spread.counting(subject.demands)
    selector = spread.constraint.label_selector
    counted = cluster.count_members(subject.namespace, selector, counting)
    own = str(subject)
    others = sum(
        pods + _count_surge((subject.namespace, name), pods, cluster)
        for name, pods in counted.items()
        if name != own
    )
    return others + _count_siblings(subject, counted.get(own, 0))


def _count_surge(workload: tuple[str, str], pods: int, cluster: ClusterState) -> int:
    """Count the most pods that a rollout of another workload adds: as many as run if unknown."""
    kind, _, _ = workload[1].partition("/")
    return 0 if kind in _STEADY_KINDS else cluster.surges.get(workload, pods)


def _count_siblings(subject: Subject, pods: int) -> int:
    """Count the pods of the other templates of an object, of all its pods that are counted."""
    if not subject.part:
        return 0  # most workloads
    own = sum(group.placed for group in subject.running) or subject.replicas or 0
    return max(0, pods - own)

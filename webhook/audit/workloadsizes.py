"""
The number of pods that workloads are to have, and how many more in a rollout.

Manifests describe pods that do not exist yet: of these, no pods can be counted.
"""

from collections.abc import Iterable, Iterator

from webhook.audit.snapshot import SnapshotWorkload
from webhook.policy.advice.subject import Subject


def list_surges(workloads: Iterable[SnapshotWorkload]) -> Iterator[tuple[tuple[str, str], int]]:
    """List the most pods that workloads have beyond their replicas, if that is known."""
    for workload in workloads:
        subject = workload.subject
        key = subject.namespace, str(subject)
        if not subject.surges:
            yield key, 0
        elif subject.limits is not None:
            yield key, subject.limits.resolve(count_replicas(subject)).surge


def count_replicas(subject: Subject) -> int:
    """Count the pods that a controller, or the object itself, is to create."""
    if subject.suspended:
        return 0
    return 1 if subject.replicas is None else subject.replicas

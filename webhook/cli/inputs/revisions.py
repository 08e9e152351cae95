"""
The revision of the next pod of a subject of explain, by the ordinals of its pods.

Entry point: ``find_revision``.
"""

from collections.abc import Iterable

from webhook.cli.inputs.subjects import ExplainSubject
from webhook.policy.kinds import STATEFUL_SET
from webhook.policy.nextrevision import read_partition, read_revision
from webhook.policy.paths import find_value
from webhook.policy.placement.census import ObservedPod


def find_revision(subject: ExplainSubject, replicas: Iterable[ObservedPod]) -> dict[str, str]:
    """
    Find the label that shows the revision of the next pod; empty if the status does not show it.

    Args:
        replicas: Its pods; the next pod of a StatefulSet has the first ordinal without one.
    """
    is_below = subject.kind == STATEFUL_SET and _is_below_partition(subject, replicas)
    return read_revision(subject.kind, subject.value, is_below=is_below)


def _is_below_partition(subject: ExplainSubject, replicas: Iterable[ObservedPod]) -> bool:
    """Whether the first ordinal without a pod is below the partition."""
    names = {pod.metadata.name for pod in replicas}
    written = find_value(subject.value, ("spec", "ordinals", "start"))
    start = ordinal = written if isinstance(written, int) else 0
    while f"{subject.name}-{ordinal}" in names:
        ordinal += 1
    return ordinal < start + read_partition(subject.value)

"""
The ordinal and the revision of the next pod of a subject of explain.

Entry points: ``find_next_ordinal`` and ``find_revision``.
"""

from collections.abc import Iterable

from webhook.cli.inputs.subjects import ExplainSubject
from webhook.policy.kinds import STATEFUL_SET
from webhook.policy.nextrevision import (
    find_free_ordinal,
    find_ordinals,
    read_partitioned,
    read_revision,
)
from webhook.policy.placement.census import ObservedPod


def find_next_ordinal(subject: ExplainSubject, replicas: Iterable[ObservedPod]) -> int:
    """
    Find the ordinal of the next pod of a StatefulSet: the first one without a pod; 0 for others.

    Args:
        replicas: Its pods.
    """
    if subject.kind != STATEFUL_SET:
        return 0
    names = (pod.metadata.name or "" for pod in replicas)
    return find_free_ordinal(read_partitioned(subject.value).start, find_ordinals(names))


def find_revision(subject: ExplainSubject, ordinal: int) -> dict[str, str]:
    """Find the label that shows the revision of a new pod; empty if the status does not show it."""
    if subject.kind != STATEFUL_SET:
        return read_revision(subject.kind, subject.value)
    return read_partitioned(subject.value).label(ordinal)

"""
The revision of the next pod of a subject of explain, by the ordinals of its pods.

Entry point: ``find_revision``.
"""

from collections.abc import Iterable

from webhook.cli.inputs.subjects import ExplainSubject
from webhook.policy.kinds import STATEFUL_SET
from webhook.policy.nextrevision import find_ordinals, read_partitioned, read_revision
from webhook.policy.placement.census import ObservedPod


def find_revision(subject: ExplainSubject, replicas: Iterable[ObservedPod]) -> dict[str, str]:
    """
    Find the label that shows the revision of the next pod; empty if the status does not show it.

    Args:
        replicas: Its pods; the next pod of a StatefulSet has the first ordinal without one.
    """
    if subject.kind != STATEFUL_SET:
        return read_revision(subject.kind, subject.value)
    names = (pod.metadata.name or "" for pod in replicas)
    return read_partitioned(subject.value).choose(find_ordinals(names))

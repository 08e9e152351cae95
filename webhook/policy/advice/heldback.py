"""
Pods that the partition of a StatefulSet holds back at an older revision.

Their controller creates them by that revision, whose constraints may differ from those of the
template. The revision itself is not among the facts; its running pods show its constraints.
"""

from collections.abc import Mapping

from webhook.policy.advice.subject import Subject
from webhook.policy.model import Constraint


def find_constraints(subject: Subject, labels: Mapping[str, str]) -> tuple[Constraint, ...] | None:
    """
    Find the constraints of a subject's pod that is held back, in running pods of its revision.

    Args:
        labels: The labels of the pod.

    Returns:
        None for a pod that has the constraints of the template, or if they are not known.
    """
    held = subject.partitioned
    if held is None or not held.current or held.current == held.updated:
        return None  # most workloads
    revision = held.current.items()
    if not revision <= labels.items():
        return None
    pods = (group.pod for group in subject.running if revision <= group.pod.labels.items())
    return next((pod.constraints for pod in pods), None)

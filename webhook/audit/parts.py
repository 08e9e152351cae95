"""
The pods of objects that have several pod templates, such as JobSets: each template gets its own.

``share_pods`` is the entry point. It decides by the label that the controller writes, if it is
known, and otherwise by the labels of the templates.
"""

from collections.abc import Iterable, Mapping, Sequence

from webhook.policy.advice.runningpods import RunningPods
from webhook.policy.advice.subject import Subject
from webhook.policy.kinds import JOB_SET, LEADER_WORKER_SET
from webhook.policy.podlabels import LEADER_INDEX, REPLICATED_JOB, WORKER_INDEX


def share_pods(
    subjects: Sequence[Subject], groups: Iterable[RunningPods]
) -> list[tuple[RunningPods, ...]]:
    """
    Share the pods of one object among its pod templates.

    Args:
        subjects: The templates; at least one.
        groups: The pods of the object.

    Returns:
        The groups of each template, in the order of the templates; every group is in one of them.
    """
    if len(subjects) == 1:
        return [tuple(groups)]
    shares: list[list[RunningPods]] = [[] for _ in subjects]
    for group in groups:
        fits = [_score_match(subject, group.pod.labels) for subject in subjects]
        shares[fits.index(max(fits))].append(group)
    return [tuple(share) for share in shares]


def _score_match(subject: Subject, labels: Mapping[str, str]) -> int:
    """Score how well a template explains the labels of a pod; 0 or less: it does not."""
    if subject.kind == JOB_SET and REPLICATED_JOB in labels:
        return int(labels[REPLICATED_JOB] == subject.part)
    if subject.kind == LEADER_WORKER_SET and WORKER_INDEX in labels:
        leads = labels[WORKER_INDEX] == LEADER_INDEX
        return int(leads == (subject.path[-1] == "leaderTemplate"))
    return len(subject.labels) if subject.labels.items() <= labels.items() else -1

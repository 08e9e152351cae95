"""
The pods of an Indexed Job, whose constraints may count each of its indexes apart.

Entry point: ``gather_indexed_pods``. Which indexes need no new pod is the subject of ``jobs``.

Source: kubernetes pkg/controller/job job_controller.go ``manageJob``, which creates all missing
pods at once.
"""

from collections.abc import Callable, Iterable
from functools import cache

import msgspec

from webhook.cli.inputs.subjects import ExplainSubject
from webhook.explain.newpods import NewPod, PodSuccession
from webhook.explain.removal import RemovalOrder, WorkloadPods
from webhook.policy.paths import find_value
from webhook.policy.placement.census import ObservedPod
from webhook.policy.podlabels import COMPLETION_INDEX


def gather_indexed_pods(
    subject: ExplainSubject,
    pods: Iterable[ObservedPod],
    settled: frozenset[int],
    foresee: Callable[[int], NewPod],
) -> WorkloadPods | None:
    """
    Gather the pods of an Indexed Job, the new ones by their indexes.

    Args:
        pods: Its pods, also those that have ended.
        settled: The indexes that need no new pod.
        foresee: Foresees the new pod with an index.

    Returns:
        None if no index decides where a pod goes, so that all new pods are alike.
    """
    build = cache(foresee)
    if not names_label(subject, build(0), {COMPLETION_INDEX}):
        return None
    active = tuple(pod for pod in pods if pod.is_active)
    return WorkloadPods(
        name=subject.name,
        pods=active,
        related=active,
        order=RemovalOrder.INDEX,
        succession=PodSuccession(build, is_parallel=True, taken=settled),
    )


def names_label(subject: ExplainSubject, pod: NewPod, keys: Iterable[str]) -> bool:
    """Whether the constraints of a pod, or its template, name one of these labels."""
    template = find_value(subject.value, subject.path)
    written = _encode(pod.spreads) + _encode(template)
    return any(key.encode() in written for key in keys)


_encode = msgspec.json.Encoder().encode

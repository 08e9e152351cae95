"""
Replicas of a workload that an autoscaler scales: ``read_replicas``.

An autoscaler changes a number of replicas that is not in its range. Autoscalers are those that
audits read, too.
"""

from collections.abc import Iterator
from typing import NamedTuple

from webhook.cli.inputs.cluster import ClusterReader
from webhook.cli.inputs.subjects import ExplainSubject
from webhook.cluster.autoscalers import ScalerObject, to_autoscaler
from webhook.policy.advice.podcount import JOBS
from webhook.policy.advice.scaling import Autoscaler, ReplicaRange, find_range
from webhook.policy.kinds import (
    DAEMON_SET,
    HORIZONTAL_POD_AUTOSCALER,
    LEADER_WORKER_SET,
    SCALED_OBJECT,
)

NO_AUTOSCALERS = "HorizontalPodAutoscalers, which may not be listed"

_UNSCALED = JOBS | {LEADER_WORKER_SET}
"""Kinds that no autoscaler scales by pods; the replicas of a LeaderWorkerSet are groups."""


class ScaledReplicas(NamedTuple):
    """
    The replicas of a workload.

    Attributes:
        number: In the range of the autoscaler.
        note: What the autoscaler does to the number; empty if nothing.
        unread: What is not known.
    """

    number: int
    note: str = ""
    unread: tuple[str, ...] = ()


def read_replicas(
    subject: ExplainSubject, replicas: int, cluster: ClusterReader, scale: int | None
) -> ScaledReplicas:
    """
    Read the replicas that the autoscaler of a workload leaves it.

    Args:
        replicas: The number that the workload has.
        scale: The number to set in a what-if, which stays; None to keep that of the workload.
    """
    if subject.kind in _UNSCALED or subject.kind.kind == DAEMON_SET.kind:
        return ScaledReplicas(replicas)
    found = cluster.decode_objects(HORIZONTAL_POD_AUTOSCALER, ScalerObject, subject.namespace)
    if found is None:
        return ScaledReplicas(replicas, unread=(NO_AUTOSCALERS,))
    known = [to_autoscaler(HORIZONTAL_POD_AUTOSCALER, one) for one in found]
    if not cluster.is_complete:  # in a live cluster, KEDA has created its autoscaler
        scaled = cluster.decode_objects(SCALED_OBJECT, ScalerObject, subject.namespace) or ()
        known += [to_autoscaler(SCALED_OBJECT, one) for one in scaled]
    wanted = replicas if scale is None else scale
    scaling = find_range(_select(known, subject), wanted)
    if scaling is None or scaling.least <= wanted <= scaling.most:
        return ScaledReplicas(replicas)
    return _fit(replicas, scaling, scale)


def _select(known: list[Autoscaler | None], subject: ExplainSubject) -> Iterator[Autoscaler]:
    """Select the autoscalers of a workload."""
    wanted = (subject.kind, subject.name)
    for one in known:
        if one is not None and (one.target, one.target_name) == wanted:
            yield one


def _fit(replicas: int, scaling: ReplicaRange, scale: int | None) -> ScaledReplicas:
    bounds = f"{scaling.source} keeps {scaling.least} to {scaling.most} replicas"
    if scale is not None:
        return ScaledReplicas(replicas, f"{bounds}: it changes {scale} soon")
    number = min(max(replicas, scaling.least), scaling.most)
    return ScaledReplicas(number, f"{bounds}: {number} in place of {replicas} are taken")

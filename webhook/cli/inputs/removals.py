"""
Pods of a workload, with what decides which of them its controller removes first.

Entry point: ``gather_pods``. The order itself is the subject of ``explain.removal``.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

import msgspec
from msgspec.structs import replace

from webhook.cli.inputs import subjects
from webhook.cli.inputs.cluster import ClusterReader
from webhook.cli.inputs.manifestcluster import Json
from webhook.cli.inputs.revisions import find_stored, is_paused
from webhook.explain.removal import RemovalOrder, WorkloadPods, find_owner
from webhook.explain.runningupdate import RunningUpdate
from webhook.policy.advice.podcount import JOBS
from webhook.policy.kinds import (
    DAEMON_SET,
    DEPLOYMENT,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    ROLLOUT,
    STATEFUL_SET,
)
from webhook.policy.model import GroupKind, LabelSelector
from webhook.policy.nextrevision import read_start
from webhook.policy.paths import find_value
from webhook.policy.placement.census import ObservedPod
from webhook.policy.rolloutlimits import read_limits
from webhook.policy.selectors import matches

_ORDERS: Mapping[GroupKind, RemovalOrder] = MappingProxyType(
    {
        DEPLOYMENT: RemovalOrder.REPLICA_SET,
        REPLICA_SET: RemovalOrder.REPLICA_SET,
        REPLICATION_CONTROLLER: RemovalOrder.REPLICA_SET,
        ROLLOUT: RemovalOrder.REPLICA_SET,
        STATEFUL_SET: RemovalOrder.ORDINAL,
    }
)
_OWNERS_OF_SETS = (DEPLOYMENT, ROLLOUT)
_CLAIMING = (REPLICA_SET, REPLICATION_CONTROLLER)
"""Kinds whose pods are controlled by their ReplicaSets, and kinds that control pods themselves."""


class _Controller(msgspec.Struct, frozen=True):
    """A controller of pods; without a selector it has the pods that it controls already."""

    kind: str
    name: str
    selector: LabelSelector | None

    def controls(self, pod: ObservedPod) -> bool:
        owner = pod.controller
        return owner is not None and (owner.kind, owner.name) == (self.kind, self.name)

    def selects(self, pod: ObservedPod) -> bool:
        if self.selector is None:
            return self.controls(pod)
        return matches(self.selector, pod.metadata.labels or {})


def gather_pods(
    subject: subjects.ExplainSubject,
    replicas: Iterable[ObservedPod],
    observed: Iterable[ObservedPod],
    cluster: ClusterReader,
    now: float,
) -> WorkloadPods | None:
    """
    Gather the pods of a workload.

    Args:
        replicas: Its pods, from ``select_replicas``.
        observed: All pods of its namespace.
        now: The present time, in seconds since 1970.

    Returns:
        None for kinds that are never scaled down.
    """
    if subject.kind in JOBS or subject.kind.kind == DAEMON_SET.kind:
        return None
    sets = _list_sets(subject, cluster)
    own = tuple(pod for pod in replicas if pod.is_active)
    known = bool(sets) or subject.kind in _CLAIMING
    newest = _find_newest(subject, own, sets)
    return WorkloadPods(
        name=subject.name,
        pods=own,
        related=_find_related(subject, sets, observed) if known else own,
        order=_ORDERS.get(subject.kind, RemovalOrder.UNKNOWN),
        newest=newest,
        start=read_start(subject.value),
        now=now,
        update=_read_update(subject, cluster) if newest else None,
    )


def _find_related(
    subject: subjects.ExplainSubject, sets: Sequence[Json], observed: Iterable[ObservedPod]
) -> tuple[ObservedPod, ...]:
    """
    Find the pods that the ReplicaSets with the same controller select; they may be of others.

    Source: pkg/controller/replicaset/replica_set.go ``getIndirectlyRelatedPods``.
    """
    controllers = [_read_set(subject, value) for value in sets]
    return tuple(pod for pod in observed if any(one.selects(pod) for one in controllers))


def _read_set(subject: subjects.ExplainSubject, value: Json) -> _Controller:
    selector = subjects.selector_of(replace(subject, kind=REPLICA_SET, value=value))
    return _Controller(REPLICA_SET.kind, subjects.name_of(value), selector)


def _list_sets(subject: subjects.ExplainSubject, cluster: ClusterReader) -> list[Json]:
    """List the ReplicaSets of a Deployment, or those with the same controller as a ReplicaSet."""
    if subject.kind in _OWNERS_OF_SETS:
        return subjects.list_controlled(REPLICA_SET, subject, cluster)
    owner = subjects.controller_of(subject.value) if subject.kind == REPLICA_SET else None
    if owner is None:
        return []
    found = cluster.list_objects_of(REPLICA_SET, subject.namespace)
    return [value for value in found if subjects.controller_of(value) == owner]


def _find_newest(
    subject: subjects.ExplainSubject, own: Iterable[ObservedPod], sets: Iterable[Json]
) -> str:
    """Find the newest ReplicaSet if pods of several run; empty if its revision is not known."""
    if subject.kind not in _OWNERS_OF_SETS or len(set(map(find_owner, own))) <= 1:
        return ""
    newest = max(sets, key=subjects.revision_of, default=None)
    known = newest is not None and subjects.revision_of(newest) > 0
    return subjects.name_of(newest) if newest is not None and known else ""


def _read_update(subject: subjects.ExplainSubject, cluster: ClusterReader) -> RunningUpdate | None:
    """Read the rolling update of a Deployment with pods of several ReplicaSets; None if paused."""
    strategy = find_value(subject.value, ("spec", "strategy"))
    recreates = find_value(strategy, ("type",)) == "Recreate"
    if subject.kind != DEPLOYMENT or is_paused(subject) or recreates:
        return None
    stored = find_stored(subject, cluster)
    present = find_value(stored or subject.value, ("spec", "replicas"), 1)
    limits = read_limits(find_value(strategy, ("rollingUpdate",)))
    return RunningUpdate(present if isinstance(present, int) else 1, limits)

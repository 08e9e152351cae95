"""
Workloads that must be planned together: ``find_components``.

Workloads belong together if a constraint of one counts pods of the other. In small clusters, those
that compete for the room of a node belong together as well; in large ones each set of workloads is
planned on the cluster that the sets before it leave.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import product
from typing import NamedTuple

from webhook.policy.placement.filters.cluster import SchedulingCluster
from webhook.policy.placement.filters.resources import NO_RESOURCES, Resources
from webhook.rebalance.goals import SpreadGoal
from webhook.rebalance.kinds import is_entangled
from webhook.rebalance.pods import WorkloadPod

MOST_PODS, MOST_NODES = 24, 16
"""The largest cluster whose workloads are all planned together if they compete for room."""


class WorkloadName(NamedTuple):
    """A workload; ``name`` is KIND/NAME."""

    namespace: str
    name: str


class PlanComponent(NamedTuple):
    """Workloads that are planned together, with their pods and constraints."""

    pods: tuple[WorkloadPod, ...]
    goals: tuple[SpreadGoal, ...]


def find_components(
    pods: Sequence[WorkloadPod],
    families: Iterable[WorkloadPod],
    goals: Sequence[SpreadGoal],
    cluster: SchedulingCluster,
    waiting: Iterable[WorkloadName] = (),
) -> list[PlanComponent]:
    """
    Divide workloads into components, in the order of their goals; those without goals are left out.

    Args:
        pods: Those that may move.
        families: One pod for each set of pods that no selector tells apart.
        cluster: With all pods.
        waiting: Workloads that are not planned; those that compete with them for room are.
    """
    roots = _DisjointSets()
    spread = defaultdict[str, list[WorkloadPod]](list)
    for one in families:
        if one.is_spread:
            spread[one.replacement.namespace].append(one)
    for listed in spread.values():
        for one, other in product(listed, listed):
            if _counts(one, other):
                roots.join(name_workload(one), name_workload(other))
    apart = {roots.find(name) for name in waiting}
    planned = [one for one in pods if roots.find(name_workload(one)) not in apart]
    if _is_small(planned, cluster) and is_contended(planned, len(planned), cluster):
        for one in planned[1:]:
            roots.join(name_workload(planned[0]), name_workload(one))
    return _gather(pods, goals, roots)


class _DisjointSets:
    """Disjoint sets of workloads, each represented by one of them, its root."""

    def __init__(self) -> None:
        self._parents: dict[WorkloadName, WorkloadName] = {}

    def find(self, name: WorkloadName) -> WorkloadName:
        while (parent := self._parents.get(name, name)) != name:
            name = parent
        return name

    def join(self, one: WorkloadName, other: WorkloadName) -> None:
        self._parents[self.find(other)] = self.find(one)


def _gather(
    pods: Iterable[WorkloadPod], goals: Iterable[SpreadGoal], roots: _DisjointSets
) -> list[PlanComponent]:
    members: dict[WorkloadName, tuple[list[WorkloadPod], list[SpreadGoal]]] = {}
    for goal in goals:
        name = WorkloadName(goal.pod.namespace, goal.workloads[0])
        members.setdefault(roots.find(name), ([], []))[1].append(goal)
    for one in pods:
        root = roots.find(name_workload(one))
        if root in members:
            members[root][0].append(one)
    return [PlanComponent(tuple(found), tuple(wanted)) for found, wanted in members.values()]


def name_workload(one: WorkloadPod) -> WorkloadName:
    """Name the workload of a pod."""
    return WorkloadName(one.replacement.namespace, one.workload)


def _counts(one: WorkloadPod, other: WorkloadPod) -> bool:
    labels, spreads = other.replacement.labels, one.spreads
    return any(spread.counts(labels) for spread in (*spreads.hard, *spreads.soft))


def _is_small(pods: Sequence[WorkloadPod], cluster: SchedulingCluster) -> bool:
    """Whether all workloads can be planned together."""
    return len(pods) <= MOST_PODS and len(cluster.topology.nodes) <= MOST_NODES


def is_contended(pods: Sequence[WorkloadPod], number: int, cluster: SchedulingCluster) -> bool:
    """
    Whether it may matter for a pod where other workloads' pods go.

    Args:
        number: Number of pods that move at most.
    """
    replacements = [one.replacement for one in pods]
    if any(is_entangled(pod, cluster.storage) for pod in replacements):
        return True
    most = NO_RESOURCES
    for pod in replacements:
        most = _largest(most, pod.requests)
    for node in cluster.topology.nodes:
        room = cluster.allocatable.get(node.name)
        usage = cluster.placed.usage(node.name)
        if room is not None and (
            usage.pods + number > room.pods or not _holds(room, usage.requests.plus(most, number))
        ):
            return True
    return False


def _largest(one: Resources, other: Resources) -> Resources:
    names = sorted({*one.scalars, *other.scalars})
    return Resources(
        max(one.milli_cpu, other.milli_cpu),
        max(one.memory, other.memory),
        max(one.ephemeral_storage, other.ephemeral_storage),
        scalars={name: max(one.scalars.get(name, 0), other.scalars.get(name, 0)) for name in names},
    )


def _holds(room: Resources, requests: Resources) -> bool:
    return (
        requests.milli_cpu <= room.milli_cpu
        and requests.memory <= room.memory
        and requests.ephemeral_storage <= room.ephemeral_storage
        and all(amount <= room.scalars.get(name, 0) for name, amount in requests.scalars.items())
    )

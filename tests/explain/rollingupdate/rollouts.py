"""Rolling updates of web pods on small clusters in short-hand."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace as replace_fields
from itertools import count
from typing import Any

from msgspec.structs import replace

from tests.explain.observed import NOW, make_pod
from tests.explain.scenarios import cluster_of
from tests.policy.placement.clusters import SELECTS_WEB, WEB, gates, spread_over
from webhook.explain.newpods import NewPod
from webhook.explain.removal import RemovalOrder, WorkloadPods
from webhook.explain.rollingupdate.setup import (
    ReplicaSetNames,
    Revisions,
    prepare_ordinals,
    prepare_sets,
)
from webhook.explain.rollingupdate.simulation import RolloutSetup
from webhook.explain.rollingupdate.sizes import RollingUpdate, RolloutStrategy
from webhook.explain.rollingupdate.statefulsets import StatefulSetPlan
from webhook.explain.scenario import Scenario
from webhook.policy.model import Constraint, Node
from webhook.policy.placement.census import Census, ObservedPod
from webhook.policy.placement.filters.filterpods import AffinityTerm, FilterPod, HostPort
from webhook.policy.placement.filters.resources import Resources
from webhook.policy.placement.spreads import resolve_constraints
from webhook.policy.podlabels import TEMPLATE_HASH
from webhook.policy.rolloutlimits import PodLimits

APART = spread_over(match_label_keys=(TEMPLATE_HASH,))
"""A constraint on zones that counts each revision apart."""


def rolling(replicas: int, surge: int = 1, unavailable: int = 0) -> RollingUpdate:
    return RollingUpdate(replicas, PodLimits(surge, unavailable))


def builder(
    constraints: Iterable[Constraint], revision: str, **taken: Any
) -> Callable[[int], NewPod]:
    """
    Make what builds the pods of a revision, with their ordinal as a label.

    ``taken`` are other attributes of the pods.
    """

    def build(ordinal: int) -> NewPod:
        labels = {**WEB, TEMPLATE_HASH: revision, "ordinal": f"{ordinal}"}
        spreads = resolve_constraints(tuple(constraints), labels, gates())
        return NewPod(FilterPod("shop", labels, **taken), spreads)

    return build


def both(*constraints: Constraint, **taken: Any) -> Revisions:
    """Make two revisions with the same constraints."""
    return Revisions(builder(constraints, "1", **taken), builder(constraints, "2", **taken))


def observe(
    placed: Mapping[str, int],
    *,
    name: str = "web-1",
    revision: str = "1",
    first: int = 0,
    ready: str = "True",
) -> list[ObservedPod]:
    """Make the pods of a ReplicaSet, with the number of them on each node."""
    numbers = count(first)
    pods = [
        make_pod(f"{name}-{next(numbers)}", node, owner=name, ready=ready)
        for node, number in placed.items()
        for _ in range(number)
    ]
    labels = {**WEB, TEMPLATE_HASH: revision, "ordinal": "0"}
    return [replace(pod, metadata=replace(pod.metadata, labels=labels)) for pod in pods]


def workload(
    pods: Sequence[ObservedPod], order: RemovalOrder = RemovalOrder.REPLICA_SET
) -> WorkloadPods:
    own = tuple(pods)
    return WorkloadPods(name="web", pods=own, related=own, order=order, now=NOW)


def cluster(
    nodes: Iterable[Node],
    revisions: Revisions,
    pods: Iterable[ObservedPod] = (),
    room: Mapping[str, Resources] | None = None,
) -> Scenario:
    """Make a cluster; without ``room``, the allocatable resources, nodes take any pod."""
    old, found = revisions.old(0), cluster_of(nodes, Census(pods))
    return Scenario(old.pod, old.spreads, replace_fields(found, allocatable=room or {}))


def of_sets(
    nodes: Iterable[Node],
    strategy: RolloutStrategy,
    *constraints: Constraint,
    pods: Sequence[ObservedPod] = (),
    sets: Sequence[str] = (),
    stable: str = "",
    room: Mapping[str, Resources] | None = None,
    **taken: Any,
) -> RolloutSetup:
    """Prepare the rolling update of a Deployment; ``taken`` are other attributes of its pods."""
    revisions, names = both(*constraints, **taken), ReplicaSetNames(tuple(sets), stable)
    scenario = cluster(nodes, revisions, pods, room)
    return prepare_sets(scenario, workload(pods), strategy, revisions, names)


def with_cpu(nodes: Iterable[Node], cpu: int) -> dict[str, Resources]:
    """Give all nodes room for ten pods, and some CPUs."""
    return {one.name: Resources(milli_cpu=1000 * cpu, pods=10) for one in nodes}


ONE_CPU = Resources(milli_cpu=1000)
PORT_80 = (HostPort("0.0.0.0", "TCP", 80),)


def apart_by(key: str) -> tuple[AffinityTerm, ...]:
    """Make the anti-affinity of web pods to each other."""
    return (AffinityTerm(key, SELECTS_WEB, ("shop",), None, key.encode()),)


def of_ordinals(
    nodes: Iterable[Node],
    plan: StatefulSetPlan,
    replicas: int,
    *constraints: Constraint,
    pods: Sequence[ObservedPod] = (),
) -> RolloutSetup:
    """Prepare the rolling update of a StatefulSet."""
    revisions = both(*constraints)
    scenario = cluster(nodes, revisions, pods)
    return prepare_ordinals(scenario, workload(pods), plan, revisions, replicas)

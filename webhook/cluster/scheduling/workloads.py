"""
The pods of workloads and their PodDisruptionBudgets, to plan evictions: ``read_scope``.

``WorkloadObjects`` decodes its input from JSON. A pod belongs to its controller, and one of a
ReplicaSet to the controller of that.

Source: kubernetes pkg/controller/disruption disruption.go.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from webhook.cluster.scheduling.podobjects import ApiPod, ApiPodStatus, FilterSpec, UniqueMeta
from webhook.cluster.scheduling.pods import read_pod
from webhook.cluster.scheduling.snapshot import ClusterObjects, read_cluster
from webhook.cluster.scheduling.storagedefaults import apply_default_class
from webhook.policy.api.gates import Gates
from webhook.policy.defaulting.inject import is_mirror
from webhook.policy.kinds import DAEMON_SET, JOB, REPLICA_SET
from webhook.policy.model import LabelSelector
from webhook.policy.placement.census import FINISHED
from webhook.policy.placement.filters.cluster import SchedulingCluster
from webhook.policy.placement.filters.namespaces import complete_namespaces
from webhook.policy.placement.spreads import NO_DEFAULTS, DefaultConstraints, resolve_constraints
from webhook.policy.podlabels import TEMPLATE_HASH
from webhook.policy.selectors import matches
from webhook.rebalance.budgets import (
    IntOrPercent,
    PodDisruptionBudget,
    count_desired,
    is_valid_int_or_percent,
)
from webhook.rebalance.pods import EvictionObstacle, WorkloadPod

_ALWAYS_ALLOW = "AlwaysAllow"  # policy/v1 ``UnhealthyPodEvictionPolicyType``


class _ScaleSpec(msgspec.Struct, frozen=True):
    """The number of pods that a controller keeps; None means 1."""

    replicas: int | None = None

    def __post_init__(self) -> None:
        """Refuse a number that an API server refuses: with ValueError, as msgspec expects."""
        if self.replicas is not None and self.replicas < 0:
            problem = "must be greater than or equal to 0: write 0 or more"
            raise ValueError(f"replicas is {self.replicas}: {problem}")


class _Controller(msgspec.Struct, frozen=True):
    """A controller of pods, or of ReplicaSets."""

    metadata: UniqueMeta = UniqueMeta()
    spec: _ScaleSpec | None = None


class _BudgetSpec(msgspec.Struct, frozen=True, rename="camel"):
    """The specification of a PodDisruptionBudget."""

    selector: LabelSelector | None = None
    min_available: IntOrPercent = None
    max_unavailable: IntOrPercent = None
    unhealthy_pod_eviction_policy: str | None = None

    def __post_init__(self) -> None:
        """Refuse bounds that an API server refuses: with ValueError, as msgspec expects."""
        bounds = {"minAvailable": self.min_available, "maxUnavailable": self.max_unavailable}
        for name, bound in bounds.items():
            if not is_valid_int_or_percent(bound):
                advice = 'write a number of pods, such as 1, or a percentage, such as "50%"'
                raise ValueError(f"{name} is {bound!r}: {advice}")


class _BudgetMeta(UniqueMeta, frozen=True, rename="camel", gc=False):
    """The metadata of a PodDisruptionBudget."""

    generation: int | None = None


class _BudgetStatus(msgspec.Struct, frozen=True, rename="camel"):
    """What the eviction API goes by, if it is of the current generation."""

    disruptions_allowed: int | None = None
    observed_generation: int | None = None


class _Budget(msgspec.Struct, frozen=True):
    """A PodDisruptionBudget."""

    metadata: _BudgetMeta = _BudgetMeta()
    spec: _BudgetSpec = _BudgetSpec()
    status: _BudgetStatus | None = None

    @property
    def is_exhausted(self) -> bool:
        """Whether its status is current, and allows no disruption."""
        status = self.status or _BudgetStatus()
        is_current = status.observed_generation == self.metadata.generation
        return is_current and status.disruptions_allowed == 0


class WorkloadObjects(ClusterObjects, frozen=True, rename="camel"):
    """The objects of a cluster that decide on evictions; None is the same as absent."""

    deployments: tuple[_Controller, ...] | None = None
    replica_sets: tuple[_Controller, ...] | None = None
    stateful_sets: tuple[_Controller, ...] | None = None
    replication_controllers: tuple[_Controller, ...] | None = None
    pod_disruption_budgets: tuple[_Budget, ...] | None = None


class WorkloadScope(NamedTuple):
    """The arguments of a plan."""

    cluster: SchedulingCluster
    pods: tuple[WorkloadPod, ...]
    budgets: tuple[PodDisruptionBudget, ...]


FindDefaults: TypeAlias = Callable[[ApiPod], DefaultConstraints]
"""Returns the default constraints that kube-scheduler applies to a pod."""


def find_no_defaults(_pod: ApiPod) -> DefaultConstraints:
    """Return no default constraints for any pod."""
    return NO_DEFAULTS


def read_scope(
    objects: WorkloadObjects,
    gates: Gates,
    namespace: str = "",
    find_defaults: FindDefaults = find_no_defaults,
) -> WorkloadScope:
    """
    Read the pods of a namespace, and all that decides on their evictions.

    Args:
        gates: Those of the scheduler, of its version.
        namespace: Of the workloads; empty for all namespaces.
        find_defaults: Returns the scheduler's default constraints for a pod.
    """
    pods = [pod for pod in objects.pods or () if not is_finished(pod)]
    owners, cluster = _Owners(objects), read_cluster(apply_default_class(objects), gates.version)
    labels = complete_namespaces(cluster.namespaces, map(_namespace_of, pods))
    return WorkloadScope(
        dataclasses.replace(cluster, namespaces=labels),
        read_workload_pods(objects, gates, namespace, find_defaults),
        tuple(_read_budget(one, pods, owners) for one in objects.pod_disruption_budgets or ()),
    )


def read_workload_pods(
    objects: WorkloadObjects,
    gates: Gates,
    namespace: str = "",
    find_defaults: FindDefaults = find_no_defaults,
) -> tuple[WorkloadPod, ...]:
    """Read the pods alone; the arguments are those of ``read_scope``."""
    owners = _Owners(objects)

    def read(pod: ApiPod) -> WorkloadPod:
        spec = pod.spec or FilterSpec()
        unbound = replace(pod, spec=replace(spec, node_name=""))
        return WorkloadPod(
            pod=read_pod(pod, gates.version),
            replacement=read_pod(unbound, gates.version),
            spreads=resolve_constraints(pod.constraints, pod.labels, gates, find_defaults(pod)),
            workload=owners.name_workload(pod),
            is_ready=is_ready(pod),
            obstacle=_find_obstacle(pod),
        )

    return tuple(
        read(pod)
        for pod in objects.pods or ()
        if not is_finished(pod) and namespace in ("", _meta(pod).namespace)
    )


def is_ready(pod: ApiPod) -> bool:
    """
    Whether a pod counts as healthy.

    A pod of a file, without conditions, counts as ready if its phase does not say otherwise.
    """
    status = pod.status or ApiPodStatus()
    ready = [one.status for one in status.conditions or () if one.type == "Ready"]
    return ready == ["True"] if ready else status.phase in (None, "Running")


def is_finished(pod: ApiPod) -> bool:
    """Whether a pod has ended, and takes no room."""
    return pod.status is not None and pod.status.phase in FINISHED


def _namespace_of(pod: ApiPod) -> str:
    return _meta(pod).namespace


def _meta(pod: ApiPod) -> UniqueMeta:
    return pod.metadata or UniqueMeta()


def _find_obstacle(pod: ApiPod) -> EvictionObstacle | None:
    owner = _find_owner(_meta(pod))
    if _meta(pod).deletion_timestamp is not None:
        return EvictionObstacle.TERMINATING
    if is_mirror(pod):
        return EvictionObstacle.STATIC
    if owner is None:
        return EvictionObstacle.NO_CONTROLLER
    return _OWNER_OBSTACLES.get(owner.kind)


_OWNER_OBSTACLES = {DAEMON_SET.kind: EvictionObstacle.DAEMON_SET, JOB.kind: EvictionObstacle.JOB}


class _Name(NamedTuple):
    """A controller in its namespace."""

    namespace: str
    kind: str
    name: str


def _find_owner(metadata: UniqueMeta) -> _Name | None:
    owners = (one for one in metadata.owner_references if one.controller)
    owner = next(owners, None)
    return None if owner is None else _Name(metadata.namespace, owner.kind, owner.name)


class _Owners:
    """The controllers of a cluster by their names."""

    def __init__(self, objects: WorkloadObjects) -> None:
        listed: Mapping[str, Iterable[_Controller] | None] = {
            "Deployment": objects.deployments,
            "ReplicaSet": objects.replica_sets,
            "StatefulSet": objects.stateful_sets,
            "ReplicationController": objects.replication_controllers,
        }
        self._known = {
            _Name(one.metadata.namespace, kind, one.metadata.name): one
            for kind, found in listed.items()
            for one in found or ()
        }

    def find_root(self, pod: ApiPod) -> _Name | None:
        """Find the controller of a pod, or of its ReplicaSet; None if it has none."""
        owner = _find_owner(_meta(pod))
        if owner is None or owner.kind != REPLICA_SET.kind:
            return owner
        known = self._known.get(owner)
        if known is not None:
            return _find_owner(known.metadata) or owner
        # A Deployment names its ReplicaSets after itself and the hash that it gives to their pods.
        suffix = f"-{pod.labels.get(TEMPLATE_HASH, '')}"
        name = owner.name.removesuffix(suffix)
        return owner if name == owner.name else _Name(owner.namespace, "Deployment", name)

    def name_workload(self, pod: ApiPod) -> str:
        """Name the workload of a pod as KIND/NAME; empty without a controller."""
        root = self.find_root(pod)
        return "" if root is None else f"{root.kind}/{root.name}"

    def count_replicas(self, pods: Iterable[ApiPod]) -> int:
        """
        Count the pods that the controllers of some pods keep.

        Controllers that are not known count as many pods as they have.

        Source: disruption.go ``getExpectedScale``.
        """
        total, seen = 0, set[_Name]()
        for pod in pods:
            root = self.find_root(pod)
            known = None if root is None else self._known.get(root)
            if root is None or root in seen:
                continue
            if known is None:
                total += 1
            else:
                seen.add(root)
                replicas = known.spec.replicas if known.spec else None
                total += 1 if replicas is None else replicas
        return total


def _read_budget(budget: _Budget, pods: Iterable[ApiPod], owners: _Owners) -> PodDisruptionBudget:
    metadata, spec = budget.metadata, budget.spec
    selected = [
        pod
        for pod in pods
        if _meta(pod).namespace == metadata.namespace and matches(spec.selector, pod.labels)
    ]
    desired = count_desired(
        spec.min_available, spec.max_unavailable, len(selected), owners.count_replicas(selected)
    )
    healthy = sum(is_ready(one) and _meta(one).deletion_timestamp is None for one in selected)
    return PodDisruptionBudget(
        metadata.namespace,
        metadata.name,
        spec.selector,
        desired,
        healthy,
        allows_unhealthy=spec.unhealthy_pod_eviction_policy == _ALWAYS_ALLOW,
        is_exhausted=budget.is_exhausted,
    )

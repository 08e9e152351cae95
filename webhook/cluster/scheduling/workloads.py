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

from webhook.cluster.scheduling.controllers import (
    ControllerName,
    GenerationMeta,
    Owners,
    WorkloadObject,
)
from webhook.cluster.scheduling.podobjects import ApiPod, ApiPodStatus, UniqueMeta
from webhook.cluster.scheduling.pods import read_pod
from webhook.cluster.scheduling.replacements import ControllerTemplate, foresee_replacement
from webhook.cluster.scheduling.snapshot import ClusterObjects, read_cluster
from webhook.cluster.scheduling.storagedefaults import apply_default_class
from webhook.policy.api.gates import Gates
from webhook.policy.defaulting.inject import is_mirror
from webhook.policy.kinds import (
    DAEMON_SET,
    DEPLOYMENT,
    JOB,
    LEADER_WORKER_SET,
    REPLICA_SET,
    STATEFUL_SET,
)
from webhook.policy.model import LabelSelector
from webhook.policy.placement.census import FINISHED
from webhook.policy.placement.filters.cluster import SchedulingCluster
from webhook.policy.placement.filters.namespaces import complete_namespaces
from webhook.policy.placement.spreads import NO_DEFAULTS, DefaultConstraints, resolve_constraints
from webhook.policy.podlabels import REVISION_HASH
from webhook.policy.selectors import matches, selected_keys
from webhook.rebalance.budgets import (
    IntOrPercent,
    PodDisruptionBudget,
    count_desired,
    is_valid_int_or_percent,
)
from webhook.rebalance.pods import EvictionObstacle, WorkloadPod

_ALWAYS_ALLOW = "AlwaysAllow"  # policy/v1 ``UnhealthyPodEvictionPolicyType``


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


class _BudgetStatus(msgspec.Struct, frozen=True, rename="camel"):
    """What the eviction API goes by, if it is of the current generation."""

    disruptions_allowed: int | None = None
    observed_generation: int | None = None


class _Budget(msgspec.Struct, frozen=True):
    """A PodDisruptionBudget."""

    metadata: GenerationMeta = GenerationMeta()
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

    deployments: tuple[WorkloadObject, ...] | None = None
    replica_sets: tuple[WorkloadObject, ...] | None = None
    stateful_sets: tuple[WorkloadObject, ...] | None = None
    replication_controllers: tuple[WorkloadObject, ...] | None = None
    pod_disruption_budgets: tuple[_Budget, ...] | None = None

    def find_owners(self) -> Owners:
        """Index the controllers by their names."""
        return Owners(
            {
                DEPLOYMENT.kind: self.deployments,
                REPLICA_SET.kind: self.replica_sets,
                STATEFUL_SET.kind: self.stateful_sets,
                "ReplicationController": self.replication_controllers,
            }
        )


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
    cluster = read_cluster(apply_default_class(objects), gates.version)
    labels = complete_namespaces(cluster.namespaces, map(_namespace_of, pods))
    owners = objects.find_owners()
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
    owners = objects.find_owners()
    pods = [pod for pod in objects.pods or () if not is_finished(pod)]
    missing = owners.count_missing(pods)

    def read(pod: ApiPod) -> WorkloadPod:
        template = owners.find_template(pod)
        successor = foresee_replacement(pod, template, gates.version)
        spreads = resolve_constraints(successor.constraints, pod.labels, gates, find_defaults(pod))
        return WorkloadPod(
            pod=read_pod(pod, gates.version),
            replacement=successor.pod,
            spreads=spreads,
            workload=owners.name_workload(pod),
            is_ready=is_ready(pod),
            obstacle=_find_obstacle(pod, template, owners),
            is_rolling=owners.is_rolling(pod),
            differences=successor.differences,
            has_preferences=successor.has_preferences,
            missing=_count_of(owners.find_keeper(pod), missing),
        )

    return tuple(read(pod) for pod in pods if namespace in ("", _meta(pod).namespace))


def _count_of(keeper: ControllerName | None, counts: Mapping[ControllerName, int]) -> int:
    return 0 if keeper is None else counts.get(keeper, 0)


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


def _find_obstacle(
    pod: ApiPod, template: ControllerTemplate | None, owners: Owners
) -> EvictionObstacle | None:
    owner = owners.find_workload(pod)
    if _meta(pod).deletion_timestamp is not None:
        return EvictionObstacle.TERMINATING
    if is_mirror(pod):
        return EvictionObstacle.STATIC
    if owner is None:
        return EvictionObstacle.NO_CONTROLLER
    if template is not None and template.pod.spec is not None and template.pod.spec.node_name:
        return EvictionObstacle.BOUND
    if template is not None and template.is_other and _compares_revisions(pod):
        return EvictionObstacle.REVISION
    return _OWNER_OBSTACLES.get(owner.kind)


def _compares_revisions(pod: ApiPod) -> bool:
    """Whether a constraint counts the pods of the revision of a StatefulSet separately."""
    return any(
        REVISION_HASH in (*one.match_label_keys, *selected_keys(one.label_selector))
        for one in pod.constraints
    )


_OWNER_OBSTACLES = {
    DAEMON_SET.kind: EvictionObstacle.DAEMON_SET,
    JOB.kind: EvictionObstacle.JOB,
    LEADER_WORKER_SET.kind: EvictionObstacle.GROUP,
}
"""
Why no pod of a workload of these kinds is evicted.

The controller of a LeaderWorkerSet deletes the leader of a pod that is deleted, and the workers end
with the leader in any case.

Source: sigs.k8s.io/lws pkg/controllers/pod_controller.go ``handleRestartPolicy``.
"""


def _read_budget(budget: _Budget, pods: Iterable[ApiPod], owners: Owners) -> PodDisruptionBudget:
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

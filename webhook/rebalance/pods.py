"""The pods of workloads whose spread is to be restored: ``WorkloadPod``."""

import dataclasses
from collections.abc import Iterable
from enum import StrEnum

import msgspec
from msgspec.structs import replace

from webhook.policy.placement.filters.cluster import SchedulingCluster
from webhook.policy.placement.filters.filterpods import EPHEMERAL, FilterPod
from webhook.policy.placement.spreads import SpreadConstraints


class EvictionObstacle(StrEnum):
    """Why a pod is not evicted."""

    NO_CONTROLLER = "no controller replaces it"
    DAEMON_SET = "its controller chooses the node"
    JOB = "its Job counts a deleted pod as failed"
    GROUP = "its LeaderWorkerSet replaces whole groups of pods"
    STATIC = "a kubelet runs it from a file"
    BOUND = "the template of its controller names the node"
    TERMINATING = "it is being deleted"
    REVISION = "its replacement has another revision, which its constraints count separately"
    MANY_BUDGETS = "several PodDisruptionBudgets select it"
    BUDGET = "a PodDisruptionBudget allows no disruption"


class WorkloadPod(msgspec.Struct, frozen=True, kw_only=True):
    """
    A pod in the scope of a plan.

    Attributes:
        pod: The pod as it is; without a node it is Pending.
        replacement: The pod that its controller creates after an eviction, without a node.
        spreads: The constraints of the replacement.
        workload: KIND/NAME, such as ``Deployment/web``; empty without a controller.
        obstacle: Why it is not evicted, whatever its budgets; None if only they can prevent it.
        is_rolling: Whether a rollout of its workload deletes it, or other pods of a Deployment.
        differences: What the template of its controller has in another way, in words. The
            replacement demands what both demand.
        missing: Replicas of its controller that have no pod, as after a scale-up or while an old
            pod is still terminating; below 0 for more pods than replicas.
        has_preferences: Whether preferred affinity ranks nodes for the replacement, too.
    """

    pod: FilterPod
    replacement: FilterPod
    spreads: SpreadConstraints
    workload: str = ""
    is_ready: bool = True
    obstacle: EvictionObstacle | None = None
    is_rolling: bool = False
    differences: tuple[str, ...] = ()
    has_preferences: bool = False
    missing: int = 0

    @property
    def is_spread(self) -> bool:
        """Whether its constraints are to hold: those of a workload that the scheduler spreads."""
        return self.obstacle is None

    @property
    def is_surplus(self) -> bool:
        """Whether its controller has more pods than replicas, and replaces none."""
        return self.missing < 0

    @property
    def may_be_ranked_otherwise(self) -> bool:
        """Whether scores besides those of its soft constraints may choose its node."""
        return self.has_preferences and bool(self.spreads.soft)


def renew_claims(cluster: SchedulingCluster, pods: Iterable[WorkloadPod]) -> SchedulingCluster:
    """
    Unbind the claims of ephemeral volumes: a replacement gets a new claim, and a new volume.

    Source: kubernetes pkg/controller/volume/ephemeral.
    """
    keys = {
        (volume.namespace, volume.name)
        for one in pods
        for volume in one.replacement.volumes
        if volume.kind == EPHEMERAL
    }
    claims = {
        key: replace(claim, volume="", is_bound=False, selected_node=None) if key in keys else claim
        for key, claim in cluster.storage.claims.items()
    }
    return dataclasses.replace(cluster, storage=replace(cluster.storage, claims=claims))

"""
The controllers of pods, the templates of the pods that they create, and rollouts: ``Owners``.

``WorkloadObject`` decodes its input from JSON. A pod belongs to its controller, and one of a
ReplicaSet or of a ReplicationController to the controller of that. The StatefulSets of a
LeaderWorkerSet are parts of it, also those of workers, which the pods of leaders control; a label
of their pods names it.

Source: kubernetes pkg/controller/disruption disruption.go; pkg/controller/statefulset
stateful_set_utils.go ``newVersionedStatefulSetPod``; kubectl pkg/polymorphichelpers
rollout_status.go; openshift api apps/v1 ``DeploymentConfig``; sigs.k8s.io/lws
api/leaderworkerset/v1 ``SetNameLabelKey``.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from webhook.cluster.scheduling.podobjects import ApiPod, UniqueMeta
from webhook.cluster.scheduling.replacements import ControllerTemplate
from webhook.policy.kinds import (
    DEPLOYMENT,
    LEADER_WORKER_SET,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    STATEFUL_SET,
)
from webhook.policy.model import ObjectMeta
from webhook.policy.nextrevision import (
    find_ordinals,
    read_partition,
    read_partitioned,
    read_start,
)
from webhook.policy.podlabels import REVISION_HASH, TEMPLATE_HASH, WORKER_SET_NAME

_REVISIONS = frozenset({REPLICA_SET.kind, REPLICATION_CONTROLLER.kind})
"""Kinds of which a workload has an object for each revision."""

_ROLLING_UPDATE = "RollingUpdate"  # apps/v1; the default of a StatefulSet


class _ClaimTemplate(msgspec.Struct, frozen=True):
    """A template of the claims of a StatefulSet."""

    metadata: ObjectMeta = ObjectMeta()


class _ControllerSpec(msgspec.Struct, frozen=True, rename="camel"):
    """
    What a controller keeps and creates.

    Attributes:
        replicas: None in a file that leaves the number to the cluster.
        paused: Of a Deployment.
        update_strategy: Of a StatefulSet.
        ordinals: Of a StatefulSet.
    """

    replicas: int | None = None
    paused: bool | None = None
    template: ApiPod | None = None
    update_strategy: dict[str, Any] | None = None
    ordinals: dict[str, Any] | None = None
    volume_claim_templates: tuple[_ClaimTemplate, ...] | None = None

    def __post_init__(self) -> None:
        """Refuse a number that an API server refuses: with ValueError, as msgspec expects."""
        if self.replicas is not None and self.replicas < 0:
            problem = "must be greater than or equal to 0: write 0 or more"
            raise ValueError(f"replicas is {self.replicas}: {problem}")


class GenerationMeta(UniqueMeta, frozen=True, rename="camel", gc=False):
    """The metadata of an object whose status shows which generation it is of."""

    generation: int | None = None


class _ControllerStatus(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """What a controller has observed."""

    observed_generation: int | None = None
    replicas: int | None = None
    updated_replicas: int | None = None
    current_replicas: int | None = None
    current_revision: str | None = None
    update_revision: str | None = None


class WorkloadObject(msgspec.Struct, frozen=True):
    """A controller of pods, or of ReplicaSets."""

    metadata: GenerationMeta = GenerationMeta()
    spec: _ControllerSpec | None = None
    status: _ControllerStatus | None = None

    @property
    def is_rolling(self) -> bool:
        """
        Whether a Deployment has pods that its rollout deletes, or has not begun its rollout yet.

        A paused Deployment keeps its pods, and a file without a status shows no rollout.
        """
        spec, status = self.spec or _ControllerSpec(), self.status
        if spec.paused or status is None:
            return False
        generation, observed = self.metadata.generation, status.observed_generation
        is_observed = None in (generation, observed) or generation == observed
        return not is_observed or (status.replicas or 0) > (status.updated_replicas or 0)

    def updates_pod(self, name: str, labels: Mapping[str, str]) -> bool:
        """
        Whether the rollout of a StatefulSet deletes one of its pods.

        Args:
            name: Of the pod; it ends with its ordinal.
            labels: Of the pod.
        """
        spec, status = self.spec or _ControllerSpec(), self.status or _ControllerStatus()
        strategy = (spec.update_strategy or {}).get("type")
        if not status.update_revision or strategy not in (None, _ROLLING_UPDATE):
            return False
        written = self.encode_revisions()
        first = read_start(written) + read_partition(written)
        is_old = labels.get(REVISION_HASH) != status.update_revision
        return is_old and any(ordinal >= first for ordinal in find_ordinals((name,)))

    def encode_revisions(self) -> dict[str, Any]:
        """Encode what decides on the revisions of new pods, as ``read_partitioned`` reads it."""
        spec = self.spec or _ControllerSpec()
        return {
            "metadata": {"generation": self.metadata.generation},
            "spec": {"updateStrategy": spec.update_strategy, "ordinals": spec.ordinals},
            "status": msgspec.to_builtins(self.status),
        }


class ControllerName(NamedTuple):
    """A controller in its namespace."""

    namespace: str
    kind: str
    name: str


def find_owner(metadata: UniqueMeta) -> ControllerName | None:
    """Find the controller that an object names as its owner; None if it names none."""
    owners = (one for one in metadata.owner_references if one.controller)
    owner = next(owners, None)
    return None if owner is None else ControllerName(metadata.namespace, owner.kind, owner.name)


class Owners:
    """The controllers of a cluster by their names."""

    def __init__(self, controllers: Mapping[str, Iterable[WorkloadObject] | None]) -> None:
        """
        Store the controllers.

        Args:
            controllers: Kind -> all of its objects.
        """
        self._known = {
            ControllerName(one.metadata.namespace, kind, one.metadata.name): one
            for kind, found in controllers.items()
            for one in found or ()
        }

    def find_root(self, pod: ApiPod) -> ControllerName | None:
        """Find the controller of a pod, or of the object of a revision; None if it has none."""
        owner = find_owner(pod.metadata or UniqueMeta())
        if owner is None or owner.kind not in _REVISIONS:
            return owner
        known = self._known.get(owner)
        if known is not None:
            return find_owner(known.metadata) or owner
        if owner.kind != REPLICA_SET.kind:
            return owner
        # A Deployment names its ReplicaSets after itself and the hash that it gives to their pods.
        suffix = f"-{pod.labels.get(TEMPLATE_HASH, '')}"
        name = owner.name.removesuffix(suffix)
        return (
            owner if name == owner.name else ControllerName(owner.namespace, DEPLOYMENT.kind, name)
        )

    def find_template(self, pod: ApiPod) -> ControllerTemplate | None:
        """
        Find the template from which the controller of a pod creates its replacement.

        Returns:
            None if it is not known: the controller is of another kind, or the pod of a StatefulSet
            is below the partition, so that its replacement has the current revision as well.
        """
        owner = find_owner(pod.metadata or UniqueMeta())
        known = None if owner is None else self._known.get(owner)
        spec = known.spec if known else None
        if known is None or spec is None or spec.template is None:
            return None
        if owner is None or owner.kind != STATEFUL_SET.kind:
            return ControllerTemplate(spec.template)
        revisions = read_partitioned(known.encode_revisions())
        name = pod.metadata.name if pod.metadata else ""
        if any(map(revisions.is_below, find_ordinals([name]))):
            return None
        revision = revisions.updated
        is_known = REVISION_HASH in revision and REVISION_HASH in pod.labels
        is_other = is_known and pod.labels[REVISION_HASH] != revision[REVISION_HASH]
        claims = tuple(one.metadata.name for one in spec.volume_claim_templates or ())
        return ControllerTemplate(spec.template, revision, claims, is_other=is_other)

    def is_rolling(self, pod: ApiPod) -> bool:
        """Whether a pod shows that its Deployment or StatefulSet rolls out a new revision."""
        root, metadata = self.find_root(pod), pod.metadata or UniqueMeta()
        known = None if root is None else self._known.get(root)
        if root is None or known is None or metadata.deletion_timestamp is not None:
            return False
        if root.kind == STATEFUL_SET.kind:
            return known.updates_pod(metadata.name, pod.labels)
        return root.kind == DEPLOYMENT.kind and known.is_rolling

    def find_keeper(self, pod: ApiPod) -> ControllerName | None:
        """Find the known controller that keeps the number of a pod and its like."""
        owner = find_owner(pod.metadata or UniqueMeta())
        return owner if owner in self._known else self.find_root(pod)

    def count_missing(self, pods: Iterable[ApiPod]) -> dict[ControllerName, int]:
        """
        Count the replicas of known controllers that have no pod; pods being deleted do not count.

        Returns:
            Below 0 for more pods than replicas. A Deployment whose ReplicaSets are not known may
            have more in a rollout.
        """
        alive = [pod for pod in pods if (pod.metadata or UniqueMeta()).deletion_timestamp is None]
        missing: dict[ControllerName, int] = {}
        for keeper, number in Counter(map(self.find_keeper, alive)).items():
            known = None if keeper is None else self._known.get(keeper)
            replicas = known.spec.replicas if known and known.spec else None
            if keeper is not None and replicas is not None:
                least = 0 if keeper.kind == DEPLOYMENT.kind else -number
                missing[keeper] = max(least, replicas - number)
        return missing

    def find_workload(self, pod: ApiPod) -> ControllerName | None:
        """Find the LeaderWorkerSet of a pod, else its root; None if it has none."""
        root, name = self.find_root(pod), pod.labels.get(WORKER_SET_NAME)
        if root is None or root.kind != STATEFUL_SET.kind or not name:
            return root
        return ControllerName(root.namespace, LEADER_WORKER_SET.kind, name)

    def name_workload(self, pod: ApiPod) -> str:
        """Name the workload of a pod as KIND/NAME; empty without a controller."""
        found = self.find_workload(pod)
        return "" if found is None else f"{found.kind}/{found.name}"

    def count_replicas(self, pods: Iterable[ApiPod]) -> int:
        """
        Count the pods that the controllers of some pods keep.

        Controllers that are not known, or whose file does not say, count as many pods as they have.

        Source: disruption.go ``getExpectedScale``, ``getPodReplicaSet``.
        """
        total, seen = 0, set[ControllerName]()
        for pod in pods:
            root = self.find_root(pod)
            # Of these workloads, the scale of a Deployment alone counts instead of the revision's.
            scaled = root if root in self._known else self.find_keeper(pod)
            known = None if scaled is None else self._known.get(scaled)
            replicas = known.spec.replicas if known and known.spec else None
            if scaled is None or scaled in seen:
                continue
            if replicas is None:
                total += 1
            else:
                seen.add(scaled)
                total += replicas
        return total

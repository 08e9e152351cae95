"""
The subject of advice: a workload or a pod, with everything that decides how its pods are spread.

``decode`` builds a ``Subject`` from JSON. Whether its spreading is good is decided by the rules.
"""

from collections.abc import Mapping
from functools import cached_property

import msgspec
from msgspec.structs import replace

from webhook.policy import kinds
from webhook.policy.advice.podaffinity import PodAffinity, PodAffinityTerm, PodAntiAffinity
from webhook.policy.advice.podcount import JOBS
from webhook.policy.advice.podgroups import PodGroup
from webhook.policy.advice.runningpods import RunningPods
from webhook.policy.advice.scaling import ReplicaRange
from webhook.policy.labelvalues import LabelValues, find_values, renew_labels
from webhook.policy.model import Constraint, GroupKind, ObjectMeta
from webhook.policy.nextrevision import PartitionedRevisions
from webhook.policy.paths import FieldPath, constraints_field, is_constraint_list
from webhook.policy.placement.daemondemands import daemon_demands
from webhook.policy.placement.nodeaffinity import Affinity
from webhook.policy.placement.nodes import Demands, SchedulingPod, SchedulingSpec
from webhook.policy.placement.runtimeclasses import RuntimeClass
from webhook.policy.placement.tallies import IncomingPod
from webhook.policy.podlabels import added_keys, unique_keys
from webhook.policy.rolloutlimits import RolloutLimits

WITHOUT_SURGE = JOBS | {kinds.STATEFUL_SET, kinds.REPLICA_SET, kinds.REPLICATION_CONTROLLER}
"""Kinds that never create a pod beyond their replicas, not even in a rollout."""

SELECTOR_REQUIRED = frozenset(
    {kinds.DEPLOYMENT, kinds.DAEMON_SET, kinds.STATEFUL_SET, kinds.REPLICA_SET}
)
"""
Kinds that the API rejects without a selector that matches labels of their template.

Source: k8s.io kubernetes pkg/apis/apps/validation ``ValidatePodTemplateSpecForReplicaSet``,
``ValidateStatefulSetSpec``, ``ValidateDaemonSetSpec``.
"""

ADVISED_CONSTRAINTS = 32  # that advice judges; real pods have one to three


class SubjectAffinity(Affinity, frozen=True, rename="camel", gc=False):
    """A pod's affinity, with the fields that advice needs."""

    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAntiAffinity | None = None


class SubjectSpec(SchedulingSpec, frozen=True, rename="camel", gc=False):
    """A pod's specification, with the fields that advice needs."""

    affinity: SubjectAffinity | None = None
    runtime_class_name: str | None = None


class SubjectPod(SchedulingPod, frozen=True, rename="camel", gc=False):
    """A pod or pod template, with the fields that advice needs."""

    spec: SubjectSpec | None = None


class Subject(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """
    A workload or a pod; what most rules ask of it is worked out once.

    Attributes:
        path: Path of the pod template, or of a bare list of constraints; empty for a Pod.
        part: The name of this pod template, if the object has several; otherwise empty.
        replicas: Number of pods at a time; None if the object does not say, as a Deployment
            whose replicas are left to an autoscaler.
        groups: Number of its Jobs, of a JobSet, or of its groups, of a LeaderWorkerSet; all have as
            many of the pods. None for other kinds.
        members: Numbers of its pods in each group of a LeaderWorkerSet; None for other kinds.
        scaling: The range in which an autoscaler scales it; None without one, and at admission.
        group: The PodGroup of its pods; None if it is not known, and at admission.
        runtime_class: The RuntimeClass of its pods; None if it is not known or shows no nodes, and
            at admission.
        claims: Whether every pod has volumes of its own, from volumeClaimTemplates.
        claim_classes: The storageClassName of each of these templates; None for one without.
        recreates: Whether a new revision starts only after all old pods are gone.
        on_delete: Whether pods get a new revision only after another client deletes them.
        is_parallel: Whether the controller of a StatefulSet awaits no pod before it creates others.
        paused: Whether its controller rolls out no revision until it is resumed.
        suspended: Whether its controller runs no pod until it is resumed; for an audit.
        finished: Whether it is a Job that creates no pod any more; for an audit.
        limits: Pods beyond the replicas, or of a DaemonSet on the same node, and pods that may be
            missing, while it rolls out a revision; None if no limits apply, or they are unknown.
        alone_on_node: Whether two of its pods never share a node, because of their host ports.
        selector_labels: The matchLabels of its own selector; empty if it has none.
        given_labels: Keys of labels that its fields make its controller give to pods.
        creator: Kind of the object that creates pods from its template in its place, as a Rollout
            with a workloadRef does; None if there is none.
        is_shared: Whether its own controller creates pods from the template beside the creator, as
            that of a Deployment with replicas does.
        is_unreferred: Whether it is certain that no other object creates pods from its template.
        stored: Whether it is the copy of a pod that an API server stored.
        settled: Whether an update leaves the pod template, constraints included, as it was.
        unjudged: Indexes of constraints that get no advice, since they are parts of a patch.
        running: Its pods, in groups; empty at admission.
        revision: The label that shows the revision of its next pod; empty if unknown, and at
            admission.
        partitioned: The revisions of a StatefulSet with a partition, for an audit.
    """

    kind: GroupKind
    pod: SubjectPod
    path: FieldPath = ()
    metadata: ObjectMeta = ObjectMeta()
    namespace: str = ""
    part: str = ""
    replicas: int | None = None
    groups: int | None = None
    members: range | None = None
    scaling: ReplicaRange | None = None
    group: PodGroup | None = None
    runtime_class: RuntimeClass | None = None
    claims: bool = False
    claim_classes: tuple[str | None, ...] = ()
    recreates: bool = False
    on_delete: bool = False
    is_parallel: bool = False
    paused: bool = False
    suspended: bool = False
    finished: bool = False
    limits: RolloutLimits | None = None
    alone_on_node: bool = False
    selector_labels: Mapping[str, str] = {}
    given_labels: tuple[str, ...] = ()
    creator: GroupKind | None = None
    is_shared: bool = False
    is_unreferred: bool = False
    stored: bool = False
    settled: bool = False
    unjudged: frozenset[int] = frozenset()
    running: tuple[RunningPods, ...] = ()
    revision: Mapping[str, str] = {}
    partitioned: PartitionedRevisions | None = None

    def __str__(self) -> str:
        """Format the subject as ``Deployment/web``, which is unique in its namespace."""
        return f"{self.kind.kind}/{self.metadata.name or self.metadata.generate_name}"

    def with_constraints(self, constraints: tuple[Constraint, ...]) -> "Subject":
        """Return the subject with other constraints; itself if it has no pod specification."""
        spec = self.pod.spec
        if spec is None:
            return self
        changed = replace(spec, topology_spread_constraints=constraints)
        return replace(self, pod=replace(self.pod, spec=changed))

    @property
    def pods_kind(self) -> GroupKind:
        """The kind whose controller labels its pods."""
        return self.creator or self.kind

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels of its pod template."""
        return self.pod.labels

    def values_of(self, key: str) -> LabelValues | None:
        """Find the values of a label that its controller adds to its pods; None if not known."""
        if self.creator is not None or key in self.labels:
            return None
        numbers = range(self.groups or 0) if self.kind == kinds.JOB_SET else self.members
        return find_values(self.kind, key, self.metadata.name, self.part, numbers)

    @cached_property
    def common_labels(self) -> Mapping[str, str]:
        """The labels that all its pods have, with those of its controller that are known."""
        found = {key: self.values_of(key) for key in sorted(added_keys(self.kind))}
        known = {key: one.outline for key, one in found.items() if one and not one.varies}
        return {**self.labels, **known} if known else self.labels

    @property
    def foreseen_labels(self) -> Mapping[str, str]:
        """The labels of its pods; a part of a value that is not known is in angle brackets."""
        added = sorted(added_keys(self.pods_kind) - self.labels.keys())
        values = {key: self.values_of(key) for key in added}
        found = {key: one.outline if one else "<hash>" for key, one in values.items()}
        return {**self.labels, **found}

    @cached_property
    def next_labels(self) -> Mapping[str, str]:
        """
        The labels of its next pod, as far as they are known.

        A controller adds labels to those of the template, such as the revision's hash. The largest
        group of running pods that no rollout replaces stands for the next pod, in its revision;
        without pods, the labels that all have. A label that no two pods have with the same value
        has another one, as the index of a pod.
        """
        kept = [group for group in self.running if not group.replaced] or self.running
        most = max(kept, key=lambda group: group.number, default=None)
        if most is None:
            return self.common_labels
        others = (group.pod.labels for group in self.running)
        labels = renew_labels(most.pod.labels, unique_keys(self.pods_kind), others)
        return labels if self.revision.items() <= labels.items() else {**labels, **self.revision}

    @cached_property
    def constraints(self) -> tuple[Constraint, ...]:
        """The constraints of the pod, in order; only the first ``ADVISED_CONSTRAINTS``."""
        return self.pod.constraints[:ADVISED_CONSTRAINTS]

    @cached_property
    def demands(self) -> Demands:
        """
        What its pods require of a node, as far as it is known: see ``lacks_runtime_class``.

        Those of a DaemonSet tolerate what its controller makes them tolerate, as cordons.
        """
        found = self.pod.demands
        if self.runtime_class is not None:
            found = self.runtime_class.add_to(found)
        return daemon_demands(found, host_network=False) if self.is_daemon else found

    @cached_property
    def next_pod(self) -> IncomingPod:
        """Its next pod, as ``next_labels`` and ``demands`` describe it."""
        return IncomingPod(self.namespace, self.next_labels, self.demands)

    @property
    def lacks_runtime_class(self) -> bool:
        """
        Whether its pods may go to other nodes than ``demands`` says, by a class that it lacks.

        A pod has what its class requires: kube-apiserver adds it before anything else sees the pod.
        """
        spec = self.pod.spec
        is_named = bool(self.path) and spec is not None and bool(spec.runtime_class_name)
        return is_named and self.runtime_class is None

    @property
    def anti_affinity(self) -> tuple[PodAffinityTerm, ...]:
        """The terms of its pod anti-affinity."""
        affinity = self.pod.spec.affinity if self.pod.spec else None
        against = affinity.pod_anti_affinity if affinity else None
        return against.terms if against else ()

    @property
    def companions(self) -> tuple[PodAffinityTerm, ...]:
        """The required terms of its pod affinity."""
        affinity = self.pod.spec.affinity if self.pod.spec else None
        among = affinity.pod_affinity if affinity else None
        return among.required if among else ()

    @property
    def controlled(self) -> bool:
        """Whether a controller created it, so that its owner has been judged already."""
        return self.metadata.controller is not None

    @property
    def is_daemon(self) -> bool:
        """Whether it is a DaemonSet, whose pods are each meant for one node and never spread."""
        return self.kind == kinds.DAEMON_SET

    @property
    def most_replicas(self) -> int | None:
        """The most pods at a time, also of its autoscaler; None if unknown."""
        return self.scaling.most if self.scaling else self.replicas

    @property
    def is_alone(self) -> bool:
        """Whether it never has two pods to spread."""
        most = self.most_replicas
        return self.is_daemon or (most is not None and most <= 1)

    @property
    def is_bound(self) -> bool:
        """
        Whether its pods bypass the scheduler: their nodeName is written, or they have their node.

        A running pod that represents a workload of an unknown kind has a node as well. Such a
        subject has no path and is no Pod, so it is not bound.
        """
        return bool(self.pod.spec and self.pod.spec.node_name) and (
            bool(self.path) or self.kind == kinds.POD
        )

    @property
    def surges(self) -> bool:
        """Whether it may have more pods than replicas, as in a rollout."""
        if self.recreates or self.on_delete or self.kind in WITHOUT_SURGE:
            return False
        return self.limits is None or self.limits.adds_pods

    @property
    def doubles(self) -> bool:
        """Whether a rollout starts all new pods before it deletes an old one."""
        return self.limits is not None and self.limits.doubles

    @property
    def is_complete(self) -> bool:
        """Whether all its pods have a node, and it creates no other before one of them ends."""
        return self.has_all_pods and not self.surges

    @property
    def has_all_pods(self) -> bool:
        """Whether as many pods as it has replicas have a node."""
        placed = sum(group.placed for group in self.running)
        return self.replicas is not None and placed >= self.replicas

    @property
    def is_partial(self) -> bool:
        """
        Whether it is part of a workload, as a kustomize patch, that no API server accepts alone.

        The labels of its pods, and possibly more constraints, are in the object it is merged into.
        Running pods, which are not of the patch, do not make it whole.
        """
        return self.kind in SELECTOR_REQUIRED and not self.common_labels

    @property
    def is_bare(self) -> bool:
        """Whether it is a list of constraints without a pod template, whose pods are unknown."""
        return is_constraint_list(self.path)

    @property
    def list_path(self) -> str:
        """Path of its constraints, as ``spec.template.spec.topologySpreadConstraints``."""
        return constraints_field(self.path)

    def field(self, index: int, name: str = "") -> str:
        """Return the path of a constraint, or of one of its fields."""
        entry = f"{self.list_path}[{index}]"
        return f"{entry}.{name}" if name else entry

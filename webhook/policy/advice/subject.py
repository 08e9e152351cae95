"""
What advice is about: a workload, or a pod, with all that decides how its pods are spread.

Reading one from an object on the wire is in ``reading``.
"""

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from webhook.policy.advice.antiaffinity import PodAffinity, PodAffinityTerm, PodAntiAffinity
from webhook.policy.kinds import (
    CRON_JOB,
    DAEMON_SET,
    DEPLOYMENT,
    JOB,
    POD,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    STATEFUL_SET,
)
from webhook.policy.model import Constraint, GroupKind, ObjectMeta, PodTemplate
from webhook.policy.paths import TemplatePath, constraints_field
from webhook.policy.placement.nodeaffinity import Affinity
from webhook.policy.placement.nodes import Demands, SchedulingPod, SchedulingSpec

JOBS = frozenset({JOB, CRON_JOB})
WITHOUT_SURGE = JOBS | {STATEFUL_SET, REPLICA_SET, REPLICATION_CONTROLLER}
"""Kinds that make no pod while they have as many as they want, also while they are rolled out."""

SELECTOR_REQUIRED = frozenset({DEPLOYMENT, DAEMON_SET, STATEFUL_SET, REPLICA_SET})
"""
Kinds that are refused without a selector that matches labels of their template.

Source: k8s.io kubernetes pkg/apis/apps/validation ``ValidatePodTemplateSpecForReplicaSet``,
``ValidateStatefulSetSpec``, ``ValidateDaemonSetSpec``.
"""

ADVISED_CONSTRAINTS = 32  # that advice looks at; real pods have one to three


class SubjectAffinity(Affinity, frozen=True, rename="camel", gc=False):
    """The parts of a pod's affinity that advice looks at."""

    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAntiAffinity | None = None


class SubjectSpec(SchedulingSpec, frozen=True, rename="camel", gc=False):
    """A pod's specification with all that advice looks at."""

    affinity: SubjectAffinity | None = None


class SubjectPod(SchedulingPod, frozen=True, rename="camel", gc=False):
    """A pod, or a pod template, with all that advice looks at."""

    spec: SubjectSpec | None = None


class RunningPods(msgspec.Struct, frozen=True):
    """
    Pods of a workload that run, or wait to, and are alike.

    Attributes:
        pod: One of them; the others have the same labels, constraints and owner.
        nodes: Node name -> pods on it, at least 1; those without a node stand under ``""``.
    """

    pod: PodTemplate
    nodes: Mapping[str, int]

    @property
    def number(self) -> int:
        """How many there are; at least 1."""
        return sum(self.nodes.values())

    @property
    def placed(self) -> int:
        """How many of them have a node."""
        return self.number - self.nodes.get("", 0)


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """
    A workload or a pod.

    Attributes:
        kind: Of the object.
        path: From the object to its pod template; empty for a Pod.
        metadata: The object's own.
        namespace: Where it is; empty if that is not known.
        pod: Its pod template, or the Pod itself.
        replicas: Pods that it has at a time; None if the object does not say, as a Deployment
            whose replicas are left to an autoscaler.
        claims: Whether each of its pods has volumes of its own, from volumeClaimTemplates.
        recreates: Whether no pod of a new revision starts before all old ones are gone.
        alone_on_node: Whether no two of its pods fit on a node, since both ask for the same port
            of it.
        settled: Whether an update leaves pod template and constraints as they were.
        running: Its pods, in groups; empty at admission.
    """

    kind: GroupKind
    pod: SubjectPod
    path: TemplatePath = ()
    metadata: ObjectMeta = ObjectMeta()
    namespace: str = ""
    replicas: int | None = None
    claims: bool = False
    recreates: bool = False
    alone_on_node: bool = False
    settled: bool = False
    running: tuple[RunningPods, ...] = ()

    def __str__(self) -> str:
        """Name it as ``Deployment/web``; workloads of a namespace all differ in this."""
        return f"{self.kind.kind}/{self.metadata.name or self.metadata.generate_name}"

    def with_constraints(self, constraints: tuple[Constraint, ...]) -> "Subject":
        """The same subject with another constraint list; one without a specification is kept."""
        spec = self.pod.spec
        if spec is None:
            return self
        changed = replace(spec, topology_spread_constraints=constraints)
        return replace(self, pod=replace(self.pod, spec=changed))

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels that its pods are made with."""
        return self.pod.labels

    @property
    def next_labels(self) -> Mapping[str, str]:
        """
        The labels of its next pod, as far as they can be known.

        Its controller adds labels that the template has not, as that of the revision; those of
        most running pods are taken for them.
        """
        most = max(self.running, key=lambda group: group.number, default=None)
        return most.pod.labels if most else self.labels

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """Its constraints, in order; at most ``ADVISED_CONSTRAINTS`` of them."""
        return self.pod.constraints[:ADVISED_CONSTRAINTS]

    @property
    def demands(self) -> Demands:
        """What its pods ask of a node."""
        return self.pod.demands

    @property
    def anti_affinity(self) -> tuple[PodAffinityTerm, ...]:
        """The terms of its pod anti-affinity."""
        affinity = self.pod.spec.affinity if self.pod.spec else None
        against = affinity.pod_anti_affinity if affinity else None
        return against.terms if against else ()

    @property
    def companions(self) -> tuple[PodAffinityTerm, ...]:
        """The terms of its pod affinity that are required."""
        affinity = self.pod.spec.affinity if self.pod.spec else None
        among = affinity.pod_affinity if affinity else None
        required = among.required_during_scheduling_ignored_during_execution if among else None
        return required or ()

    @property
    def controlled(self) -> bool:
        """Whether a controller made it: whoever wrote it was asked already."""
        return self.metadata.controller is not None

    @property
    def is_daemon(self) -> bool:
        """Whether each of its pods is bound for one node, so that there is nothing to spread."""
        return self.kind == DAEMON_SET

    @property
    def is_alone(self) -> bool:
        """Whether it never has two pods that could be spread."""
        return self.is_daemon or (self.replicas is not None and self.replicas <= 1)

    @property
    def is_bound(self) -> bool:
        """
        Whether no scheduler is asked about its pods: they are written for a node, or have theirs.

        One of the pods that stands for a template which nobody knows has a node, the template none.
        """
        return bool(self.pod.spec and self.pod.spec.node_name) and (
            bool(self.path) or self.kind == POD
        )

    @property
    def is_complete(self) -> bool:
        """Whether all its pods have a node, and it makes no other before one of them goes."""
        if self.replicas is None or not (self.recreates or self.kind in WITHOUT_SURGE):
            return False
        return sum(group.placed for group in self.running) >= self.replicas

    @property
    def is_partial(self) -> bool:
        """
        Whether it is a part of a workload, as a patch of kustomize: no server takes it as it is.

        The labels of its pods, and maybe their constraints, stand in what it is merged into.
        """
        return self.kind in SELECTOR_REQUIRED and not self.next_labels

    @property
    def list_path(self) -> str:
        """Where its constraints stand, as ``spec.template.spec.topologySpreadConstraints``."""
        return constraints_field(self.path)

    def field(self, index: int, name: str = "") -> str:
        """The path of a constraint, or of a field of it."""
        entry = f"{self.list_path}[{index}]"
        return f"{entry}.{name}" if name else entry

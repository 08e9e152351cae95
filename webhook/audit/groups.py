"""
Groups of similar pods, by the workload that owns them.

A pod belongs to the outermost of its known controllers, such as the Deployment of its ReplicaSet,
which the name of the ReplicaSet shows if that is not known. A Rollout that refers to the template
of a known workload is such a controller too. A pod may control a workload, and belongs to the
controller of that pod itself then: the leader of a LeaderWorkerSet controls its workers.
Memory grows with the number of groups, of their nodes and of pods that control workloads, not with
the number of pods.

Source: sigs.k8s.io/lws pkg/controllers/pod_controller.go ``setControllerReferenceWithStatefulSet``.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from webhook.audit.references import TemplateReference
from webhook.audit.snapshot import SnapshotWorkload
from webhook.audit.snapshotpods import SnapshotPod
from webhook.policy.advice.runningpods import RunningPods
from webhook.policy.advice.subject import Subject
from webhook.policy.kinds import DEFAULT_NAMESPACE, POD
from webhook.policy.model import GroupKind, ObjectMeta, OwnerReference, PodSpec, group_of
from webhook.policy.podlabels import find_owner_by_labels

LONGEST_CHAIN = 8  # controllers above each other; real chains have one to three


class ObjectKey(NamedTuple):
    """The identity of an object in a cluster."""

    namespace: str
    kind: GroupKind
    name: str


class PodGroups:
    """
    Pods in groups.

    Attributes:
        known: Workloads that may own pods; a bare list of constraints is none.
        templates: Object that refers to a template -> the known workload with the template.
        found: Owner -> its groups, by the JSON of what their pods have in common.
        versions: API version of controllers that are not among the known workloads.
    """

    def __init__(
        self,
        workloads: Iterable[SnapshotWorkload],
        references: Iterable[TemplateReference] = (),
    ) -> None:
        """Start without pods."""
        self.known = {
            key_of(workload.subject): workload
            for workload in workloads
            if not workload.subject.is_bare
        }
        self.templates = {
            key: template
            for key, template in map_references(references).items()
            if template in self.known
        }
        self.found: dict[ObjectKey, dict[bytes, RunningPods]] = {}
        self.versions: dict[ObjectKey, str] = {}
        self._roots: dict[tuple[str, OwnerReference], ObjectKey] = {}
        self._leaders = {
            owner
            for key, workload in self.known.items()
            if (owner := controller_of(key.namespace, workload.subject.metadata)) is not None
            and owner.kind == POD
        }
        self._above_leaders: dict[ObjectKey, OwnerReference] = {}

    def add(self, pods: Collection[SnapshotPod]) -> None:
        """
        Add the pods of a cluster to their groups, not manifests of pods; O(pods).

        A pod that controls a workload is added before, or with, the pods of that.
        """
        if self._leaders:
            self._above_leaders.update(self._find_controllers(pods))
        for pod in pods:
            if pod.is_gone or not pod.is_created:
                continue
            metadata = pod.metadata or _NO_METADATA
            spec = pod.spec or _NO_SPEC
            owner = self._find_root(metadata.namespace or DEFAULT_NAMESPACE, metadata)
            groups = self.found.setdefault(owner, {})
            awaits = not spec.node_name and pod.status is not None and pod.status.awaits_spread
            shared = _encode(
                (metadata.labels, spec.topology_spread_constraints, metadata.annotations, awaits)
            )
            group = groups.get(shared)
            if group is None:
                group = groups[shared] = RunningPods(pod, {}, awaits_spread=awaits)
            nodes = group.nodes
            assert isinstance(nodes, dict), "this method creates it"
            nodes[spec.node_name] = nodes.get(spec.node_name, 0) + 1

    def _find_controllers(
        self, pods: Iterable[SnapshotPod]
    ) -> Iterator[tuple[ObjectKey, OwnerReference]]:
        """Find the controllers of the pods that control known workloads."""
        for metadata in filter(None, (pod.metadata for pod in pods)):
            key = ObjectKey(metadata.namespace or DEFAULT_NAMESPACE, POD, metadata.name)
            if key in self._leaders and metadata.controller is not None:
                yield key, metadata.controller

    def is_within(self, subject: Subject) -> bool:
        """Whether a known workload controls a subject."""
        return subject.controlled and self._is_known(
            self._find_root(subject.namespace, subject.metadata)
        )

    def _is_known(self, key: ObjectKey) -> bool:
        return key in self.known or key in self.templates

    def _find_root(self, namespace: str, metadata: ObjectMeta) -> ObjectKey:
        """Return the outermost known controller, else the innermost one, else the pod itself."""
        controller = metadata.controller
        if controller is None:
            return ObjectKey(namespace, POD, metadata.name)
        controller = self._pass_leader(namespace, controller)
        root = self._roots.get((namespace, controller))
        if root is None:
            owner = self._name_owner(namespace, controller, metadata.labels)
            root = self._roots[namespace, controller] = self._follow_controllers(namespace, owner)
        return root

    def _pass_leader(self, namespace: str, controller: OwnerReference) -> OwnerReference:
        """Return the controller of a pod that is a controller, if known, else the argument."""
        if controller.kind != POD.kind:
            return controller
        return self._above_leaders.get(_key_of_owner(namespace, controller), controller)

    def _name_owner(
        self, namespace: str, controller: OwnerReference, labels: Mapping[str, str]
    ) -> OwnerReference:
        """
        Return the known workload of a controller that is not known, else the controller.

        Args:
            labels: Those of the object that it controls.
        """
        own = _key_of_owner(namespace, controller)
        found = None if self._is_known(own) else find_owner_by_labels(own.kind, own.name, labels)
        if found is None:
            return controller
        kind, name = found
        owner = replace(controller, api_version=f"{kind.group}/v1", kind=kind.kind, name=name)
        return owner if self._is_known(_key_of_owner(namespace, owner)) else controller

    def _follow_controllers(self, namespace: str, controller: OwnerReference) -> ObjectKey:
        first = reached = _key_of_owner(namespace, controller)
        self.versions.setdefault(first, controller.api_version)
        for _ in range(LONGEST_CHAIN):
            workload = self.known.get(reached)
            metadata = workload.subject.metadata if workload else _NO_METADATA
            if metadata.controller is None:
                return reached
            above = self._pass_leader(namespace, metadata.controller)
            key = _key_of_owner(namespace, self._name_owner(namespace, above, metadata.labels))
            if not self._is_known(key):
                return reached
            reached = key
        return first


_NO_METADATA = ObjectMeta()
_NO_SPEC = PodSpec()
_encode = msgspec.json.Encoder().encode


def controller_of(namespace: str, metadata: ObjectMeta) -> ObjectKey | None:
    """Return the key of the controller of an object, as written there; None if it has none."""
    owner = metadata.controller
    return None if owner is None else _key_of_owner(namespace, owner)


def _key_of_owner(namespace: str, owner: OwnerReference) -> ObjectKey:
    return ObjectKey(namespace, GroupKind(group_of(owner.api_version), owner.kind), owner.name)


def template_of(reference: TemplateReference) -> ObjectKey:
    """Return the key of the object whose template a reference names."""
    namespace = reference.namespace or DEFAULT_NAMESPACE
    return ObjectKey(namespace, reference.target, reference.template)


def map_references(references: Iterable[TemplateReference]) -> dict[ObjectKey, ObjectKey]:
    """Map each object that refers to a template to the object that has the template."""
    return {key_of_reference(one): template_of(one) for one in references}


def key_of_reference(reference: TemplateReference) -> ObjectKey:
    """Return the key of the object that refers to a template."""
    return ObjectKey(reference.namespace or DEFAULT_NAMESPACE, reference.kind, reference.name)


def key_of(subject: Subject) -> ObjectKey:
    """Return the key of a subject."""
    return ObjectKey(subject.namespace or DEFAULT_NAMESPACE, subject.kind, subject.metadata.name)

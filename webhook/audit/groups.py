"""
Groups of similar pods, by the workload that owns them.

A pod belongs to the outermost of its known controllers, such as the Deployment of its ReplicaSet.
Memory grows with the number of groups and of their nodes, not with the number of pods.
"""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from webhook.audit.snapshot import SnapshotPod, SnapshotWorkload
from webhook.cluster.manifests import DEFAULT_NAMESPACE
from webhook.policy.advice.subject import RunningPods, Subject
from webhook.policy.kinds import POD
from webhook.policy.model import GroupKind, ObjectMeta, OwnerReference, PodSpec, group_of

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
        known: Workloads that may own pods.
        found: Owner -> its groups, by the JSON of what their pods have in common.
        versions: API version of controllers that are not among the known workloads.
    """

    def __init__(self, workloads: Iterable[SnapshotWorkload]) -> None:
        """Start without pods."""
        self.known = {key_of(workload.subject): workload for workload in workloads}
        self.found: dict[ObjectKey, dict[bytes, RunningPods]] = {}
        self.versions: dict[ObjectKey, str] = {}
        self._roots: dict[tuple[str, OwnerReference], ObjectKey] = {}

    def add(self, pods: Iterable[SnapshotPod]) -> None:
        """Add pods to their groups; O(pods)."""
        for pod in pods:
            if pod.is_gone:
                continue
            metadata = pod.metadata or _NO_METADATA
            spec = pod.spec or _NO_SPEC
            owner = self._find_root(metadata.namespace or DEFAULT_NAMESPACE, metadata)
            groups = self.found.setdefault(owner, {})
            shared = _encode(
                (metadata.labels, spec.topology_spread_constraints, metadata.annotations)
            )
            group = groups.get(shared)
            if group is None:
                group = groups[shared] = RunningPods(pod, {})
            nodes = group.nodes
            assert isinstance(nodes, dict), "this method creates it"
            nodes[spec.node_name] = nodes.get(spec.node_name, 0) + 1

    def is_within(self, subject: Subject) -> bool:
        """Whether a known workload controls a subject."""
        return subject.controlled and (
            self._find_root(subject.namespace, subject.metadata) in self.known
        )

    def _find_root(self, namespace: str, metadata: ObjectMeta) -> ObjectKey:
        """Return the outermost known controller, else the innermost one, else the pod itself."""
        controller = metadata.controller
        if controller is None:
            return ObjectKey(namespace, POD, metadata.name)
        root = self._roots.get((namespace, controller))
        if root is None:
            root = self._roots[namespace, controller] = self._follow_controllers(
                namespace, controller
            )
        return root

    def _follow_controllers(self, namespace: str, controller: OwnerReference) -> ObjectKey:
        first = reached = _key_of_owner(namespace, controller)
        self.versions.setdefault(first, controller.api_version)
        for _ in range(LONGEST_CHAIN):
            workload = self.known.get(reached)
            above = workload.subject.metadata.controller if workload else None
            if above is None or (key := _key_of_owner(namespace, above)) not in self.known:
                return reached
            reached = key
        return first


_NO_METADATA = ObjectMeta()
_NO_SPEC = PodSpec()
_encode = msgspec.json.Encoder().encode


def _key_of_owner(namespace: str, owner: OwnerReference) -> ObjectKey:
    return ObjectKey(namespace, GroupKind(group_of(owner.api_version), owner.kind), owner.name)


def key_of(subject: Subject) -> ObjectKey:
    """Return the key of a subject."""
    return ObjectKey(subject.namespace or DEFAULT_NAMESPACE, subject.kind, subject.metadata.name)

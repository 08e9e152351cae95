"""
Pods that are alike, by the workload that they belong to.

A pod belongs to the outermost of its controllers that is known: to the Deployment of its
ReplicaSet. What is kept grows with the groups and the nodes that they are on, not with the pods.
"""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from webhook.audit.snapshot import SnapshotPod, SnapshotWorkload
from webhook.cluster.manifests import DEFAULT_NAMESPACE
from webhook.policy.advice.subject import RunningPods, Subject
from webhook.policy.kinds import POD
from webhook.policy.model import GroupKind, ObjectMeta, OwnerReference, PodSpec, group_of

LONGEST_CHAIN = 8  # controllers of controllers that are followed; real chains have one to three


class ObjectKey(NamedTuple):
    """What names an object of a cluster."""

    namespace: str
    kind: GroupKind
    name: str


class PodGroups:
    """
    Pods in groups.

    Attributes:
        known: The workloads that they may belong to.
        found: What pods belong to -> its groups, each under what its pods have in common.
        versions: API version of controllers that are not known themselves.
    """

    def __init__(self, workloads: Iterable[SnapshotWorkload]) -> None:
        """
        Start without a pod.

        Args:
            workloads: What pods may belong to.
        """
        self.known = {key_of(each.subject): each for each in workloads}
        self.found: dict[ObjectKey, dict[bytes, RunningPods]] = {}
        self.versions: dict[ObjectKey, str] = {}
        self._roots: dict[tuple[str, OwnerReference], ObjectKey] = {}

    def add(self, pods: Iterable[SnapshotPod]) -> None:
        """Sort pods into groups; O(pods)."""
        for pod in pods:
            if pod.is_gone:
                continue
            metadata = pod.metadata or _NO_META
            spec = pod.spec or _NO_SPEC
            owner = self._root(metadata.namespace or DEFAULT_NAMESPACE, metadata)
            groups = self.found.setdefault(owner, {})
            like = _encode(
                (metadata.labels, spec.topology_spread_constraints, metadata.annotations)
            )
            group = groups.get(like)
            if group is None:
                group = groups[like] = RunningPods(pod, {})
            nodes = group.nodes
            assert isinstance(nodes, dict), "made above"
            nodes[spec.node_name] = nodes.get(spec.node_name, 0) + 1

    def is_within(self, subject: Subject) -> bool:
        """Whether a subject is made by another one that is known."""
        return subject.controlled and (
            self._root(subject.namespace, subject.metadata) in self.known
        )

    def _root(self, namespace: str, metadata: ObjectMeta) -> ObjectKey:
        """The outermost controller that is known; else the innermost; without any, the pod."""
        controller = metadata.controller
        if controller is None:
            return ObjectKey(namespace, POD, metadata.name)
        root = self._roots.get((namespace, controller))
        if root is None:
            root = self._roots[namespace, controller] = self._climb(namespace, controller)
        return root

    def _climb(self, namespace: str, controller: OwnerReference) -> ObjectKey:
        first = reached = _named(namespace, controller)
        self.versions.setdefault(first, controller.api_version)
        for _ in range(LONGEST_CHAIN):
            workload = self.known.get(reached)
            above = workload.subject.metadata.controller if workload else None
            if above is None or (key := _named(namespace, above)) not in self.known:
                return reached
            reached = key
        return first


_NO_META = ObjectMeta()
_NO_SPEC = PodSpec()
_encode = msgspec.json.Encoder().encode


def _named(namespace: str, owner: OwnerReference) -> ObjectKey:
    return ObjectKey(namespace, GroupKind(group_of(owner.api_version), owner.kind), owner.name)


def key_of(subject: Subject) -> ObjectKey:
    """Name a subject."""
    return ObjectKey(subject.namespace or DEFAULT_NAMESPACE, subject.kind, subject.metadata.name)

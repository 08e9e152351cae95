"""
Index of the running pods of a cluster by namespace, labels and node.

``Census.count`` is the entry point. Pods with the same labels form one group, so a query costs as
much as there are groups that could match and nodes that they are on, however many pods there are.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

import msgspec

from webhook.policy.model import Labels, LabelSelector, OwnerReference, replace_null_labels
from webhook.policy.placement.nodeaffinity import Affinity
from webhook.policy.placement.sharedvalues import SharedValues
from webhook.policy.selectors import IN, matches

FINISHED = frozenset({"Succeeded", "Failed"})  # phases of pods that kube-scheduler does not watch

_Pair = tuple[str, str]  # a label: its key and its value


class ObservedMeta(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The fields of a pod's metadata that are read; None is the same as absent."""

    name: str | None = None
    namespace: str | None = None
    labels: Labels | None = None
    deletion_timestamp: str | None = None
    uid: str | None = None
    creation_timestamp: str | None = None
    annotations: Labels | None = None
    owner_references: tuple[OwnerReference, ...] | None = None

    def __post_init__(self) -> None:
        """Turn null values of labels and annotations into empty ones."""
        for pairs in (self.labels, self.annotations):
            if pairs:
                replace_null_labels(pairs)


class ObservedInitContainer(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """An init container; it is a sidecar if its ``restart_policy`` is Always."""

    name: str | None = None
    restart_policy: str | None = None


class ObservedSpec(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The fields of a pod's specification that are read; no node name until the pod is bound."""

    node_name: str | None = None
    init_containers: tuple[ObservedInitContainer, ...] | None = None
    affinity: Affinity | None = None


class ObservedStatus(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The field of a pod's status that counting needs."""

    phase: str | None = None


class PodCondition(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A condition of a pod, such as Ready."""

    type: str | None = None
    status: str | None = None
    last_transition_time: str | None = None


class ContainerStatus(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The status of a container."""

    name: str | None = None
    restart_count: int | None = None


class ObservedPodStatus(ObservedStatus, frozen=True, rename="camel", gc=False):
    """The fields of a pod's status that counting and the order of removal need."""

    conditions: tuple[PodCondition, ...] | None = None
    container_statuses: tuple[ContainerStatus, ...] | None = None
    init_container_statuses: tuple[ContainerStatus, ...] | None = None


class ObservedPod(msgspec.Struct, frozen=True, rename="camel"):
    """A pod of the cluster: where it counts, and when its controller removes it."""

    metadata: ObservedMeta = ObservedMeta()
    spec: ObservedSpec = ObservedSpec()
    status: ObservedPodStatus | None = None

    @property
    def is_active(self) -> bool:
        """
        Whether the pod is neither finished nor being deleted.

        Source: pkg/controller/controller_utils.go ``IsPodActive``.
        """
        phase = self.status.phase if self.status else None
        return self.metadata.deletion_timestamp is None and phase not in FINISHED

    @property
    def is_ending(self) -> bool:
        """Whether the pod is being deleted, and has not ended."""
        phase = self.status.phase if self.status else None
        return self.metadata.deletion_timestamp is not None and phase not in FINISHED

    @property
    def controller(self) -> OwnerReference | None:
        """The managing controller."""
        owners = self.metadata.owner_references or ()
        return next((owner for owner in owners if owner.controller), None)

    @property
    def counts(self) -> bool:
        """
        Whether the scheduler counts the pod: bound to a node, not terminating, not finished.

        Source: kube-scheduler plugins/podtopologyspread/common.go ``countPodsMatchSelector``.
        """
        return bool(self.spec.node_name) and self.is_active


@dataclass(frozen=True)
class _Group:
    """Pods of one namespace with the same labels; ``nodes``: node name -> pods, at least 1."""

    pairs: frozenset[_Pair]
    labels: Mapping[str, str]
    nodes: dict[str, int]


class _Namespace(msgspec.Struct):
    """The groups of a namespace, indexed by their label set and by every single label."""

    groups: dict[frozenset[_Pair], _Group] = {}
    having: dict[_Pair, list[_Group]] = {}

    def group(self, labels: Mapping[str, str]) -> _Group:
        pairs = frozenset(labels.items())
        group = self.groups.get(pairs)
        if group is None:
            group = self.groups[pairs] = _Group(pairs, labels, {})
            for pair in pairs:
                self.having.setdefault(pair, []).append(group)
        return group

    def select(self, selector: LabelSelector) -> Iterator[_Group]:
        # Look only at the groups with the rarest of the labels that the selector requires. Without
        # such a label every group of the namespace has to be matched.
        pairs, rest = _split_selector(selector)
        rarest = min((self.having.get(pair, []) for pair in pairs), key=len, default=None)
        for group in self.groups.values() if rarest is None else rarest:
            if pairs <= group.pairs and (not rest.match_expressions or matches(rest, group.labels)):
                yield group

    def copy(self) -> "_Namespace":
        twin = _Namespace()
        twin.update(self)
        return twin

    def update(self, other: "_Namespace") -> None:
        for group in other.groups.values():
            self.group(group.labels).nodes.update(group.nodes)


def _split_selector(selector: LabelSelector) -> tuple[frozenset[_Pair], LabelSelector]:
    """Split a selector into the labels it requires by their value, and the rest of it."""
    single = {
        requirement: (requirement.key, requirement.values[0])
        for requirement in selector.match_expressions
        if requirement.operator == IN and len(requirement.values) == 1
    }
    rest = tuple(expr for expr in selector.match_expressions if expr not in single)
    return (
        frozenset((*selector.match_labels.items(), *single.values())),
        LabelSelector(match_expressions=rest),
    )


class Census:
    """
    The pods of a cluster that count, and where they run.

    ``add``, ``add_alike`` and ``remove`` are the only changes. To try a placement, change a
    ``copy``.
    """

    def __init__(self, pods: Iterable[ObservedPod] = ()) -> None:
        self._namespaces = SharedValues[str, _Namespace](_Namespace, _Namespace.copy)
        for pod in pods:
            if pod.counts:
                metadata = pod.metadata
                self.add(metadata.namespace or "", metadata.labels or {}, pod.spec.node_name or "")

    def add(self, namespace: str, labels: Mapping[str, str], node: str, pods: int = 1) -> None:
        """
        Add pods on one node; O(labels). With 0 pods, the labels are known there.

        The labels are kept by reference, so they must not change.
        """
        self.add_alike(namespace, labels, {node: pods})

    def add_alike(
        self, namespace: str, labels: Mapping[str, str], nodes: Mapping[str, int]
    ) -> None:
        """
        Add pods with the same labels on several nodes; O(labels + nodes).

        Args:
            nodes: Node name -> how many run there, at least 1.
        """
        counted = self._namespaces.change(namespace).group(labels).nodes
        for node, pods in nodes.items():
            counted[node] = counted.get(node, 0) + pods

    def remove(self, namespace: str, labels: Mapping[str, str], node: str) -> None:
        """Remove one pod, which was added with these labels, from a node; O(labels)."""
        nodes = self._namespaces.change(namespace).group(labels).nodes
        nodes[node] -= 1
        if not nodes[node]:
            del nodes[node]

    def count(self, namespace: str, selector: LabelSelector | None) -> dict[str, int]:
        """
        Count the pods of a namespace that a selector selects, by node.

        Takes O(g + n) for g groups with the rarest label that the selector requires by ``key =
        value`` (all groups of the namespace if it requires none), which are on n nodes.

        Args:
            selector: None selects no pod, and, as in the scheduler, neither does an empty one.

        Returns:
            Node name -> pods, at least 1, in a new dict. The nodes need not exist.

        Source: kube-scheduler plugins/podtopologyspread/common.go ``countPodsMatchSelector``.
        """
        groups = self._namespaces.known.get(namespace)
        total: dict[str, int] = {}
        # kube-scheduler skips empty selectors here although they match every pod elsewhere, also
        # the incoming pod itself.
        if groups is None or selector is None or selector == LabelSelector():
            return total
        for group in groups.select(selector):
            for node, pods in group.nodes.items():
                total[node] = total.get(node, 0) + pods
        return total

    @property
    def namespaces(self) -> Collection[str]:
        """Names of the namespaces that have, or had, pods."""
        return self._namespaces.known.keys()

    def select(
        self, namespace: str, selector: LabelSelector | None
    ) -> Iterator[tuple[Mapping[str, str], Mapping[str, int]]]:
        """
        Yield the different labels of the pods that a selector selects, with their nodes.

        Args:
            selector: None selects no pod, an empty one all pods.

        Returns:
            Labels, and node name -> pods, at least 1. Neither may be changed.
        """
        groups = self._namespaces.known.get(namespace)
        if groups is not None and selector is not None:
            yield from ((group.labels, group.nodes) for group in groups.select(selector))

    def leave_out(
        self, namespace: str, pods: Iterable[tuple[Mapping[str, str], Mapping[str, int]]]
    ) -> "Census":
        """
        Return the census of one namespace without some of its pods; O(groups of the namespace).

        Args:
            pods: Labels and, by node name, the number of pods that have them.
        """
        twin = Census()
        kept = twin._namespaces.change(namespace)
        kept.update(self._namespaces.known.get(namespace, _Namespace()))
        for labels, nodes in pods:
            counted = kept.group(labels).nodes
            for node, number in nodes.items():
                rest = counted.pop(node, 0) - number
                if rest > 0:
                    counted[node] = rest
        return twin

    def copy(self) -> "Census":
        """Copy the census, to change either; O(namespaces), and later their groups, if changed."""
        twin = Census()
        twin._namespaces = self._namespaces.copy()
        return twin

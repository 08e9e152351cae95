"""
How many pods run where: the pods of a cluster, counted by namespace, labels and node.

Pods with the same labels are one group, so a question costs as much as there are groups that
could match and nodes that they are on, not as much as there are pods.
"""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from webhook.policy.model import LabelSelector
from webhook.policy.selectors import IN, matches

FINISHED = frozenset({"Succeeded", "Failed"})  # phases of pods that kube-scheduler does not watch

_Pair = tuple[str, str]  # a label: its key and its value


class ObservedMeta(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """What counting needs of a pod's metadata; None is the same as absent."""

    name: str | None = None
    namespace: str | None = None
    labels: dict[str, str] | None = None
    deletion_timestamp: str | None = None


class ObservedSpec(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """What counting needs of a pod's specification; no node name before it is bound."""

    node_name: str | None = None


class ObservedStatus(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """What counting needs of a pod's status."""

    phase: str | None = None


class ObservedPod(msgspec.Struct, frozen=True, rename="camel"):
    """A pod as the cluster shows it, reduced to what counting needs."""

    metadata: ObservedMeta = ObservedMeta()
    spec: ObservedSpec = ObservedSpec()
    status: ObservedStatus | None = None

    @property
    def counts(self) -> bool:
        """
        Whether the scheduler counts it: bound to a node, not terminating, not finished.

        Source: kube-scheduler plugins/podtopologyspread/common.go ``countPodsMatchSelector``.
        """
        if not self.spec.node_name or self.metadata.deletion_timestamp is not None:
            return False
        return self.status is None or self.status.phase not in FINISHED


class _Group:
    """Pods of one namespace with the same labels; ``nodes``: node name -> pods, at least 1."""

    __slots__ = ("labels", "nodes", "pairs")

    def __init__(self, pairs: frozenset[_Pair], labels: Mapping[str, str]) -> None:
        self.pairs = pairs
        self.labels = labels
        self.nodes: dict[str, int] = {}


class _Namespace:
    """The groups of a namespace, by all their labels and by each single one."""

    __slots__ = ("groups", "having")

    def __init__(self) -> None:
        self.groups: dict[frozenset[_Pair], _Group] = {}
        self.having: dict[_Pair, list[_Group]] = {}

    def group(self, labels: Mapping[str, str]) -> _Group:
        pairs = frozenset(labels.items())
        found = self.groups.get(pairs)
        if found is None:
            found = self.groups[pairs] = _Group(pairs, labels)
            for pair in pairs:
                self.having.setdefault(pair, []).append(found)
        return found

    def selected(self, selector: LabelSelector) -> Iterator[_Group]:
        pairs, rest = _split(selector)
        rarest = min((self.having.get(pair, []) for pair in pairs), key=len, default=None)
        for group in self.groups.values() if rarest is None else rarest:
            if pairs <= group.pairs and (not rest.match_expressions or matches(rest, group.labels)):
                yield group


def _split(selector: LabelSelector) -> tuple[frozenset[_Pair], LabelSelector]:
    """The labels that a selector asks for by their value, and what else it asks for."""
    single = {
        requirement: (requirement.key, requirement.values[0])
        for requirement in selector.match_expressions
        if requirement.operator == IN and len(requirement.values) == 1
    }
    rest = tuple(each for each in selector.match_expressions if each not in single)
    return (
        frozenset((*selector.match_labels.items(), *single.values())),
        LabelSelector(match_expressions=rest),
    )


class Census:
    """
    The pods of a cluster that count, and where they run.

    It grows by ``add`` and ``add_alike``, as pods are seen or, on a ``copy``, as pods are placed to
    see what would be; it never changes otherwise.
    """

    def __init__(self, pods: Iterable[ObservedPod] = ()) -> None:
        """Count the pods that count; O(pods)."""
        self._namespaces: dict[str, _Namespace] = {}
        for pod in pods:
            if pod.counts:
                metadata = pod.metadata
                self.add(metadata.namespace or "", metadata.labels or {}, pod.spec.node_name or "")

    def add(self, namespace: str, labels: Mapping[str, str], node: str, pods: int = 1) -> None:
        """
        Count pods that run on a node; O(labels).

        Args:
            labels: Of each of the pods; kept, so they must not change.
            pods: How many; at least 1.
        """
        self.add_alike(namespace, labels, {node: pods})

    def add_alike(
        self, namespace: str, labels: Mapping[str, str], nodes: Mapping[str, int]
    ) -> None:
        """
        Count pods with the same labels, wherever they run; O(labels + nodes).

        Args:
            labels: Of each of the pods; kept, so they must not change.
            nodes: Node name -> how many run there, at least 1.
        """
        counted = self._of(namespace).group(labels).nodes
        for node, pods in nodes.items():
            counted[node] = counted.get(node, 0) + pods

    def count(self, namespace: str, selector: LabelSelector | None) -> dict[str, int]:
        """
        How many pods of a namespace a selector selects on each node.

        Takes O(c + n) for c groups with the rarest label that the selector asks for by ``key =
        value`` (all groups of the namespace if it asks for none), which are on n nodes.

        Args:
            selector: None and, as in the scheduler, an empty one select no pod.

        Returns:
            Node name -> pods, at least 1; owned by the caller. Nodes need not exist.

        Source: kube-scheduler plugins/podtopologyspread/common.go ``countPodsMatchSelector``.
        """
        found = self._namespaces.get(namespace)
        total: dict[str, int] = {}
        if found is None or selector is None or selector == LabelSelector():
            return total
        for group in found.selected(selector):
            for node, pods in group.nodes.items():
                total[node] = total.get(node, 0) + pods
        return total

    def copy(self) -> "Census":
        """Make one that can grow on its own; O(groups and the nodes they are on)."""
        twin = Census()
        for name, namespace in self._namespaces.items():
            for group in namespace.groups.values():
                twin._of(name).group(group.labels).nodes.update(group.nodes)
        return twin

    def _of(self, namespace: str) -> _Namespace:
        found = self._namespaces.get(namespace)
        if found is None:
            found = self._namespaces[namespace] = _Namespace()
        return found

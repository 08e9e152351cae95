"""
One namespace of a cluster, read once and indexed, for commands about many of its workloads.

``NamespaceCluster.narrow`` is the entry point: a view of the cluster for one workload, without most
of the pods and revisions of others. With n workloads, reading all of them then takes O(n), and not
O(n**2).
"""

from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property

from webhook.cli.inputs.cluster import ClusterReader
from webhook.cli.inputs.manifestcluster import Json, Model
from webhook.cli.inputs.subjects import ExplainSubject, controller_of, selector_of
from webhook.cluster.facts import Cluster
from webhook.policy.kinds import CONTROLLER_REVISION, REPLICA_SET
from webhook.policy.model import GroupKind
from webhook.policy.placement.census import ObservedPod

_INDEXED = frozenset({REPLICA_SET, CONTROLLER_REVISION})
"""Kinds of which a workload only reads its own; Jobs of others decide whose a pod is."""

_Owner = tuple[str, str]
"""The kind and the name of a controller."""

_NO_OWNER: _Owner = ("", "")


class NamespaceCluster:
    """
    The objects of a namespace; those of others are read from the whole cluster.

    Attributes:
        namespace: Its name.
    """

    def __init__(self, whole: ClusterReader, namespace: str) -> None:
        """Store the cluster, which is read on demand."""
        self.namespace = namespace
        self._whole = whole
        self._objects: dict[GroupKind, list[Json]] = {}
        self._owned: dict[GroupKind, dict[_Owner, list[Json]]] = {}

    def narrow(self, subject: ExplainSubject) -> "WorkloadCluster":
        """Return the view for a workload of the namespace."""
        return WorkloadCluster(self, self._whole, subject)

    @cached_property
    def pods(self) -> list[ObservedPod]:
        """All pods."""
        return self._whole.pods(self.namespace)

    def list_objects_of(self, kind: GroupKind) -> list[Json]:
        """List all objects of a kind."""
        if kind not in self._objects:
            self._objects[kind] = self._whole.list_objects_of(kind, self.namespace)
        return self._objects[kind]

    def list_owned(self, kind: GroupKind, owner: _Owner) -> list[Json]:
        """List the objects of a kind that a controller owns, and those that none owns."""
        if kind not in self._owned:
            index = defaultdict[_Owner, list[Json]](list)
            for value in self.list_objects_of(kind):
                found = controller_of(value)
                index[(found.kind, found.name) if found else _NO_OWNER].append(value)
            self._owned[kind] = index
        known = self._owned[kind]
        return [*known.get(owner, ()), *known.get(_NO_OWNER, ())]

    @cached_property
    def _by_label(self) -> dict[tuple[str, str], list[ObservedPod]]:
        index: dict[tuple[str, str], list[ObservedPod]] = defaultdict(list)
        for pod in self.pods:
            for pair in (pod.metadata.labels or {}).items():
                index[pair].append(pod)
        return index

    def list_pods_with(self, pairs: Iterable[tuple[str, str]]) -> list[ObservedPod]:
        """List the pods with the rarest of some labels, in their order; all without labels."""
        found = [self._by_label.get(pair, []) for pair in pairs]
        return min(found, key=len) if found else self.pods


class WorkloadCluster:
    """A cluster as a workload reads it."""

    def __init__(
        self, namespace: NamespaceCluster, whole: ClusterReader, subject: ExplainSubject
    ) -> None:
        """Store the workload and its namespace."""
        self._inside, self._whole, self._subject = namespace, whole, subject

    @property
    def is_complete(self) -> bool:
        """As of the whole cluster."""
        return self._whole.is_complete

    def facts(self, namespace: str) -> Cluster:
        """The facts of a namespace."""
        return self._whole.facts(namespace)

    def pods(self, namespace: str) -> list[ObservedPod]:
        """The pods of a namespace; in that of the workload those that may be its own."""
        if namespace != self._inside.namespace:
            return self._whole.pods(namespace)
        selector = selector_of(self._subject)
        return self._inside.list_pods_with(selector.match_labels.items() if selector else ())

    def decode_objects(
        self, kind: GroupKind, model: type[Model], namespace: str = ""
    ) -> list[Model] | None:
        """Decode the objects of a kind; None if the user may not list them."""
        return self._whole.decode_objects(kind, model, namespace)

    def find(self, kind: GroupKind, namespace: str, name: str) -> Json | None:
        """Find an object; None if it does not exist."""
        return self._whole.find(kind, namespace, name)

    def find_replaced(self, kind: GroupKind, namespace: str, name: str) -> Json | None:
        """Find the object that a manifest replaces; None if there is none."""
        return self._whole.find_replaced(kind, namespace, name)

    def list_objects_of(self, kind: GroupKind, namespace: str) -> list[Json]:
        """List the objects of a kind; in the namespace of the workload those that it may own."""
        if namespace != self._inside.namespace:
            return self._whole.list_objects_of(kind, namespace)
        if kind not in _INDEXED:
            return self._inside.list_objects_of(kind)
        subject = self._subject
        return self._inside.list_owned(kind, (subject.kind.kind, subject.name))

    def namespaces(self) -> set[str]:
        """The namespaces that exist; empty if the user may not list them."""
        return self._whole.namespaces()

    def namespaces_of(self, kind: GroupKind, name: str) -> list[str]:
        """The namespaces in which manifests have an object of this name."""
        return self._whole.namespaces_of(kind, name)

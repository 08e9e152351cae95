"""
What kube-scheduler's filters look at, read from a cluster: ``SchedulingReader``.

Namespaces and storage are read only for a pod that they matter to. What the user may not list, and
what files do not show, is left out and named; it is never an error.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace as replace_fields
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from msgspec.structs import replace

from webhook.cli.inputs.cluster import ClusterReader
from webhook.cli.inputs.podadmission import PodAdmission
from webhook.cli.inputs.storagescope import NO_CLAIMS, PodClaims, StorageReader, StorageScope
from webhook.cluster.scheduling.defaults import fill_in_defaults
from webhook.cluster.scheduling.nominees import (
    PriorityClassObject,
    find_priority,
    is_nominated,
    read_nominees,
)
from webhook.cluster.scheduling.podobjects import ApiPod, UniqueMeta
from webhook.cluster.scheduling.pods import read_pod
from webhook.cluster.scheduling.snapshot import ApiNode, map_allocatable, read_placed
from webhook.cluster.wire import NamespaceObject
from webhook.policy.advice.findings import join_names
from webhook.policy.api.versions import Version
from webhook.policy.kinds import NAMESPACE_KIND, NODE, POD, PRIORITY_CLASS
from webhook.policy.model import LabelSelector
from webhook.policy.placement.filters.cluster import SchedulingCluster, group_daemons
from webhook.policy.placement.filters.filterpods import FilterPod
from webhook.policy.placement.filters.namespaces import complete_namespaces, find_unlabelled
from webhook.policy.placement.filters.placedpods import PlacedPods
from webhook.policy.placement.filters.resources import Resources
from webhook.policy.placement.topology import Topology

OTHER_PODS = "pods of other namespaces, which may not be listed"
NOMINATED = "pods that are nominated for a node: the PriorityClass of this pod is not known"
NODE_RESOURCES = "resources of nodes without status.allocatable"
NAMESPACE_LABELS = "namespaceSelector: labels of Namespaces that could not be read"

PodName = tuple[str, str]
"""The namespace and the name of a pod."""


class SchedulingScope(NamedTuple):
    """
    A pod to place, and all that filters look at.

    Attributes:
        cluster: With the other pods that have a node.
        present: The same with the pod itself, if it has a node.
        unread: What is not known and may matter to the pod.
        class_labels: As in ``Scenario``.
    """

    pod: FilterPod
    cluster: SchedulingCluster
    present: SchedulingCluster
    unread: tuple[str, ...]
    class_labels: frozenset[tuple[str, str]]


class _RunningPods(NamedTuple):
    """
    The pods that have a node.

    Attributes:
        daemons: As in ``SchedulingCluster``.
        are_all: Whether none are missing, such as those of other namespaces.
        nominated: The pods without a node for which preemption has made room on one.
        mounted: Namespaces and names of the claims that the pods mount.
    """

    by_name: Mapping[PodName, FilterPod]
    placed: PlacedPods
    daemons: Mapping[str, Sequence[FilterPod]]
    are_all: bool
    nominated: tuple[ApiPod, ...]
    mounted: frozenset[tuple[str, str]]


class _NamespaceLabels(NamedTuple):
    """
    The labels of Namespaces by their names, and those whose labels matter and are not known.

    Attributes:
        unknown: Sorted.
    """

    by_name: Mapping[str, Mapping[str, str]]
    unknown: list[str]


class SchedulingReader:
    """Reads what filters look at; each kind of objects once."""

    def __init__(self, cluster: ClusterReader, version: Version) -> None:
        """
        Store the cluster; ``read`` reads it.

        Args:
            version: Of the scheduler.
        """
        self._cluster = cluster
        self._version = version
        self._storage = StorageReader(cluster)
        self._admission = PodAdmission(cluster)
        self._pods: dict[str, _RunningPods] = {}

    def read(
        self,
        pod: ApiPod,
        namespace: str,
        topology: Topology,
        claims: PodClaims = NO_CLAIMS,
        replicas: Collection[str] = (),
    ) -> SchedulingScope:
        """
        Read the scope of a pod, or of the next pod of a workload.

        Args:
            pod: Its node, if it has one, is ignored.
            namespace: Of the workload; the pod's own takes precedence.
            topology: The nodes.
            claims: Those that the controller of the pod gives to it.
            replicas: Names of the pods of the workload, which keep no room from the next one.
        """
        found = self.read_pod(pod, namespace, claims)
        incoming = found.pod
        running = self._read_running(incoming.namespace)
        own = {(incoming.namespace, name) for name in (incoming.name, *replicas)}
        nominated = self._read_nominated(pod, running, own)
        labels = self._read_namespaces(incoming, running)
        present = SchedulingCluster(
            topology,
            self._allocatable,
            running.placed,
            labels.by_name,
            found.storage,
            self._version,
            running.daemons,
            nominated or {},
        )
        notes = {
            OTHER_PODS: not running.are_all,
            NOMINATED: nominated is None,
            NODE_RESOURCES: any(node.name not in self._allocatable for node in topology.nodes),
            f"{NAMESPACE_LABELS}: {join_names(labels.unknown, most=5)}": bool(labels.unknown),
        }
        unread = (*(note for note, holds in notes.items() if holds), *found.unread)
        itself = running.by_name.get((incoming.namespace, incoming.name))
        cluster = leave_out(present, [itself] if itself else [])
        class_labels = self._admission.list_class_labels(pod)
        return SchedulingScope(incoming, cluster, present, unread, class_labels)

    def _read_nominated(
        self, pod: ApiPod, running: _RunningPods, own: Collection[PodName]
    ) -> Mapping[str, Sequence[FilterPod]] | None:
        """Read the nominated pods that keep room from a pod; None if its priority is unknown."""
        nominees = [one for one in running.nominated if _name_of(one) not in own]
        priority = find_priority(pod, self._priority_classes) if nominees else 0
        return None if priority is None else read_nominees(nominees, priority, self._version)

    def _read_namespaces(self, incoming: FilterPod, running: _RunningPods) -> _NamespaceLabels:
        """Read the labels of Namespaces, if they can matter to a pod."""
        if not _selects_namespaces(incoming, running.placed):
            return _NamespaceLabels({}, [])
        inhabited = {incoming.namespace, *(inside for inside, _ in running.by_name)}
        unknown = find_unlabelled((incoming,), running.placed, self._namespaces)
        return _NamespaceLabels(complete_namespaces(self._namespaces, inhabited), sorted(unknown))

    def prepare(self, namespace: str, claims: Iterable[PodClaims]) -> None:
        """
        Read what ``read_pod`` may need later, while the cluster is open.

        Args:
            claims: Those of all pods that a controller may create.
        """
        self._admission.prepare(namespace)
        self._read_running(namespace)
        self._storage.plan_claims(claims, namespace)

    def list_conflicts(self, pod: ApiPod) -> list[str]:
        """List why kube-apiserver refuses a new pod; see ``PodAdmission.list_conflicts``."""
        return self._admission.list_conflicts(pod)

    def read_pod(self, pod: ApiPod, namespace: str, claims: PodClaims = NO_CLAIMS) -> StorageScope:
        """Read a pod to place, with its storage; the arguments are those of ``read``."""
        admitted, unread = self._admission.admit(pod, namespace)
        spec = admitted.spec and replace(admitted.spec, node_name="")
        written = replace(admitted, spec=spec)
        incoming = read_pod(written, self._version, namespace)
        mounted = self._read_running(incoming.namespace).mounted
        found = self._storage.read(incoming, claims, mounted)
        return found._replace(unread=(*unread, *found.unread))

    def list_unread(self, scope: SchedulingScope, claims: Iterable[PodClaims]) -> tuple[str, ...]:
        """List what is not known of the pod of a scope, and of pods like it with these claims."""
        found = (self._storage.read(scope.pod, one).unread for one in claims)
        return tuple(dict.fromkeys((*scope.unread, *chain.from_iterable(found))))

    def list_terminating(self, namespace: str) -> list[FilterPod]:
        """List the pods that are being deleted and have not ended, of all namespaces if known."""
        known = self._read_running(namespace).by_name.values()
        return [pod for pod in known if pod.is_terminating]

    def list_placed(self, namespace: str) -> Mapping[str, FilterPod]:
        """List the pods of a namespace that have a node, by their names."""
        known = self._read_running(namespace).by_name
        return {name: pod for (inside, name), pod in known.items() if inside == namespace}

    def _read_running(self, namespace: str) -> _RunningPods:
        """Read the pods of all namespaces, or only of one if the user may not list the others."""
        if "" in self._pods or namespace in self._pods:
            return self._pods["" if "" in self._pods else namespace]
        key, found = "", self._cluster.decode_objects(POD, ApiPod)
        if found is None:
            key, found = namespace, self._cluster.decode_objects(POD, ApiPod, namespace) or []
        placed = read_placed(map(_complete, found), self._version)
        pods = {(pod.namespace, pod.name): pod for pod in placed}
        nominated = tuple(filter(is_nominated, found))
        known = pods.values()
        volumes = chain.from_iterable(pod.volumes for pod in known)
        mounted = frozenset((one.namespace, one.name) for one in volumes if one.namespace)
        daemons = group_daemons(known)
        running = _RunningPods(pods, PlacedPods(known), daemons, not key, nominated, mounted)
        self._pods[key] = running
        return running

    @cached_property
    def _allocatable(self) -> dict[str, Resources]:
        return map_allocatable(self._cluster.decode_objects(NODE, ApiNode) or ())

    @cached_property
    def _priority_classes(self) -> list[PriorityClassObject] | None:
        return self._cluster.decode_objects(PRIORITY_CLASS, PriorityClassObject)

    @cached_property
    def _namespaces(self) -> dict[str, dict[str, str]]:
        found = self._cluster.decode_objects(NAMESPACE_KIND, NamespaceObject)
        return {one.name: one.labels for one in found or ()}


def _complete(pod: ApiPod) -> ApiPod:
    """Fill in the defaults of a pod, unless an API server has stored it with them."""
    return pod if pod.metadata and pod.metadata.uid else fill_in_defaults(pod)


def _name_of(pod: ApiPod) -> PodName:
    metadata = pod.metadata or UniqueMeta()
    return metadata.namespace, metadata.name


def _selects_namespaces(pod: FilterPod, placed: PlacedPods) -> bool:
    """Whether labels of Namespaces can matter to a pod."""
    others = (one.term for one in placed.anti_affinity(pod.namespace))
    selectors = (term.namespace_selector for term in (*pod.affinity, *pod.anti_affinity, *others))
    return any(selector not in (None, LabelSelector()) for selector in selectors)


def leave_out(cluster: SchedulingCluster, pods: Sequence[FilterPod]) -> SchedulingCluster:
    """Return a cluster without pods that have a node; the cluster itself if there are none."""
    if not pods:
        return cluster
    placed = cluster.placed.copy()
    for pod in pods:
        placed.remove(pod, pod.node_name)
    return replace_fields(cluster, placed=placed)

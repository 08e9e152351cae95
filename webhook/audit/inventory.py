"""
Inventory of a snapshot: subjects with their running pods, and facts about their cluster.

If the controller of a pod no longer exists, or its kind has no pod template, one of its pods
replaces the template.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from msgspec.structs import replace

from webhook.audit.groups import ObjectKey, PodGroups, key_of
from webhook.audit.origins import Origin
from webhook.audit.snapshot import Snapshot, SnapshotWorkload
from webhook.cluster import wire
from webhook.cluster.facts import Cluster
from webhook.config import OwnerSelector
from webhook.policy.advice.context import ClusterState
from webhook.policy.advice.subject import RunningPods, Subject, SubjectPod
from webhook.policy.model import GroupKind, ObjectMeta
from webhook.policy.placement.census import Census

NODE = GroupKind("", "Node")  # controls static pods, which cannot be spread


class AuditSubject(NamedTuple):
    """
    A subject with its running pods.

    Attributes:
        api_version: API version as written in the object.
        origin: Position in a file; None if an API server sent it.
    """

    api_version: str
    subject: Subject
    origin: Origin | None


class Inventory:
    """
    The subjects of an audit and the state of their cluster.

    Attributes:
        cluster: Facts about the cluster.
        state: Nodes and pods.
        audited: Subjects, sorted by namespace, kind and name.
        pods: Number of their pods.
        unreadable: Objects that API servers refuse.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        owners: Iterable[OwnerSelector],
        groups: PodGroups | None = None,
        whole: "Inventory | None" = None,
    ) -> None:
        """
        Index a snapshot.

        Args:
            owners: Custom controllers that select pods.
            groups: Further pods, already in groups.
            whole: Inventory of the cluster that the snapshot is a part of, for its nodes; None:
                the snapshot has the nodes.
        """
        groups = groups or PodGroups(snapshot.workloads)
        groups.add(snapshot.pods)
        own = set(groups.found)
        self.unreadable = snapshot.unreadable
        groups.add(snapshot.neighbours)
        running = {key: tuple(found.values()) for key, found in groups.found.items()}
        nodes = whole.cluster.node_store if whole else None
        self.cluster: Cluster = Cluster(owners, nodes=nodes)
        _fill_cluster(self.cluster, snapshot)
        self.audited = sorted(_list_subjects(snapshot, running, own, groups), key=_sort_key)
        census, members = _count_pods(snapshot.workloads, running, is_live=whole is not None)
        if whole is None:
            self.state = ClusterState(self.cluster.node_store, census, members)
        else:
            self.state = whole.state.with_pods(census, members)
        self.pods = sum(group.number for item in self.audited for group in item.subject.running)


def _list_subjects(
    snapshot: Snapshot,
    running: dict[ObjectKey, tuple[RunningPods, ...]],
    own: set[ObjectKey],
    groups: PodGroups,
) -> Iterator[AuditSubject]:
    for workload in snapshot.workloads:
        if workload.requested and not groups.is_within(workload.subject):
            pods = running.get(key_of(workload.subject), ())
            subject = replace(workload.subject, running=pods) if pods else workload.subject
            yield AuditSubject(workload.api_version, subject, workload.origin)
    for key in own - {key_of(workload.subject) for workload in snapshot.workloads}:
        if key.kind != NODE:
            yield AuditSubject(groups.versions[key], _build_from_pods(key, running[key]), None)


def _sort_key(audited: AuditSubject) -> tuple[str, str, str, str, str, int]:
    subject, origin = audited.subject, audited.origin
    kind, name = subject.kind, subject.metadata.name or subject.metadata.generate_name
    source, line = (origin.source, origin.line()) if origin else ("", 0)
    return (subject.namespace, kind.kind, name, kind.group, source, line)


def _build_from_pods(key: ObjectKey, running: tuple[RunningPods, ...]) -> Subject:
    """Build a subject for an unknown controller from its largest group of pods."""
    largest = max(running, key=lambda group: group.number).pod
    assert isinstance(largest, SubjectPod), "groups contain pods of snapshots"
    return Subject(
        kind=key.kind,
        metadata=ObjectMeta(name=key.name, namespace=key.namespace),
        namespace=key.namespace,
        pod=largest,
        running=running,
    )


def _fill_cluster(cluster: Cluster, snapshot: Snapshot) -> None:
    for namespace in snapshot.namespaces:
        cluster.namespace_store.put(namespace)
    for node in snapshot.nodes:
        cluster.node_store.put(node)
    for service in snapshot.services:
        cluster.service_store.put(service)
    for owner in snapshot.owners:
        store = cluster.owner_store(owner.api_version, owner.kind)
        if store is not None:
            metadata = wire.NameMetadata(owner.name, owner.namespace)
            store.put(wire.CustomControllerObject(metadata, owner.selector))


def _count_pods(
    workloads: Iterable[SnapshotWorkload],
    running: dict[ObjectKey, tuple[RunningPods, ...]],
    *,
    is_live: bool,
) -> tuple[Census, Census]:
    """
    Count pods by node and by owner.

    Manifests without scheduled pods describe pods that do not exist yet: then each template counts
    as its number of replicas.
    """
    census, members = Census(), Census()
    for key, groups in running.items():
        for group in groups:
            scheduled = {node: number for node, number in group.nodes.items() if node}
            if scheduled:
                is_live = True
                census.add_alike(key.namespace, group.pod.labels, scheduled)
                member = f"{key.kind.kind}/{key.name}"
                members.add(key.namespace, group.pod.labels, member, sum(scheduled.values()))
    if not is_live:
        for workload in workloads:
            subject = workload.subject
            if subject.replicas != 0 and not subject.controlled:
                members.add(subject.namespace, subject.labels, str(subject), subject.replicas or 1)
    return census, members

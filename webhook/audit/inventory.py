"""
What there is to be judged: subjects with the pods they have, and the cluster that they are in.

If the controller of a pod is of a kind without a pod template, or is gone, one of its pods stands
for the template.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from webhook.audit.groups import ObjectKey, PodGroups, key_of
from webhook.audit.origins import Origin
from webhook.audit.snapshot import Snapshot, SnapshotOwner, SnapshotWorkload
from webhook.cluster import wire
from webhook.cluster.facts import Cluster
from webhook.cluster.nodes import NodeStore
from webhook.config import OwnerSelector
from webhook.policy.advice.context import ClusterState
from webhook.policy.advice.subject import RunningPods, Subject, SubjectPod
from webhook.policy.model import GroupKind, ObjectMeta, group_of
from webhook.policy.placement.census import Census

NODE = GroupKind("", "Node")  # controls static pods, which nobody can spread


class AuditSubject(NamedTuple):
    """
    A subject, with the pods that it has.

    Attributes:
        api_version: As the object says it.
        origin: Where it was read; None if that was an API server.
    """

    api_version: str
    subject: Subject
    origin: Origin | None


class ClusterNodes:
    """
    The nodes of a live cluster, which the inventories of its namespaces share.

    Attributes:
        nodes: All of them.
        survey: The same, without a pod.
    """

    def __init__(self, nodes: Iterable[wire.NodeObject]) -> None:
        """Index the nodes, once for all."""
        self.nodes = NodeStore()
        self.nodes.replace(nodes)
        self.survey = ClusterState(self.nodes, Census(), Census())


class Inventory:
    """
    What there is to be judged.

    Attributes:
        cluster: The facts.
        survey: Nodes and pods.
        audited: In the order of namespaces, kinds and names.
        pods: How many there are of these.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        owners: Iterable[OwnerSelector],
        groups: PodGroups | None = None,
        terrain: ClusterNodes | None = None,
    ) -> None:
        """
        Sort what a snapshot holds.

        Args:
            snapshot: The objects.
            owners: Custom controllers whose selectors count.
            groups: Further pods, which were sorted before.
            terrain: The live cluster that the snapshot is a part of; None: it holds all nodes.
        """
        groups = groups or PodGroups(snapshot.workloads)
        groups.add(snapshot.pods)
        own = set(groups.found)
        groups.add(snapshot.neighbours)
        running = {key: tuple(found.values()) for key, found in groups.found.items()}
        self.cluster = _cluster(snapshot, owners)
        self.audited = sorted(_audited(snapshot, running, own, groups), key=_order)
        census, members = _count(snapshot.workloads, running, is_live=terrain is not None)
        if terrain is None:
            self.survey = ClusterState(self.cluster.node_store, census, members)
        else:
            self.cluster.node_store = terrain.nodes
            self.survey = terrain.survey.with_pods(census, members)
        self.pods = sum(group.number for each in self.audited for group in each.subject.running)


def _audited(
    snapshot: Snapshot,
    running: dict[ObjectKey, tuple[RunningPods, ...]],
    own: set[ObjectKey],
    groups: PodGroups,
) -> Iterator[AuditSubject]:
    for each in snapshot.workloads:
        if each.requested and not groups.is_within(each.subject):
            pods = running.get(key_of(each.subject), ())
            subject = replace(each.subject, running=pods) if pods else each.subject
            yield AuditSubject(each.api_version, subject, each.origin)
    for key in own - {key_of(each.subject) for each in snapshot.workloads}:
        if key.kind != NODE:
            yield AuditSubject(groups.versions[key], _stand_in(key, running[key]), None)


def _order(audited: AuditSubject) -> tuple[str, str, str, str, str, int]:
    subject, origin = audited.subject, audited.origin
    kind, name = subject.kind, subject.metadata.name or subject.metadata.generate_name
    source, line = (origin.source, origin.line()) if origin else ("", 0)
    return (subject.namespace, kind.kind, name, kind.group, source, line)


def _stand_in(key: ObjectKey, running: tuple[RunningPods, ...]) -> Subject:
    """A subject for a controller that is not known, from most of its pods."""
    like = max(running, key=lambda group: group.number).pod
    assert isinstance(like, SubjectPod), "groups are made of such"
    return Subject(
        kind=key.kind,
        metadata=ObjectMeta(name=key.name, namespace=key.namespace),
        namespace=key.namespace,
        pod=like,
        running=running,
    )


def _cluster(snapshot: Snapshot, owners: Iterable[OwnerSelector]) -> Cluster:
    cluster = Cluster(owners)
    cluster.namespace_store.replace(snapshot.namespaces)
    cluster.node_store.replace(snapshot.nodes)
    cluster.service_store.replace(snapshot.services)
    for owner in snapshot.owners:
        _put_owner(cluster, owner)
    return cluster


def _put_owner(cluster: Cluster, owner: SnapshotOwner) -> None:
    store = cluster.owner_stores.get((owner.api_version, owner.kind))
    if store is None:
        store = cluster.custom_stores.get(GroupKind(group_of(owner.api_version), owner.kind))
    if store is not None:
        store.put(owner)


def _bound(nodes: Mapping[str, int]) -> Mapping[str, int]:
    """The pods that are on a node; mostly all are."""
    if "" not in nodes:
        return nodes
    return {node: number for node, number in nodes.items() if node}


def _count(
    workloads: Iterable[SnapshotWorkload],
    running: dict[ObjectKey, tuple[RunningPods, ...]],
    *,
    is_live: bool,
) -> tuple[Census, Census]:
    """
    Count pods by the node they are on, and by what they belong to.

    Without any pod on a node these are manifests, whose pods are yet to be, unless it is known that
    they are not: then each template stands for as many as are asked for.
    """
    census, members = Census(), Census()
    for key, groups in running.items():
        for group in groups:
            bound = _bound(group.nodes)
            if bound:
                is_live = True
                census.add_alike(key.namespace, group.pod.labels, bound)
                member = f"{key.kind.kind}/{key.name}"
                members.add(key.namespace, group.pod.labels, member, sum(bound.values()))
    if not is_live:
        for each in workloads:
            subject = each.subject
            if subject.replicas != 0 and not subject.controlled:
                members.add(subject.namespace, subject.labels, str(subject), subject.replicas or 1)
    return census, members

"""
What there is to be judged: subjects with the pods they have, and the cluster that they are in.

A pod belongs to the outermost of its controllers that is known: to the Deployment of its
ReplicaSet. If its controller is of a kind without a pod template, or is gone, one of its pods
stands for the template.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from webhook.audit.origins import Origin
from webhook.audit.snapshot import Owner, Pod, Snapshot, Workload
from webhook.cluster.lookup import Cluster
from webhook.cluster.manifests import NAMESPACE
from webhook.config import OwnerSelector
from webhook.policy.advice.grounds import Survey
from webhook.policy.advice.subject import Running, Subject, SubjectPod
from webhook.policy.model import GroupKind, ObjectMeta, OwnerReference, PodSpec, group_of
from webhook.policy.placement.census import Census
from webhook.policy.workloads import POD

NODE = GroupKind("", "Node")  # controls static pods, which nobody can spread

LONGEST_CHAIN = 8  # controllers of controllers that are followed; real chains have one to three


class Key(NamedTuple):
    """What names an object of a cluster."""

    namespace: str
    kind: GroupKind
    name: str


class Audited(NamedTuple):
    """
    A subject, with the pods that it has.

    Attributes:
        api_version: As the object says it.
        origin: Where it was read; None if that was an API server.
    """

    api_version: str
    subject: Subject
    origin: Origin | None


class Inventory:
    """
    What there is to be judged.

    Attributes:
        cluster: The facts.
        survey: Nodes and pods.
        audited: In the order of namespaces, kinds and names.
        pods: How many there are of these.
    """

    def __init__(self, snapshot: Snapshot, owners: Iterable[OwnerSelector]) -> None:
        """
        Sort what a snapshot holds.

        Args:
            snapshot: The objects.
            owners: Custom controllers whose selectors count.
        """
        self.cluster = _cluster(snapshot, owners)
        self._known = {_key(each.subject): each for each in snapshot.workloads}
        groups = _Groups(self._known)
        groups.add(snapshot.pods)
        own = set(groups.found)
        groups.add(snapshot.neighbours)
        running = {key: tuple(found.values()) for key, found in groups.found.items()}
        self.audited = sorted(self._audited(snapshot, running, own, groups), key=_order)
        census, members = _count(snapshot.workloads, running)
        self.survey = Survey(self.cluster.node_store, census, members)
        self.pods = sum(group.number for each in self.audited for group in each.subject.running)

    def _audited(
        self,
        snapshot: Snapshot,
        running: dict[Key, tuple[Running, ...]],
        own: set[Key],
        groups: "_Groups",
    ) -> Iterator[Audited]:
        for each in snapshot.workloads:
            if each.asked and not groups.is_within(each.subject):
                pods = running.get(_key(each.subject), ())
                subject = replace(each.subject, running=pods) if pods else each.subject
                yield Audited(each.api_version, subject, each.origin)
        for key in own - self._known.keys():
            if key.kind != NODE:
                yield Audited(groups.versions[key], _stand_in(key, running[key]), None)


class _Groups:
    """
    Pods that are alike, by what they belong to.

    Attributes:
        found: What pods belong to -> its groups, each under what its pods have in common.
        versions: API version of controllers that are not known themselves.
    """

    def __init__(self, known: dict[Key, Workload]) -> None:
        self.found: dict[Key, dict[bytes, Running]] = {}
        self.versions: dict[Key, str] = {}
        self._known = known
        self._roots: dict[tuple[str, OwnerReference], Key] = {}

    def add(self, pods: Iterable[Pod]) -> None:
        """Sort pods into groups; O(pods)."""
        for pod in pods:
            if pod.is_gone:
                continue
            metadata = pod.metadata or _NO_META
            spec = pod.spec or _NO_SPEC
            groups = self.found.setdefault(self._owner(metadata), {})
            like = _encode(
                (metadata.labels, spec.topology_spread_constraints, metadata.annotations)
            )
            group = groups.get(like)
            if group is None:
                group = groups[like] = Running(pod, {})
            nodes = group.nodes
            assert isinstance(nodes, dict), "made above"
            nodes[spec.node_name] = nodes.get(spec.node_name, 0) + 1

    def is_within(self, subject: Subject) -> bool:
        """Whether a subject is made by another one that is known."""
        return self._root(subject.namespace, subject.metadata) in self._known and (
            subject.controlled
        )

    def _owner(self, metadata: ObjectMeta) -> Key:
        namespace = metadata.namespace or NAMESPACE
        if metadata.controller is None:
            return Key(namespace, POD, metadata.name)
        return self._root(namespace, metadata)

    def _root(self, namespace: str, metadata: ObjectMeta) -> Key:
        """The outermost controller that is known; else the innermost."""
        controller = metadata.controller
        if controller is None:
            return Key(namespace, POD, metadata.name)
        root = self._roots.get((namespace, controller))
        if root is None:
            root = self._roots[namespace, controller] = self._climb(namespace, controller)
        return root

    def _climb(self, namespace: str, controller: OwnerReference) -> Key:
        first = reached = _named(namespace, controller)
        self.versions.setdefault(first, controller.api_version)
        for _ in range(LONGEST_CHAIN):
            workload = self._known.get(reached)
            above = workload.subject.metadata.controller if workload else None
            if above is None or (key := _named(namespace, above)) not in self._known:
                return reached
            reached = key
        return first


_NO_META = ObjectMeta()
_NO_SPEC = PodSpec()
_encode = msgspec.json.Encoder().encode


def _named(namespace: str, owner: OwnerReference) -> Key:
    return Key(namespace, GroupKind(group_of(owner.api_version), owner.kind), owner.name)


def _key(subject: Subject) -> Key:
    return Key(subject.namespace or NAMESPACE, subject.kind, subject.metadata.name)


def _order(audited: Audited) -> tuple[str, str, str, str, str, int]:
    subject, origin = audited.subject, audited.origin
    kind, name = subject.kind, subject.metadata.name or subject.metadata.generate_name
    source, line = (origin.source, origin.line()) if origin else ("", 0)
    return (subject.namespace, kind.kind, name, kind.group, source, line)


def _stand_in(key: Key, running: tuple[Running, ...]) -> Subject:
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


def _put_owner(cluster: Cluster, owner: Owner) -> None:
    store = cluster.owner_stores.get((owner.api_version, owner.kind))
    if store is None:
        store = cluster.custom_stores.get(GroupKind(group_of(owner.api_version), owner.kind))
    if store is not None:
        store.put(owner)


def _count(
    workloads: Iterable[Workload], running: dict[Key, tuple[Running, ...]]
) -> tuple[Census, Census]:
    """
    Count pods by the node they are on, and by what they belong to.

    Without any pod on a node these are manifests, whose pods are yet to be: then each template
    stands for as many as are asked for.
    """
    census, members = Census(), Census()
    is_live = False
    for key, groups in running.items():
        for group in groups:
            bound = {node: number for node, number in group.nodes.items() if node}
            for node, number in bound.items():
                census.add(key.namespace, group.pod.labels, node, number)
            if bound:
                is_live = True
                member = f"{key.kind.kind}/{key.name}"
                members.add(key.namespace, group.pod.labels, member, sum(bound.values()))
    if not is_live:
        for each in workloads:
            subject = each.subject
            if subject.replicas != 0 and not subject.controlled:
                members.add(subject.namespace, subject.labels, str(subject), subject.replicas or 1)
    return census, members

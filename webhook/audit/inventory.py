"""
Inventory of a snapshot: subjects with their running pods, and facts about their cluster.

If the controller of a pod no longer exists, or its kind has no pod template, one of its pods
replaces the template.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple

from msgspec.structs import replace

from webhook.audit.groups import ObjectKey, PodGroups, key_of, map_references, template_of
from webhook.audit.origins import Origin
from webhook.audit.parts import share_pods
from webhook.audit.references import TemplateReference
from webhook.audit.rollouts import find_partitioned_revision, find_revisions, mark_replaced
from webhook.audit.runtimeclasses import add_runtime_classes
from webhook.audit.snapshot import Snapshot, SnapshotWorkload
from webhook.audit.templates import (
    OwnedPods,
    build_referring,
    follow_references,
    join_templates,
)
from webhook.audit.workloadsizes import count_replicas, list_surges
from webhook.cluster import wire
from webhook.cluster.facts import Cluster
from webhook.cluster.quota import NamespaceSizeError
from webhook.config.ownerselectors import OwnerSelector
from webhook.policy.advice.context import ClusterState
from webhook.policy.advice.podcount import JOBS
from webhook.policy.advice.runningpods import RunningPods
from webhook.policy.advice.scaling import Autoscaler, find_range
from webhook.policy.advice.subject import Subject, SubjectPod
from webhook.policy.api.schema import StrictFinding
from webhook.policy.gangs import group_name
from webhook.policy.kinds import DEFAULT_NAMESPACE, JOB_SET
from webhook.policy.model import GroupKind, ObjectMeta
from webhook.policy.placement.census import Census
from webhook.policy.placement.nodes import Demands
from webhook.policy.placement.runtimeclasses import RuntimeClass

NODE = GroupKind("", "Node")  # controls static pods, which cannot be spread


class AuditSubject(NamedTuple):
    """
    A subject with its running pods.

    Attributes:
        api_version: API version as written in the object.
        origin: Position in a file; None if an API server sent it.
        strict: Its unknown and duplicate fields.
        own: The subject with its own pods alone, if those of other controllers are created from its
            template too; otherwise None.
        is_judged: Whether rules apply; False if its template is that of another subject, and for a
            Job that has finished.
    """

    api_version: str
    subject: Subject
    origin: Origin | None
    strict: tuple[StrictFinding, ...] = ()
    own: Subject | None = None
    is_judged: bool = True

    @property
    def listed(self) -> Subject:
        """The subject with the pods that it controls."""
        return self.own or self.subject


class Inventory:
    """
    The subjects of an audit and the state of their cluster.

    Attributes:
        cluster: Facts about the cluster.
        state: Nodes and pods.
        runtime_classes: The RuntimeClasses of the cluster by their names.
        audited: Subjects, sorted by namespace, kind and name.
        pods: Number of their pods.
        unreadable: Objects that API servers refuse.
        exceptions: All exceptions; without ``set_time``, those that expire have no effect.
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
            whole: Inventory of the cluster that the snapshot is a part of, for its nodes and
                classes; None: the snapshot has these.
        """
        classes = {one.name: one for one in snapshot.runtime_classes}
        self.runtime_classes: Mapping[str, RuntimeClass]
        self.runtime_classes = whole.runtime_classes if whole else classes
        snapshot = add_runtime_classes(snapshot, self.runtime_classes)
        groups = groups or PodGroups(snapshot.workloads, snapshot.references)
        groups.add(snapshot.pods)
        own = groups.found.keys() - groups.templates.keys()
        groups.add(snapshot.neighbours)
        self.unreadable = snapshot.unreadable
        self.exceptions = snapshot.exceptions
        self.cluster: Cluster = Cluster(owners, nodes=whole.cluster.node_store if whole else None)
        _fill_cluster(self.cluster, snapshot)
        controlled = _mark_running(groups, snapshot)
        running = join_templates(controlled, groups.templates)
        workloads = follow_references(snapshot)
        self.state = self._build_state(snapshot, workloads, running, whole)
        self._scaled = _group_by_target(snapshot)
        self._pod_groups = {
            (item.namespace or DEFAULT_NAMESPACE, item.name): item for item in snapshot.pod_groups
        }
        self._revisions = find_revisions(snapshot.workloads)
        subjects = map(self._add_revision, _list_subjects(workloads, running, own, groups))
        subjects = map(self._add_pod_group, map(self._add_scaling, subjects))
        listed = _list_by_controller(subjects, snapshot, controlled)
        self.audited = sorted(listed, key=_sort_key)
        self.pods = sum(group.number for item in self.audited for group in item.listed.running)

    def set_time(self, now: datetime) -> None:
        """Set the time of the audit, by which exceptions expire; aware."""
        self.cluster.exception_store.clock = lambda: now

    def _build_state(
        self,
        snapshot: Snapshot,
        workloads: Sequence[SnapshotWorkload],
        running: OwnedPods,
        whole: "Inventory | None",
    ) -> ClusterState:
        census, members = _count_pods(workloads, running, is_live=whole is not None)
        demands = _map_demands(workloads)
        if whole is not None:
            state = whole.state.with_pods(census, members, demands)
        else:
            nodes, classes = self.cluster.node_store, snapshot.storage_classes
            state = ClusterState(nodes, census, members, classes, demands)
        state.surges = dict(list_surges(workloads))
        return state

    def _add_revision(self, audited: AuditSubject) -> AuditSubject:
        """Add the revision of the newest ReplicaSet of a subject, or that of its next ordinal."""
        subject = audited.subject
        revision = self._revisions.get(key_of(subject)) or find_partitioned_revision(subject)
        if not revision:
            return audited
        return audited._replace(subject=replace(subject, revision=revision))

    def _add_scaling(self, audited: AuditSubject) -> AuditSubject:
        """Add the range of the autoscalers of a subject whose replicas are single pods."""
        subject = audited.subject
        autoscalers = self._scaled.get(key_of(subject))
        if not autoscalers or subject.part:
            return audited
        scaling = find_range(autoscalers, subject.replicas)
        return audited._replace(subject=replace(subject, scaling=scaling))

    def _add_pod_group(self, audited: AuditSubject) -> AuditSubject:
        """Add the PodGroup that the pods of a subject name, if it is known."""
        subject = audited.subject
        name = group_name(subject.pod)
        group = self._pod_groups.get((key_of(subject).namespace, name)) if name else None
        return audited if group is None else audited._replace(subject=replace(subject, group=group))


def _group_by_target(snapshot: Snapshot) -> dict[ObjectKey, list[Autoscaler]]:
    """Group autoscalers by the object whose template the scaled pods are created from."""
    templates = map_references(snapshot.references)
    found: dict[ObjectKey, list[Autoscaler]] = {}
    for item in snapshot.autoscalers:
        key = ObjectKey(item.namespace or DEFAULT_NAMESPACE, item.target, item.target_name)
        found.setdefault(templates.get(key, key), []).append(item)
    return found


def _mark_running(groups: PodGroups, snapshot: Snapshot) -> OwnedPods:
    """List the pods of each controller, with those marked that a rollout is about to delete."""
    found = {key: tuple(of_owner.values()) for key, of_owner in groups.found.items()}
    return mark_replaced(found, snapshot.workloads)


def _list_by_controller(
    subjects: Iterable[AuditSubject], snapshot: Snapshot, controlled: OwnedPods
) -> Iterator[AuditSubject]:
    """Split off the pods whose controller only refers to the template of a subject."""
    written = {key_of(workload.subject): workload.subject for workload in snapshot.workloads}
    referring: defaultdict[ObjectKey, list[TemplateReference]] = defaultdict(list)
    for reference in snapshot.references:
        referring[template_of(reference)].append(reference)
    for audited in subjects:
        key = key_of(audited.subject)
        if audited.subject.creator is None:
            yield audited
            continue
        own = replace(written[key], running=controlled.get(key, ()))
        yield audited._replace(own=own)
        for reference in referring[key]:
            subject = build_referring(reference, own, controlled)
            yield AuditSubject(reference.api_version, subject, reference.origin, is_judged=False)


def _list_subjects(
    workloads: Sequence[SnapshotWorkload],
    running: OwnedPods,
    own: set[ObjectKey],
    groups: PodGroups,
) -> Iterator[AuditSubject]:
    templates: defaultdict[ObjectKey, list[SnapshotWorkload]] = defaultdict(list)
    for workload in workloads:
        if workload.subject.is_bare:
            if workload.requested:
                yield _build_subject(workload, workload.subject)
        else:
            templates[key_of(workload.subject)].append(workload)
    for key, parts in templates.items():
        places = {workload.subject.path: workload.subject for workload in parts}
        shares = share_pods(tuple(places.values()), running.get(key, ()))
        pods = dict(zip(places, shares, strict=True))
        for workload in parts:
            subject = workload.subject
            if workload.requested and not groups.is_within(subject):
                running_here = pods[subject.path]
                subject = replace(subject, running=running_here) if running_here else subject
                yield _build_subject(workload, subject)
    for key in own - templates.keys():
        if key.kind != NODE:
            yield AuditSubject(groups.versions[key], _build_from_pods(key, running[key]), None)


def _build_subject(workload: SnapshotWorkload, subject: Subject) -> AuditSubject:
    return AuditSubject(
        workload.api_version,
        subject,
        workload.origin,
        workload.strict,
        is_judged=not subject.finished,
    )


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
    for exception in snapshot.exceptions:
        with suppress(NamespaceSizeError):  # the report names the exceptions that do not count
            cluster.exception_store.put(exception)
    for service in snapshot.services:
        cluster.service_store.put(service)
    for owner in snapshot.owners:
        store = cluster.owner_store(owner.api_version, owner.kind)
        if store is not None:
            metadata = wire.NameMetadata(owner.name, owner.namespace)
            store.put(wire.CustomControllerObject(metadata, owner.selector))


_ENDING = JOBS | {JOB_SET}
"""Kinds whose pods end: an object without pods may be through with them."""


def _count_pods(
    workloads: Iterable[SnapshotWorkload],
    running: OwnedPods,
    *,
    is_live: bool,
) -> tuple[Census, Census]:
    """
    Count pods by node and by owner.

    Manifests describe pods that do not exist yet: a workload without pods counts as its number of
    replicas. Beside scheduled pods, one of an ``_ENDING`` kind counts as 0 pods.

    Args:
        is_live: Whether the pods are those of a part of a cluster, and no manifest is among them.
    """
    census, members, has_scheduled = Census(), Census(), False
    for key, groups in running.items():
        for group in groups:
            scheduled = {node: number for node, number in group.nodes.items() if node}
            if scheduled:
                has_scheduled = True
                census.add_alike(key.namespace, group.pod.labels, scheduled)
                member = f"{key.kind.kind}/{key.name}"
                members.add(key.namespace, group.pod.labels, member, sum(scheduled.values()))
    for workload in workloads if not is_live else ():
        subject = workload.subject
        if not subject.controlled and not (has_scheduled and key_of(subject) in running):
            may_have_ended = has_scheduled and subject.kind in _ENDING
            replicas = 0 if may_have_ended else count_replicas(subject)
            members.add(subject.namespace, subject.foreseen_labels, str(subject), replicas)
    return census, members


def _map_demands(workloads: Iterable[SnapshotWorkload]) -> dict[tuple[str, str], Demands]:
    """Map workloads to what their pods require of a node, if all of their templates agree."""
    found: dict[tuple[str, str], Demands | None] = {}
    for workload in workloads:
        subject = workload.subject
        key = subject.namespace, str(subject)
        demands = None if subject.lacks_runtime_class else subject.demands
        found[key] = demands if found.get(key, demands) == demands else None
    return {key: demands for key, demands in found.items() if demands is not None}

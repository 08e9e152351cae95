"""
Rollouts that run: which pods belong to a revision that another one is replacing.

``mark_replaced``, ``find_revisions`` and ``find_partitioned_revision`` are the entry points. A
Deployment and a Rollout of Argo number the revisions of their ReplicaSets in an annotation; a
rollback gives the old ReplicaSet a new number. A paused Deployment replaces no pods. Without the
ReplicaSets, as in a dump of Deployments and pods, the newest one is not known. The status of a
StatefulSet shows its newest revision. If its pods have claims, none is marked: they return to their
volumes, and so count where they are.

Source: kubernetes pkg/controller/deployment/util ``RevisionAnnotation``; argo-rollouts
utils/annotations ``RevisionAnnotation``; kubernetes pkg/controller/statefulset
stateful_set_control.go ``updateStatefulSet``.
"""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

from msgspec.structs import replace

from webhook.audit.groups import ObjectKey, controller_of, key_of
from webhook.audit.snapshot import REVISION_ANNOTATIONS, SnapshotWorkload
from webhook.policy.advice.runningpods import RunningPods
from webhook.policy.advice.subject import Subject
from webhook.policy.kinds import DEFAULT_NAMESPACE, DEPLOYMENT, REPLICA_SET, STATEFUL_SET
from webhook.policy.nextrevision import PartitionedRevisions, find_ordinals
from webhook.policy.podlabels import revision_key

_Running = tuple[RunningPods, ...]


def mark_replaced(
    running: Mapping[ObjectKey, _Running], workloads: Iterable[SnapshotWorkload]
) -> dict[ObjectKey, _Running]:
    """
    Mark the pods of older revisions of each workload whose newest one has pods as well.

    If pods of several ReplicaSets run of which one is not known, all of them are unordered.

    Args:
        running: Workload -> its running pods.
        workloads: All workloads, ReplicaSets with their annotations among them.
    """
    subjects = [one.subject for one in workloads]
    sets = [subject for subject in subjects if subject.kind == REPLICA_SET]
    known, newest, paused = set(map(key_of, sets)), _find_newest(sets), _find_paused(subjects)
    stateful = {key_of(subject): subject for subject in subjects if subject.kind == STATEFUL_SET}
    return {
        key: _mark_of_stateful_set(groups, stateful[key])
        if key in stateful
        else groups
        if key in paused
        else _mark(groups, newest, known)
        for key, groups in running.items()
    }


def find_revisions(workloads: Iterable[SnapshotWorkload]) -> dict[ObjectKey, dict[str, str]]:
    """
    Find the label that the newest ReplicaSet of each workload gives to its pods.

    Paused Deployments are left out, since the pods of each revision are replaced by their like.
    """
    subjects = [one.subject for one in workloads]
    paused = _find_paused(subjects)
    sets = {key_of(subject): subject for subject in subjects if subject.kind == REPLICA_SET}
    found: dict[ObjectKey, dict[str, str]] = {}
    for key in _find_newest(sets.values()).values():
        owner = controller_of(key.namespace, sets[key].metadata)
        hash_key = revision_key(owner.kind) if owner else ""
        if owner is not None and owner not in paused and hash_key in sets[key].labels:
            found[owner] = {hash_key: sets[key].labels[hash_key]}
    return found


def _find_paused(subjects: Iterable[Subject]) -> frozenset[ObjectKey]:
    return frozenset(key_of(one) for one in subjects if one.kind == DEPLOYMENT and one.paused)


def find_partitioned_revision(subject: Subject) -> dict[str, str]:
    """
    Find the label of the next pod of a StatefulSet with a partition, by the ordinals of its pods.

    Returns:
        Empty for other subjects, and if pods are so alike that not all of their names are known.
    """
    pods = subject.running
    if subject.partitioned is None or any(group.number > 1 for group in pods):
        return {}
    names = (group.pod.metadata.name for group in pods if group.pod.metadata)
    return subject.partitioned.choose(find_ordinals(names))


def _find_newest(replica_sets: Iterable[Subject]) -> dict[ObjectKey, ObjectKey]:
    """Map each ReplicaSet with a numbered revision to the newest one of its controller."""
    revisions: dict[ObjectKey, dict[ObjectKey, int]] = {}
    for subject in replica_sets:
        namespace = subject.namespace or DEFAULT_NAMESPACE
        owner = controller_of(namespace, subject.metadata)
        revision = _read_revision(subject.metadata.annotations)
        if owner is not None and revision is not None:
            revisions.setdefault(owner, {})[key_of(subject)] = revision
    return {
        key: max(sets, key=lambda one: sets[one]) for sets in revisions.values() for key in sets
    }


def _read_revision(annotations: Mapping[str, str]) -> int | None:
    written = next((annotations[key] for key in REVISION_ANNOTATIONS if key in annotations), "")
    return int(written) if written.isascii() and written.isdigit() else None


def _mark(
    groups: _Running, newest: Mapping[ObjectKey, ObjectKey], known: AbstractSet[ObjectKey]
) -> _Running:
    if len(groups) == 1:  # pods of one revision, as nearly always
        return groups
    owners = [
        controller_of(group.pod.metadata.namespace or DEFAULT_NAMESPACE, group.pod.metadata)
        if group.pod.metadata
        else None
        for group in groups
    ]
    present = set(owners)
    sets = {owner for owner in present if owner is not None and owner.kind == REPLICA_SET}
    if len(sets) > 1 and not sets <= known:
        return tuple(replace(group, unordered=True) for group in groups)
    return tuple(
        replace(group, replaced=True)
        if owner is not None and newest.get(owner, owner) != owner and newest[owner] in present
        else group
        for group, owner in zip(groups, owners, strict=True)
    )


def _mark_of_stateful_set(groups: _Running, subject: Subject) -> _Running:
    """Mark the pods that a rolling update of a StatefulSet is about to delete."""
    held = subject.partitioned
    newest = held.updated if held else subject.revision
    present = any(newest.items() <= group.pod.labels.items() for group in groups)
    if not newest or not present or subject.on_delete or subject.claims:
        return groups
    return tuple(
        replace(group, replaced=True) if _is_outdated(group, newest, held) else group
        for group in groups
    )


def _is_outdated(
    group: RunningPods, newest: Mapping[str, str], held: PartitionedRevisions | None
) -> bool:
    """Whether pods have another revision than the newest one, and no partition holds them back."""
    labels, metadata = group.pod.labels, group.pod.metadata
    if not newest.keys() <= labels.keys() or newest.items() <= labels.items():
        return False
    if held is None:
        return True
    ordinals = find_ordinals([metadata.name] if metadata and group.number == 1 else [])
    return any(held.label(ordinal) == held.updated for ordinal in ordinals)

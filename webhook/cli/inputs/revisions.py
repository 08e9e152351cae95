"""
The revision of the next pod of a workload: its pod template, and the labels that show it.

Entry points: ``find_revision``, for StatefulSets ``setrevisions``. A manifest whose template
differs from all that the cluster stores is a new revision. A paused Deployment creates none: it
scales the ReplicaSet that it has.

Source: kubernetes pkg/controller/deployment/util ``FindNewReplicaSet``,
``FindActiveOrLatest``; argo-rollouts utils/replicaset ``FindNewReplicaSet``.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from webhook.cli.inputs import subjects
from webhook.cli.inputs.cluster import ClusterReader
from webhook.cli.inputs.manifestcluster import Json
from webhook.cluster.protocol import FailureReason
from webhook.errors import ApiError
from webhook.policy.api.predict import is_stored_object
from webhook.policy.kinds import DEPLOYMENT, REPLICA_SET, ROLLOUT
from webhook.policy.nextrevision import read_revision
from webhook.policy.paths import find_value, is_object
from webhook.policy.podlabels import ROLLOUT_HASH
from webhook.policy.templatematch import is_same_template

_REPLICAS = ("spec", "replicas")
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""Source: k8s.io/api core/v1 annotation_key_constants.go ``LastAppliedConfigAnnotation``."""


class NextRevision(msgspec.Struct, frozen=True):
    """
    The revision of a next pod.

    Attributes:
        subject: The workload with the pod template of this revision, or its ReplicaSet.
        labels: What its controller adds to show it; empty if no fact shows it.
        is_new: Whether no pod has it.
        is_owned: Whether ``subject`` is the controller of the pod, which exists.
        unknown: Its name, if its template is not known and ``subject`` has another one.
    """

    subject: subjects.ExplainSubject
    labels: Mapping[str, str] = {}
    is_new: bool = False
    is_owned: bool = False
    unknown: str = ""


def find_revision(subject: subjects.ExplainSubject, cluster: ClusterReader) -> NextRevision:
    """
    Find the revision of the next pod of a workload that is no StatefulSet.

    That of a Deployment or Rollout is the newest ReplicaSet with its template. Without one, the
    template is a new revision, unless nothing is known of the present one. That of a paused
    Deployment is the only ReplicaSet that has replicas, whatever its template.
    """
    stored = find_stored(subject, cluster)
    is_kept = stored is None or is_unchanged(subject, stored)
    shown = subject.value if stored is None else stored
    labels = read_revision(subject.kind, shown) if is_kept else {}
    if subject.kind not in (DEPLOYMENT, ROLLOUT):
        return NextRevision(subject, labels, is_new=not is_kept)
    template = find_value(shown if is_kept else subject.value, subject.path)
    owned = subjects.list_controlled(REPLICA_SET, subject, cluster)
    by_age = sorted(owned, key=subjects.revision_of, reverse=True)
    alike = (one for one in by_age if is_same_template(find_value(one, subject.path), template))
    newest = next(alike, None)
    chosen = _find_scaled(subject, owned, newest) if is_paused(subject) else newest
    if chosen is not None:
        return NextRevision(replace(subject, kind=REPLICA_SET, value=chosen), is_owned=True)
    if is_paused(subject) and not owned and stored is not None:
        return NextRevision(replace(subject, value=stored), labels)
    return NextRevision(subject, labels, is_new=bool(owned) or not is_kept)


def is_paused(subject: subjects.ExplainSubject) -> bool:
    """Whether a workload is a Deployment that rolls nothing out."""
    paused = find_value(subject.value, ("spec", "paused")) is True
    return paused and subject.kind == DEPLOYMENT


def find_stable(stored: Json | None, owned: Sequence[Json]) -> Json | None:
    """
    Find the stable ReplicaSet of an Argo Rollout: the one whose hash is ``status.stableRS``.

    A ReplicaSet without the label of the hash has that of its pod template.

    Args:
        stored: The Rollout as the cluster stores it.
        owned: ReplicaSets of the Rollout.

    Returns:
        None if the status names no hash, or if not exactly one ReplicaSet has it.

    Source: argo-rollouts utils/replicaset/canary.go ``GetStableRS``.
    """
    name = find_value(stored, ("status", "stableRS"))
    found = [one for one in owned if name and _hash_of(one) == name]
    return found[0] if len(found) == 1 else None


def _hash_of(value: Json) -> Any:
    label = ("metadata", "labels", ROLLOUT_HASH)
    return find_value(value, label) or find_value(value, ("spec", "template", *label))


def list_active(subject: subjects.ExplainSubject, owned: Sequence[Json]) -> list[tuple[Json, int]]:
    """
    List the ReplicaSets of a workload that have replicas, with their numbers.

    Left out are those that facts show without a pod template, as an abridged dump does.
    """
    sizes = ((one, find_value(one, ("spec", "replicas"), 1)) for one in owned)
    return [
        (one, size)
        for one, size in sizes
        if isinstance(size, int) and size > 0 and is_object(find_value(one, subject.path))
    ]


def _find_scaled(
    subject: subjects.ExplainSubject, owned: Sequence[Json], newest: Json | None
) -> Json | None:
    """Find the ReplicaSet that a paused Deployment scales; of several, that with its template."""
    active = list_active(subject, owned)
    if len(active) == 1:
        return active[0][0]
    if active or newest is not None:
        return newest
    known = [one for one in owned if is_object(find_value(one, subject.path))]
    return max(known, key=created_at, default=None)


def created_at(value: Json) -> tuple[str, str]:
    """When an object was created, as written, and its name; objects are sorted by it."""
    written = find_value(value, ("metadata", "creationTimestamp"))
    return (written if isinstance(written, str) else ""), subjects.name_of(value)


def find_stored(subject: subjects.ExplainSubject, cluster: ClusterReader) -> Json | None:
    """
    Find a workload as the cluster stores it, in place of the manifest that describes it anew.

    Returns:
        The subject's own object if it comes from the cluster; None if the cluster has none with a
        pod template, or if the user may not read it.
    """
    if subject.exists or is_stored_object(subject.value):
        return subject.value
    try:
        found = cluster.find_replaced(subject.kind, subject.namespace, subject.name)
    except ApiError as error:
        if error.reason is not FailureReason.FORBIDDEN:
            raise
        return None
    return found if find_value(found, subject.path) is not None else None


def is_unchanged(subject: subjects.ExplainSubject, stored: Json) -> bool:
    """Whether a stored workload keeps its pod template when the subject is applied."""
    if stored is subject.value:
        return True
    template, kept = (find_value(value, subject.path) for value in (subject.value, stored))
    return is_same_template(kept, template, find_value(_read_applied(stored), subject.path))


def find_kept_replicas(subject: subjects.ExplainSubject, cluster: ClusterReader) -> int | None:
    """
    Find the replicas of the stored object that a manifest without replicas leaves as they are.

    An apply removes only those of the manifest that was applied last.

    Returns:
        None if the default of the API applies.
    """
    stored = find_stored(subject, cluster)
    if stored is None or find_value(_read_applied(stored), _REPLICAS) is not None:
        return None
    replicas = find_value(stored, _REPLICAS)
    return replicas if type(replicas) is int else None


def _read_applied(stored: Json) -> Any:
    """Read the manifest that was applied last; None if the object does not show it."""
    written = find_value(stored, ("metadata", "annotations", _LAST_APPLIED))
    try:
        return msgspec.json.decode(written) if isinstance(written, str) else None
    except msgspec.DecodeError:
        return None

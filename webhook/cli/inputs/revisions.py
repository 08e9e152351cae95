"""
The revision of the next pod of a workload: its pod template, and the labels that show it.

Entry points: ``find_revision``, for StatefulSets ``setrevisions``. A manifest whose template
differs from all that the cluster stores is a new revision.

Source: kubernetes pkg/controller/deployment/util ``FindNewReplicaSet``; argo-rollouts
utils/replicaset ``FindNewReplicaSet``.
"""

from collections.abc import Mapping
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
from webhook.policy.paths import find_value
from webhook.policy.templatematch import is_same_template

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
    template is a new revision, unless nothing is known of the present one.
    """
    stored = find_stored(subject, cluster)
    is_kept = stored is None or is_unchanged(subject, stored)
    shown = subject.value if stored is None else stored
    labels = read_revision(subject.kind, shown) if is_kept else {}
    if subject.kind not in (DEPLOYMENT, ROLLOUT):
        return NextRevision(subject, labels, is_new=not is_kept)
    template = find_value(shown if is_kept else subject.value, subject.path)
    owned = subjects.list_controlled(REPLICA_SET, subject, cluster)
    for value in sorted(owned, key=subjects.revision_of, reverse=True):
        replica_set = replace(subject, kind=REPLICA_SET, value=value)
        if is_same_template(find_value(value, replica_set.path), template):
            return NextRevision(replica_set, is_owned=True)
    return NextRevision(subject, labels, is_new=bool(owned) or not is_kept)


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


def _read_applied(stored: Json) -> Any:
    """Read the manifest that was applied last; None if the object does not show it."""
    written = find_value(stored, ("metadata", "annotations", _LAST_APPLIED))
    try:
        return msgspec.json.decode(written) if isinstance(written, str) else None
    except msgspec.DecodeError:
        return None

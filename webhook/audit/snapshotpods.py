"""
Pods in a snapshot: what an audit reads of them, in little memory.

``SnapshotPod`` is the entry point, and ``mark_stored`` for a pod that has just been read: it keeps
the result of what shows that an API server stored the pod, and of why it is not scheduled.
"""

import msgspec
from msgspec.structs import replace

from webhook.policy.advice.subject import SubjectPod
from webhook.policy.api.predict import is_stored
from webhook.policy.model import ObjectMeta
from webhook.policy.placement.census import FINISHED, ObservedStatus
from webhook.policy.placement.filters.run import EXCEEDED_SKEW


class SnapshotPodMetadata(ObjectMeta, frozen=True, rename="camel", gc=False):
    """
    The metadata of a pod, with what shows that an API server stored or deletes it.

    ``uid`` and ``resource_version`` are None in a snapshot; the pod has the result.
    """

    deletion_timestamp: str | None = None
    uid: str | None = None
    resource_version: str | None = None


class SchedulingCondition(msgspec.Struct, frozen=True, gc=False):
    """A condition of a pod, with the fields that show why it is not scheduled."""

    type: str | None = None
    reason: str | None = None
    message: str | None = None


_SENTENCE = EXCEEDED_SKEW.reasons[0]

AWAITS_SPREAD = SchedulingCondition("PodScheduled", "Unschedulable", _SENTENCE)
"""
The condition of a pod that constraints keep Pending, without the rest of kube-scheduler's message.

Source: kube-scheduler schedule_one.go ``handleSchedulingFailure``; core/v1
``PodReasonUnschedulable``.
"""


class SnapshotPodStatus(ObservedStatus, frozen=True, gc=False):
    """
    The status of a pod.

    Attributes:
        conditions: In a snapshot ``AWAITS_SPREAD`` alone, or None; a pod that is read has others.
    """

    conditions: tuple[SchedulingCondition | None, ...] | None = None

    @property
    def awaits_spread(self) -> bool:
        """Whether kube-scheduler finds no node, among others for the pod's constraints."""
        expected = AWAITS_SPREAD
        return any(
            (found.type, found.reason) == (expected.type, expected.reason)
            and _SENTENCE in (found.message or "")
            for found in filter(None, self.conditions or ())
        )


class SnapshotPod(SubjectPod, frozen=True, rename="camel", gc=False):
    """
    A pod of a cluster.

    Attributes:
        stored: Whether it is the copy of a pod that an API server stored; absent in snapshots of
            earlier versions.
    """

    metadata: SnapshotPodMetadata | None = None
    status: SnapshotPodStatus | None = None
    stored: bool = False

    @property
    def is_gone(self) -> bool:
        """Whether the pod is finished or being deleted; such pods do not count."""
        if self.metadata is not None and self.metadata.deletion_timestamp is not None:
            return True
        return self.status is not None and self.status.phase in FINISHED

    @property
    def is_created(self) -> bool:
        """
        Whether the pod is in a cluster, as far as it shows; otherwise it is a manifest to apply.

        A pod that was written by hand as part of a cluster has a node, a phase or a controller.
        """
        phase = self.status.phase if self.status else None
        if self.stored or phase or (self.spec is not None and self.spec.node_name):
            return True
        return self.metadata is not None and self.metadata.controller is not None


def mark_stored(pod: SnapshotPod) -> SnapshotPod:
    """Replace what shows that an API server stored a pod by marks, which take less memory."""
    metadata = pod.metadata or SnapshotPodMetadata()
    stored = is_stored(
        metadata.uid,
        metadata.resource_version,
        controlled=metadata.controller is not None,
        phase=pod.status.phase if pod.status else None,
    )
    kept = pod.metadata and replace(metadata, uid=None, resource_version=None)
    return replace(pod, metadata=kept, status=_reduce_status(pod.status), stored=stored)


def _reduce_status(status: SnapshotPodStatus | None) -> SnapshotPodStatus | None:
    """Remove the conditions of a pod, except for the one that its constraints cause."""
    if status is None or status.conditions is None:
        return status
    kept = (AWAITS_SPREAD,) if status.awaits_spread else None
    return SnapshotPodStatus(status.phase, kept)

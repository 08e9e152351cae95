"""
The revision of a workload's next pods, from the status that its controller writes.

``read_revision`` is the entry point; with the partition of a StatefulSet, which depends on the
ordinals of its pods, ``read_partitioned``. Deployments write none: their ReplicaSets show it.
"""

from collections.abc import Container, Iterable, Mapping
from itertools import count
from types import MappingProxyType
from typing import Any

import msgspec

from webhook.policy.kinds import ROLLOUT, STATEFUL_SET
from webhook.policy.model import GroupKind
from webhook.policy.paths import find_value
from webhook.policy.podlabels import REVISION_HASH, ROLLOUT_HASH

_KRUISE = "apps.kruise.io"

REVISION_FIELDS: Mapping[GroupKind, tuple[str, str]] = MappingProxyType(
    {
        STATEFUL_SET: (REVISION_HASH, "updateRevision"),
        GroupKind(_KRUISE, "StatefulSet"): (REVISION_HASH, "updateRevision"),
        GroupKind(_KRUISE, "CloneSet"): (REVISION_HASH, "updateRevision"),
        ROLLOUT: (ROLLOUT_HASH, "currentPodHash"),
    }
)
"""Kind -> label of its pods, and the field of its status with the value for new pods."""


class PartitionedRevisions(msgspec.Struct, frozen=True):
    """
    The revisions of the next pods of a StatefulSet, by their ordinals.

    Attributes:
        start: The first ordinal.
        partition: Number of pods, from the first one, that are not updated, or not yet.
        current: The label of a new pod below the partition; empty if unknown.
        updated: The label of any other new pod; empty if unknown.
    """

    start: int
    partition: int
    current: dict[str, str]
    updated: dict[str, str]

    def choose(self, ordinals: Container[int]) -> dict[str, str]:
        """Return the label of the next pod: the one with the first ordinal that is not taken."""
        return self.label(find_free_ordinal(self.start, ordinals))

    def label(self, ordinal: int) -> dict[str, str]:
        """Return the label of the new pod with an ordinal."""
        return self.current if self.is_below(ordinal) else self.updated

    def is_below(self, ordinal: int) -> bool:
        """Whether the new pod with an ordinal has the current revision."""
        return ordinal < self.start + self.partition


def read_partitioned(workload: Any) -> PartitionedRevisions:
    """
    Read the revisions of a StatefulSet; the workload, as JSON, need not be valid.

    Source: pkg/controller/statefulset stateful_set_utils.go ``newVersionedStatefulSetPod``.
    """
    partition = read_partition(workload)
    if find_value(workload, ("spec", "updateStrategy")) == {"type": "RollingUpdate"}:
        # kube-apiserver adds no partition to this: pods keep their revision until they are updated
        current = find_value(workload, ("status", "currentReplicas"))
        partition = current if isinstance(current, int) else 0
    return PartitionedRevisions(
        read_start(workload),
        partition,
        read_revision(STATEFUL_SET, workload, is_below=True),
        read_revision(STATEFUL_SET, workload),
    )


def read_start(workload: Any) -> int:
    """Read the first ordinal of a StatefulSet; 0 if it has none, or one that is invalid."""
    start = find_value(workload, ("spec", "ordinals", "start"))
    return start if isinstance(start, int) and not isinstance(start, bool) and start > 0 else 0


def find_free_ordinal(start: int, ordinals: Container[int]) -> int:
    """Find the first ordinal, counted from ``start``, that is not taken."""
    return next(ordinal for ordinal in count(start) if ordinal not in ordinals)


def find_ordinals(names: Iterable[str]) -> frozenset[int]:
    """Find the ordinals of the pods of a StatefulSet in their names."""
    suffixes = (name.rpartition("-")[2] for name in names)
    return frozenset(int(suffix) for suffix in suffixes if suffix.isascii() and suffix.isdigit())


def read_revision(kind: GroupKind, workload: Any, *, is_below: bool = False) -> dict[str, str]:
    """
    Read the label that shows the revision of the next pod; empty if the status does not show it.

    Args:
        workload: The workload as JSON; it need not be valid.
        is_below: Whether the pod is below the partition of a StatefulSet, where new pods have the
            current revision, not the updated one.

    Source: pkg/controller/statefulset stateful_set_utils.go ``newVersionedStatefulSetPod``;
    argo-rollouts pkg/apis/rollouts/v1alpha1 ``RolloutStatus.CurrentPodHash``.
    """
    if kind not in REVISION_FIELDS or (_is_outdated(workload) and not is_below):
        return {}
    key, field = REVISION_FIELDS[kind]
    revision = find_value(workload, ("status", "currentRevision" if is_below else field))
    return {key: revision} if isinstance(revision, str) and revision else {}


def read_partition(workload: Any) -> int:
    """Read how many of the first pods of a StatefulSet are not updated; 0 if it does not say."""
    path = ("spec", "updateStrategy", "rollingUpdate", "partition")
    written = find_value(workload, path)
    return written if isinstance(written, int) else 0


def _is_outdated(workload: Any) -> bool:
    """Whether the controller has not seen the present template yet."""
    generation = find_value(workload, ("metadata", "generation"))
    observed = find_value(workload, ("status", "observedGeneration"))
    # Argo Rollouts writes a string
    return None not in (generation, observed) and str(generation) != str(observed)

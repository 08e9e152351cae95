"""
The number of pods of a workload that an autoscaler scales, as an object of cluster facts gives it.

``ReplicaRange`` is what rules read, ``find_range`` chooses it for one workload. Objects are decoded
in ``webhook.cluster.autoscalers``.
"""

from collections.abc import Iterable

import msgspec

from webhook.policy.kinds import SCALED_OBJECT
from webhook.policy.model import GroupKind


class ReplicaRange(msgspec.Struct, frozen=True):
    """
    The numbers of replicas between which an autoscaler scales.

    Attributes:
        least: At least 0.
        most: At least ``least``.
        source: The autoscaler, as ``HorizontalPodAutoscaler/web``.
        scales_down: Whether it removes single pods.
    """

    least: int
    most: int
    source: str
    scales_down: bool = True

    def __str__(self) -> str:
        """Format the range for a message, as ``replicas (2 to 6 by ScaledObject/web)``."""
        if self.least == self.most:
            return f"{self.most} replicas (by {self.source})"
        return f"replicas ({self.least} to {self.most} by {self.source})"


class Autoscaler(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    A HorizontalPodAutoscaler or a ScaledObject.

    Attributes:
        target: The kind of the workload that it scales.
        target_name: The workload's name; in the autoscaler's own namespace.
        least: Fewest replicas, at least 0.
        most: Most replicas.
        scales_down: Whether it removes single pods; KEDA may still remove all of them.
    """

    kind: GroupKind
    namespace: str
    name: str
    target: GroupKind
    target_name: str
    least: int
    most: int
    scales_down: bool = True

    @property
    def range(self) -> ReplicaRange:
        """The range that it scales in; the most is never below the least."""
        source = f"{self.kind.kind}/{self.name}"
        return ReplicaRange(self.least, max(self.least, self.most), source, self.scales_down)


def find_range(autoscalers: Iterable[Autoscaler], replicas: int | None) -> ReplicaRange | None:
    """
    Find the range of a workload.

    KEDA creates a HorizontalPodAutoscaler for a ScaledObject, whose own numbers take precedence: it
    also scales between 0 and 1. With several autoscalers of a kind the first one by name applies.

    Args:
        autoscalers: Those that target the workload.
        replicas: The workload's own number; a HorizontalPodAutoscaler leaves 0 alone unless its
            least is 0.

    Source: kubernetes pkg/controller/podautoscaler/horizontal.go ``reconcileAutoscaler``; KEDA
    pkg/scaling/executor/scale_scaledobjects.go ``RequestScale``.
    """
    first = min(autoscalers, key=_precedence, default=None)
    if first is None:
        return None
    is_paused = replicas == 0 and first.kind != SCALED_OBJECT and first.least > 0
    return None if is_paused else first.range


def _precedence(autoscaler: Autoscaler) -> tuple[bool, str]:
    return autoscaler.kind != SCALED_OBJECT, autoscaler.name

"""
What PodDisruptionBudgets allow: ``PodDisruptionBudget`` and ``count_desired``.

The number of healthy pods changes while a plan runs only by pods that are not ready: their
replacements are. All other replacements take the place of the pods that were evicted before them.

Source: kubernetes pkg/controller/disruption disruption.go; pkg/registry/core/pod/storage
eviction.go.
"""

import re
from collections.abc import Mapping

import msgspec

from webhook.policy.model import LabelSelector
from webhook.policy.selectors import matches

IntOrPercent = int | str | None
"""A number of pods, or a percentage such as ``50%``."""


class PodDisruptionBudget(msgspec.Struct, frozen=True):
    """
    A PodDisruptionBudget with the pods that it counts.

    Attributes:
        selector: None selects no pod, an empty one all pods of the namespace.
        desired: Number of pods that must stay healthy; None if no disruption is ever allowed.
        healthy: Number of its pods that are ready and not being deleted.
        allows_unhealthy: Whether pods that are not ready are always evicted: the policy
            AlwaysAllow.
        is_exhausted: Whether its status is current, and allows no disruption.
    """

    namespace: str
    name: str
    selector: LabelSelector | None
    desired: int | None
    healthy: int
    allows_unhealthy: bool = False
    is_exhausted: bool = False

    def selects(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Whether a pod is under this budget."""
        return namespace == self.namespace and matches(self.selector, labels)

    def allows(self, recovered: int, *, is_ready: bool) -> bool:
        """
        Whether the eviction API evicts one of the pods.

        Args:
            recovered: Number of pods that were not healthy and have a ready replacement now.

        Source: eviction.go ``Create``, ``checkAndDecrement``.
        """
        healthy = self.healthy + recovered
        if not is_ready:
            if self.allows_unhealthy:
                return True
            if self.desired and healthy >= self.desired:
                return True
        return self.desired is not None and healthy > self.desired


def count_desired(
    minimum: IntOrPercent, maximum: IntOrPercent, pods: int, replicas: int
) -> int | None:
    """
    Count the pods that must stay healthy.

    Args:
        minimum: ``minAvailable``.
        maximum: ``maxUnavailable``; takes precedence.
        pods: Number of pods that the budget selects.
        replicas: Desired replicas of their controllers.

    Returns:
        None if the budget allows no disruption whatever the number of healthy pods.

    Source: disruption.go ``getExpectedPodCount``, ``updatePdbStatus``.
    """
    if maximum is not None:
        return max(0, replicas - _scale(maximum, replicas)) if replicas > 0 else None
    if isinstance(minimum, int):
        return minimum if pods > 0 else None
    return _scale(minimum, replicas) if minimum is not None and replicas > 0 else None


def is_valid_int_or_percent(bound: IntOrPercent) -> bool:
    """
    Whether an API server accepts a bound: no negative number, and no more than 100%.

    Source: kubernetes pkg/apis/policy/validation validation.go ``ValidatePodDisruptionBudgetSpec``.
    """
    if isinstance(bound, str):
        return _is_percentage(bound) is not None
    return bound is None or bound >= 0


_is_percentage = re.compile("0*([0-9]{1,2}|100)%").fullmatch


def _scale(bound: int | str, total: int) -> int:
    """
    Turn a bound into a number of pods; percentages are rounded up.

    Source: apimachinery util/intstr ``GetScaledValueFromIntOrPercent``.
    """
    if isinstance(bound, int):
        return bound
    return -(-int(bound.removesuffix("%")) * total // 100)

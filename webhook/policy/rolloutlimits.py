"""
The limits of a rolling update: pods beyond the replicas, and replicas that may be missing.

``read_limits`` reads them as written, ``RolloutLimits.resolve`` computes numbers of pods. How the
controllers use them is the subject of ``explain.rollingupdate``.

Source: kubernetes pkg/controller/deployment/util ``ResolveFenceposts``, apimachinery
pkg/util/intstr ``GetScaledValueFromIntOrPercent``; argo-rollouts utils/replicaset
``resolveFenceposts``.
"""

import re
from typing import Any, NamedTuple, TypeAlias

import msgspec

from webhook.policy.paths import find_value

_percent = re.compile(r"(?P<number>[0-9]{1,9})%?", re.ASCII).fullmatch
"""Argo Rollouts also takes a percentage without its sign."""

MOST_LIMIT = 2**31 - 1  # of an int32

IntOrPercent: TypeAlias = int | str


class PodLimits(NamedTuple):
    """Numbers of pods: beyond the replicas, and missing from them; one of them is at least 1."""

    surge: int
    unavailable: int

    def __str__(self) -> str:
        """Return ``maxSurge 1, maxUnavailable 0``, with these numbers."""
        return f"maxSurge {self.surge}, maxUnavailable {self.unavailable}"


class RolloutLimits(msgspec.Struct, frozen=True):
    """
    The limits as written: a number of pods, or a percentage of the replicas.

    Attributes:
        surge: Rounded up.
        unavailable: Rounded down.
        doubles: Whether all new pods start before an old one is deleted.
    """

    surge: IntOrPercent = "25%"
    unavailable: IntOrPercent = "25%"
    doubles: bool = False

    @property
    def adds_pods(self) -> bool:
        """Whether there may be pods beyond the replicas."""
        return scale(self.surge, 100, up=True) > 0

    def resolve(self, replicas: int) -> PodLimits:
        """
        Compute the numbers of pods.

        If both are 0, one replica may be missing. More replicas than there are cannot.
        """
        surge, unavailable = scale(self.surge, replicas, up=True), scale(self.unavailable, replicas)
        if not (surge or unavailable):
            unavailable = 1
        return PodLimits(surge, min(unavailable, replicas))


DEFAULT_LIMITS = RolloutLimits()  # Source: pkg/apis/apps/v1/defaults.go

DOUBLING = RolloutLimits("100%", 0, doubles=True)
"""Those of blue-green deployments."""


def read_limits(rolling: Any, default: RolloutLimits = DEFAULT_LIMITS) -> RolloutLimits:
    """
    Read the limits of a ``rollingUpdate``, or of a Rollout's ``canary``.

    Args:
        rolling: As decoded from JSON. What has no valid value has the default.
    """
    surge, unavailable = (find_value(rolling, (name,)) for name in ("maxSurge", "maxUnavailable"))
    return RolloutLimits(
        surge if is_limit(surge) else default.surge,
        unavailable if is_limit(unavailable) else default.unavailable,
    )


def is_limit(value: Any) -> bool:
    """Whether a value is a number of pods or a percentage."""
    if isinstance(value, str):
        return _percent(value) is not None
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_LIMIT


def scale(limit: IntOrPercent, replicas: int, *, up: bool = False) -> int:
    """
    Compute a number of pods.

    Args:
        up: Whether a fraction of a pod is rounded up.
    """
    if isinstance(limit, int):
        return limit
    found = _percent(limit)
    assert found is not None, "limits are percentages if they are texts"
    share = int(found["number"]) * replicas
    return -(-share // 100) if up else share // 100

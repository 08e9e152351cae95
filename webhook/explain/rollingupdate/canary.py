"""
The canary strategy of Argo Rollouts without a traffic router: ``Canary``.

Pauses, analyses and experiments are taken to end well. With a traffic router, the controller
decides by the weights of the traffic, which is not modelled.

Source: argo-rollouts utils/replicaset/canary.go ``CalculateReplicaCountsForBasicCanary``,
rollout/canary.go ``reconcileCanaryReplicaSets``.
"""

from math import ceil, floor, modf
from typing import NamedTuple

from msgspec.structs import replace

from webhook.explain.rollingupdate.sizes import RolloutStrategy, SetSizes
from webhook.explain.runningupdate import take
from webhook.policy.rolloutlimits import PodLimits

ALL = 100  # percent, the weight after the last step
_TIE = 0.5  # of a pod: the controller may round it either way


class _Counts(NamedTuple):
    """Numbers of pods of the new revision and of the stable one."""

    new: int
    stable: int


class Canary(RolloutStrategy, frozen=True):
    """
    Shift pods from the stable revision to the new one by weights.

    The stable ReplicaSet is the last of the old ones. It grows if it has fewer pods than the weight
    leaves to it, as after an update in the middle of a canary that had replaced more of them.

    Attributes:
        weights: In percent; the last one is 100.
    """

    limits: PodLimits
    weights: tuple[int, ...] = (ALL,)

    def __str__(self) -> str:
        limits = f"maxSurge {self.limits.surge}, maxUnavailable {self.limits.unavailable}"
        steps = ", ".join(f"{weight}%" for weight in self.weights)
        return f"canary {steps}, {limits}" if len(self.weights) > 1 else f"canary, {limits}"

    def decide(self, sizes: SetSizes) -> SetSizes:
        """Decide on the stable ReplicaSet first, then on the new one, others, and the next step."""
        desired = approximate(self.replicas, self.weights[sizes.stage], self.limits.surge)
        stable, new = sizes.old[-1], sizes.new
        counts = self._calculate(sizes, desired)
        if counts.stable != stable:
            return replace(sizes, desired=(*sizes.old[:-1], counts.stable, new))
        if counts.new != new:
            return replace(sizes, desired=(*sizes.old, counts.new))
        shrunk = self._shrink_others(sizes)
        if shrunk != sizes.old[:-1]:
            return replace(sizes, desired=(*shrunk, stable, new))
        is_reached = desired == (new, stable) and sizes.available[-1] == new
        is_last = sizes.stage + 1 == len(self.weights)
        if not is_reached or any(sizes.available[:-2]) or is_last:
            return sizes
        return replace(sizes, stage=sizes.stage + 1)

    def _calculate(self, sizes: SetSizes, desired: _Counts) -> _Counts:
        """Source: ``CalculateReplicaCountsForBasicCanary``."""
        stable, new = sizes.old[-1], sizes.new
        room = max(0, self.replicas + self.limits.surge - sum(sizes.desired))
        more_stable = min(room, max(0, desired.stable - stable))
        more_new = min(room - more_stable, max(0, desired.new - new))
        counts = _Counts(new + more_new, stable + more_stable)
        if any(sizes.old[:-1]):
            return counts
        least = self.replicas - self.limits.unavailable
        is_growing = desired.new >= new
        available = sizes.available[-1], sizes.available[-2]
        kept = (
            (min(new, available[0]) if is_growing else new),
            (stable if is_growing else min(stable, available[1])),
        )
        spare = sum(kept) - least
        if spare <= 0:
            return counts
        if is_growing:
            shrunk = max(desired.stable, stable - spare) if stable > desired.stable else counts[1]
            fitted = self._fit((shrunk, available[1]), (counts.new, available[0]))
            return _Counts(fitted[1], fitted[0])
        shrunk = max(desired.new, new - spare) if new > desired.new else counts[0]
        return _Counts(*self._fit((shrunk, available[0]), (counts.stable, available[1])))

    def _fit(self, drained: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
        """
        Keep two numbers of pods, each with how many of them are available, within the limits.

        Source: ``adjustReplicaWithinLimits``.
        """
        most, least = self.replicas + self.limits.surge, self.replicas - self.limits.unavailable
        drain, adjusted = drained[0], other[0]
        adjusted -= max(0, adjusted + drain - most)
        available = min(drained[1], drain) + min(other[1], adjusted)
        lost = max(0, other[1] - adjusted)
        adjusted += min(lost, max(0, least - available))
        return drain - max(0, adjusted + drain - most), adjusted

    def _shrink_others(self, sizes: SetSizes) -> tuple[int, ...]:
        """Source: ``scaleDownOldReplicaSetsForCanary``; the newest ones are deleted first."""
        others = [
            min(size, ready)
            for size, ready in zip(sizes.old[:-1], sizes.available[:-2], strict=True)
        ]
        spare = sum(sizes.available) - (self.replicas - self.limits.unavailable)
        return tuple(reversed(take(others[::-1], others[::-1], spare)))


def approximate(replicas: int, weight: int, surge: int) -> _Counts:
    """
    Find the numbers of pods whose ratio is closest to a weight.

    Source: ``approximateWeightedCanaryStableReplicaCounts``.
    """
    if not replicas:
        return _Counts(0, 0)
    high, low = ceil(replicas * weight / ALL), floor(replicas * weight / ALL)
    may_be_none = weight in (0, ALL) or (replicas == 1 and not surge)
    options: list[_Counts] = []
    for total in (replicas, replicas + 1)[: 2 if surge else 1]:
        if total > replicas or high < replicas or may_be_none:
            options.append(_Counts(high, total - high))
        is_tied = modf(total * (weight / ALL))[0] == _TIE
        if not is_tied and (low or may_be_none):
            options.append(_Counts(low, total - low))
    if not options:
        return _Counts(0, replicas)
    return min(options, key=lambda one: abs(one.new * ALL / sum(one) - weight))

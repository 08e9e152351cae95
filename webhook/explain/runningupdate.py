"""
A rolling update that runs, and how many old pods its controller removes.

``RunningUpdate`` is that of a Deployment, ``shrink_old`` is what the controller decides.
"""

from collections.abc import Iterator, Sequence

import msgspec

from webhook.policy.rolloutlimits import RolloutLimits


class RunningUpdate(msgspec.Struct, frozen=True):
    """
    The rolling update of a Deployment that has pods of several ReplicaSets.

    Attributes:
        replicas: The present desired number of pods; with fewer ones, it is scaled down.
    """

    replicas: int
    limits: RolloutLimits

    def find_most(self, replicas: int) -> int:
        """Find the most pods for a desired number; 0 if that scales the Deployment down."""
        surge = self.limits.resolve(replicas).surge
        return replicas + surge if replicas >= self.replicas else 0

    def count_removable(self, replicas: int, old: tuple[int, int], new: tuple[int, int]) -> int:
        """
        Count the old pods to remove now, at most those beyond a desired number of pods.

        Args:
            old: Number of old pods, and of those that are ready.
            new: The same of new pods.
        """
        least = replicas - self.limits.resolve(replicas).unavailable
        (left,) = shrink_old(old[:1], old[1:], new, least)
        return min(old[0] - left, old[0] + new[0] - replicas)

    def describe_scale(self, replicas: int) -> Iterator[str]:
        """Yield a note if the desired number changes while the update runs."""
        if replicas != self.replicas:
            yield (
                "a rolling update is running: its controller divides a change of replicas among "
                f"the ReplicaSets, within {self.limits.resolve(replicas)}, which is not simulated"
            )

    def describe(self, replicas: int, left: int) -> Iterator[str]:
        """
        Yield a note if pods beyond a desired number stay.

        Args:
            left: Number of pods that are left, those without a node too.
        """
        if left > replicas:
            limits = self.limits.resolve(replicas)
            yield (
                f"a rolling update is running ({limits}), with {left} pods for a number of "
                f"{replicas}: its controller removes old pods only if "
                f"{replicas - limits.unavailable} stay available"
            )


def shrink_old(
    old: Sequence[int], ready: Sequence[int], new: tuple[int, int], least: int
) -> Sequence[int]:
    """
    Decide the next sizes of old ReplicaSets.

    Args:
        old: Their sizes, the first created first.
        ready: How many pods of each are ready.
        new: The size of the new ReplicaSet, and how many of its pods are ready.
        least: How many pods have to be available.

    Source: kubernetes pkg/controller/deployment/rolling.go ``reconcileOldReplicaSets``.
    """
    size, new_ready = new
    most = sum(old) + size - least - (size - new_ready)
    if most <= 0:
        return old
    # Pods that are not available are deleted first, since that makes nothing unavailable.
    unready = [number - available for number, available in zip(old, ready, strict=True)]
    cleaned = take(old, unready, most)
    return take(cleaned, cleaned, sum(ready) + new_ready - least)


def take(sizes: Sequence[int], candidates: Sequence[int], number: int) -> list[int]:
    """
    Reduce sizes, the first ones first, by at most ``number`` in all.

    Args:
        candidates: By how much each may be reduced, at most; negative for not at all.
    """
    reduced: list[int] = []
    for size, most in zip(sizes, candidates, strict=True):
        taken = max(0, min(most, number))
        number -= taken
        reduced.append(size - taken)
    return reduced

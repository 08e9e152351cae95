"""
The least and the largest skew that are possible where it is not determined which pods go.

``RemovalChoice.bound`` is the entry point. A skew depends only on how many pods of each domain
remain, so that the bounds follow from the numbers, and no set of pods is tried.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Mapping

import msgspec

from webhook.explain.removalorder import RemovalGroup
from webhook.policy.advice.findings import join_names
from webhook.policy.placement.census import ObservedPod


class SkewBounds(msgspec.Struct, frozen=True):
    """
    The least and the largest skew that some choice of the removed pods results in.

    Attributes:
        least: At least 0.
        most: At least ``least``.
    """

    least: int
    most: int


class RemovalChoice(msgspec.Struct, frozen=True):
    """
    Pods of which a controller removes some, and it is not determined which.

    Attributes:
        group: The first ones of it are those that are removed here.
        removed: How many are removed; at least 1, and not all.
    """

    group: RemovalGroup
    removed: int

    def describe(self) -> str:
        """Explain that not all pods of the group are removed."""
        pods = self.group.pods
        names = join_names([pod.metadata.name or "" for pod in pods], most=6)
        reason = (
            "they are equal in all that it compares"
            if self.group.equal
            else "the result of its sort depends on the order before"
        )
        return (
            f"which {self.removed} of these {len(pods)} pods the controller removes is not "
            f"determined, since {reason}: {names}"
        )

    def bound(
        self,
        after: Mapping[str, int],
        domains: Collection[str],
        find_value: Callable[[ObservedPod], str | None],
    ) -> SkewBounds:
        """
        Find the bounds of the skew of all choices; O(n log n) for n domains and pods.

        Args:
            after: Value of the topology key -> pods after the removal.
            domains: The values among which the emptiest one counts.
            find_value: Returns the value under which a pod is in ``after``; None if it is not.
        """
        places = [find_value(pod) for pod in self.group.pods]
        before = Counter(after)
        before.update(value for value in places[: self.removed] if value is not None)
        removable = Counter(value for value in places if value is not None)
        fullest = {value: before[value] for value in {*before, *domains}}
        emptiest = {value: before[value] for value in domains}
        if not emptiest:
            return SkewBounds(0, 0)
        return SkewBounds(
            self._find_least(fullest, emptiest, removable),
            self._find_most(fullest, emptiest, removable),
        )

    def _find_least(
        self, fullest: Mapping[str, int], emptiest: Mapping[str, int], removable: Mapping[str, int]
    ) -> int:
        """Find the least skew: the lowest possible maximum, and the highest possible minimum."""

        def allows_maximum(height: int) -> bool:
            """Whether the removed pods suffice to leave no value more pods than this."""
            surplus = {value: max(0, number - height) for value, number in fullest.items()}
            fits = all(number <= removable.get(value, 0) for value, number in surplus.items())
            return fits and sum(surplus.values()) <= self.removed

        def forbids_minimum(height: int) -> bool:
            """Whether so many pods go that they cannot leave every domain this number."""
            kept = {
                value: min(removable.get(value, 0), number - height)
                for value, number in emptiest.items()
            }
            others = len(self.group.pods) - sum(removable.get(value, 0) for value in emptiest)
            return min(kept.values()) < 0 or sum(kept.values()) + others < self.removed

        heights = range(max(fullest.values()) + 1)
        highest = bisect_left(heights, 1, key=allows_maximum)
        lowest = bisect_left(heights, 1, key=forbids_minimum) - 1
        # Where the two cross, all domains can have the same number.
        return max(0, highest - lowest)

    def _find_most(
        self, fullest: Mapping[str, int], emptiest: Mapping[str, int], removable: Mapping[str, int]
    ) -> int:
        """Find the largest skew: one value loses as few pods as possible, another one most."""

        def keep_most(value: str) -> int:
            others = len(self.group.pods) - removable.get(value, 0)
            return fullest[value] - max(0, self.removed - others)

        def keep_least(value: str) -> int:
            return emptiest[value] - min(self.removed, removable.get(value, 0))

        # What one value keeps does not depend on which other value loses most, so that two of each
        # are enough to find two different ones.
        full = sorted(fullest, key=keep_most)[-2:]
        empty = sorted(emptiest, key=keep_least)[:2]
        skews = [keep_most(x) - keep_least(y) for x in full for y in empty if x != y]
        return max([0, *skews])

"""
The ranks that pods hold in one topology domain; ``HeldRanks`` finds the lowest free one.

A search continues from the lowest rank that was free, so that binding 5 000 pods one by one takes
as long for the last as for the first.
"""


class HeldRanks:
    """A multiset of ranks: two replicas may give one rank to two pods."""

    __slots__ = ("_holders", "lowest_free")

    def __init__(self) -> None:
        """Start with no rank held."""
        self._holders: dict[int, int] = {}  # rank -> number of pods
        self.lowest_free = 1
        """The smallest positive rank that no pod holds."""

    def __bool__(self) -> bool:
        return bool(self._holders)

    def add(self, rank: int) -> None:
        """Count a pod that holds a rank."""
        self._holders[rank] = self._holders.get(rank, 0) + 1
        while self.lowest_free in self._holders:
            self.lowest_free += 1

    def remove(self, rank: int) -> None:
        """
        Stop counting a pod that holds a rank.

        Raises:
            KeyError: No pod holds it.
        """
        self._holders[rank] -= 1
        if not self._holders[rank]:
            del self._holders[rank]
            self.lowest_free = min(self.lowest_free, rank)

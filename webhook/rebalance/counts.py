"""
Constraints compiled for a search: ``CellCounts`` and ``CompiledLimit``.

A *state* is the number of pods of each kind in each cell, from which ``CellCounts.count_pods``
derives the pods of each domain.
"""

from collections.abc import Sequence

import msgspec

from webhook.policy.placement.tallies import PodTally
from webhook.rebalance.cells import State, StateSpace


class CellCounts(msgspec.Struct, frozen=True):
    """
    How one selector counts pods by one topology key.

    The first domains, ``size`` in number, are those with eligible nodes; the others are values of
    ineligible nodes, where nothing is counted.

    Attributes:
        values: By domain, its value of the topology key.
        domains: By cell, its domain; None without the key.
        eligible: The cells that count, each with its domain.
        kinds: The kinds that count.
        fixed: By domain, the counted pods that stay.
    """

    values: tuple[str, ...]
    size: int
    domains: tuple[int | None, ...]
    eligible: tuple[tuple[int, int], ...]
    kinds: tuple[int, ...]
    fixed: tuple[int, ...]

    def count_pods(self, state: State) -> list[int]:
        """Count the pods of each domain."""
        pods = list(self.fixed)
        if len(self.kinds) == 1:
            kind = self.kinds[0]
            for cell, domain in self.eligible:
                pods[domain] += state[cell][kind]
            return pods
        for cell, domain in self.eligible:
            column = state[cell]
            pods[domain] += sum(column[kind] for kind in self.kinds)
        return pods


def compile_counts(tally: PodTally, namespace: str, space: StateSpace) -> CellCounts:
    """
    Compile the counts of a constraint; O(cells + kinds).

    Args:
        tally: Without the pods that may move.
        namespace: Of the pods that count.
    """
    spread, within, nodes = tally.spread, tally.domains.values, space.nodes
    labels = [node.labels.get(spread.topology_key) for node in nodes]
    values = dict.fromkeys((*tally.domains.sizes, *(one for one in labels if one is not None)))
    numbers = {value: number for number, value in enumerate(values)}
    places = ((cell, within.get(node.name)) for cell, node in enumerate(nodes))
    replacements = [kind.replacement for kind in space.kinds]
    return CellCounts(
        values=tuple(values),
        size=len(tally.domains.sizes),
        domains=tuple(None if value is None else numbers[value] for value in labels),
        eligible=tuple((cell, numbers[value]) for cell, value in places if value is not None),
        kinds=tuple(
            index
            for index, pod in enumerate(replacements)
            if pod.namespace == namespace and spread.counts(pod.labels)
        ),
        fixed=tuple(tally.pods.get(value, 0) for value in values),
    )


class CompiledLimit(msgspec.Struct, frozen=True):
    """
    What a constraint requires of its counts.

    Attributes:
        counts: Index of its ``CellCounts``.
        matches_pod: Whether it counts the pods that have it.
    """

    counts: int
    max_skew: int
    min_domains: int
    matches_pod: bool

    def find_most(self, pods: Sequence[int], size: int) -> int:
        """Find the most pods of a domain that one more pod may go to."""
        minimum = min(pods[:size]) if size >= max(1, self.min_domains) else 0
        return minimum + self.max_skew - self.matches_pod

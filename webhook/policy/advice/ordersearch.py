"""
Whether pods have a place in every order in which kube-scheduler can place them.

``fit_in_every_order`` is the entry point. One constraint is decided by arithmetic, several by a
search through everything that can happen, up to a limit. Nodes that are in the same domains of
every constraint are one cell. Where each domain of a constraint has one cell, as that of a hostname
has, cells with as many pods are interchangeable, which keeps the search small.

Source: kube-scheduler plugins/podtopologyspread/filtering.go ``Filter``.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import lt
from typing import TypeAlias

MOST_STATES = 2000  # that a search looks at; 80 ms with 12 nodes in 3 zones

Cell: TypeAlias = tuple[int, ...]
"""Number of the domain of each constraint that a node is in."""


@dataclass(frozen=True)
class DomainLimit:
    """
    The limit that one constraint sets to the pods of each domain.

    Attributes:
        max_skew: Number of pods that a domain may have above the global minimum; at least 1.
        pods: Pods in each domain that counts, at the start; cells name domains by their index.
        has_minimum: Whether the least full domain sets the minimum; otherwise it is 0, because
            there are fewer domains than minDomains.
        adds: Whether the pods to place count themselves.
    """

    max_skew: int
    pods: tuple[int, ...]
    has_minimum: bool = True
    adds: bool = True

    def fits(self, domain: int) -> bool:
        """Whether a domain accepts a pod at the start."""
        minimum = min(self.pods) if self.has_minimum else 0
        return self.pods[domain] + self.adds - minimum <= self.max_skew


def fit_in_every_order(
    limits: Sequence[DomainLimit], cells: Iterable[Cell], pods: int
) -> bool | None:
    """
    Find out whether pods have a place, whatever node each of them chooses.

    Args:
        limits: One for each constraint.
        cells: Those of the nodes that the pods can go to; they may repeat.
        pods: Number of pods to place, one after another.

    Returns:
        None if the search reaches ``MOST_STATES``.
    """
    fixed = [(i, limit) for i, limit in enumerate(limits) if not limit.adds]
    adding = [i for i, limit in enumerate(limits) if limit.adds]
    opened = {
        tuple(cell[i] for i in adding)
        for cell in cells
        if all(limit.fits(cell[i]) for i, limit in fixed)
    }
    if not opened:
        return pods == 0
    if not adding:
        return True
    if len(adding) == 1:
        return count_places(limits[adding[0]], {domain for (domain,) in opened}, pods) == pods
    return _search([limits[i] for i in adding], sorted(opened), pods)


def count_places(limit: DomainLimit, opened: Iterable[int], most: int) -> int:
    """
    Count the pods that one constraint allows; their order makes no difference.

    Args:
        opened: Indexes of the domains that the pods can go to; at least one.
        most: Number of pods to place.
    """
    # The least full domain always accepts a pod, unless no pod can go there.
    free = set(opened)
    closed = [number for domain, number in enumerate(limit.pods) if domain not in free]
    if limit.has_minimum and not closed:
        return most
    minimum = min(closed) if limit.has_minimum else 0
    places = (minimum + limit.max_skew - limit.pods[domain] for domain in free)
    return min(most, sum(number for number in places if number > 0))


_Group: TypeAlias = tuple[Cell, tuple[int, ...]]
"""What cells that are alike have: domains of shared constraints, and pods by each of the others."""

_State: TypeAlias = tuple[tuple[tuple[int, ...], ...], frozenset[tuple[_Group, int]]]
"""Pods in the domains of each shared constraint; groups, each with its number of cells."""


def _search(limits: Sequence[DomainLimit], opened: Sequence[Cell], pods: int) -> bool | None:
    search = _Search(limits, opened)
    states, seen = {search.start}, 0
    for _ in range(pods):
        following: set[_State] = set()
        for state in states:
            found = set(search.follow(state))
            if not found:
                return False
            following |= found
            if seen + len(following) > MOST_STATES:
                return None
        states, seen = following, seen + len(following)
    return True


class _Search:
    """
    The states that one more pod leads to.

    A constraint is shared if one of its domains has several cells.
    """

    def __init__(self, limits: Sequence[DomainLimit], opened: Sequence[Cell]) -> None:
        free = [set(domains) for domains in zip(*opened, strict=True)]
        indexes = range(len(limits))
        self._limits = limits
        self._shared = [i for i in indexes if len(free[i]) < len(opened)]
        self._single = [i for i in indexes if len(free[i]) == len(opened)]
        self._closed = [
            [pods for domain, pods in enumerate(limit.pods) if domain not in free[i]]
            for i, limit in enumerate(limits)
        ]
        groups: Counter[_Group] = Counter(map(self._group, opened))
        self.start: _State = (
            tuple(limits[i].pods for i in self._shared),
            frozenset(groups.items()),
        )

    def _group(self, cell: Cell) -> _Group:
        own = (self._limits[i].pods[cell[i]] for i in self._single)
        return tuple(cell[i] for i in self._shared), tuple(own)

    def follow(self, state: _State) -> Iterator[_State]:
        """Yield the states after one more pod."""
        counts, groups = state
        owns = zip(*(own for (_, own), _ in groups), strict=True)
        most = [self._find_most(i, pods) for i, pods in zip(self._shared, counts, strict=True)]
        most_own = [self._find_most(i, pods) for i, pods in zip(self._single, owns, strict=True)]
        for group, cells in groups:
            domains, own = group
            inside = (pods[domain] for domain, pods in zip(domains, counts, strict=True))
            if all(map(lt, inside, most)) and all(map(lt, own, most_own)):
                yield _add_pod(counts, groups, group, cells)

    def _find_most(self, index: int, pods: Iterable[int]) -> int:
        """Find the most pods of a domain, from those of every open domain."""
        limit = self._limits[index]
        return limit.max_skew + (min([*pods, *self._closed[index]]) if limit.has_minimum else 0)


def _add_pod(
    counts: tuple[tuple[int, ...], ...],
    groups: frozenset[tuple[_Group, int]],
    chosen: _Group,
    cells: int,
) -> _State:
    """Place a pod on one of the cells of a group."""
    domains, own = chosen
    after = tuple(
        (*pods[:domain], pods[domain] + 1, *pods[domain + 1 :])
        for domain, pods in zip(domains, counts, strict=True)
    )
    changed = Counter(dict(groups))
    changed[chosen] = cells - 1
    changed[domains, tuple(pods + 1 for pods in own)] += 1
    return after, frozenset((+changed).items())

"""
Corrections of ranks after pods are bound; use ``plan_corrections``.

A binding gives the lowest free rank in a domain, and nothing changes it afterwards. Ranks are wrong
once pods in the middle are deleted, two replicas hand out one rank, or no replica answers. A
correction also makes ranks follow the nodes of a domain in turn: a scale-down then keeps the nodes
of a domain even too.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from webhook.policy.scaledown.binding import RankedPod
from webhook.policy.scaledown.ranks import FOREIGN_COST, LAST_RANK, UNRANKED

FindDomain: TypeAlias = Callable[[str, str], str | None]
"""Takes a node and a topology key, returns the node's domain; None without one."""


class CorrectionReason(StrEnum):
    """Why a rank is corrected; label of ``evenspread_rank_repairs_total``."""

    UNRANKED = "unranked"
    FOREIGN = "foreign-cost"
    DUPLICATE = "duplicate"
    GAP = "gap"
    ORDER = "order"


CONTESTED = "contested"
"""Further label of that metric: another client writes the cost, and the pod keeps it."""


class Correction(NamedTuple):
    """
    A rank that a pod ought to have.

    Attributes:
        name: Name of the pod.
        before: Its rank until now; see ``RankedPod``.
    """

    name: str
    before: int
    rank: int
    reason: CorrectionReason


class _Held(NamedTuple):
    """A pod in a domain, in the order of the ranks: pods without one come last."""

    rank: int
    name: str
    node: str


def plan_corrections(
    pods: Mapping[str, RankedPod], domain_of: FindDomain, left: Collection[str] = ()
) -> list[Correction]:
    """
    Plan the ranks of the pods of one controller.

    In a domain, the first pods of all nodes come first, then the second ones, and so on; pods of
    the same place keep the order of their ranks.

    Args:
        pods: By name; pods that are not bound, or whose node has no domain, keep what they have.
        domain_of: Finds the domain of a node.
        left: Names of pods whose costs other clients write; they keep them.

    Returns:
        One correction for each pod whose rank is wrong, domain by domain, in the order of ranks.
    """
    domains: defaultdict[tuple[str, str], list[_Held]] = defaultdict(list)
    for name, pod in pods.items():
        domain = domain_of(pod.node, pod.key) if pod.node and name not in left else None
        if domain is not None:
            rank = pod.rank if pod.rank > 0 else LAST_RANK + 1
            domains[pod.key, domain].append(_Held(rank, name, pod.node))
    return [
        correction
        for held in domains.values()
        for correction in _list_corrections(sorted(held), pods)
    ]


def _list_corrections(held: Sequence[_Held], pods: Mapping[str, RankedPod]) -> Iterator[Correction]:
    """List the corrections in one domain, whose pods are in the order of their ranks."""
    number = Counter(item.rank for item in held)
    by_rank = {item.name: rank for rank, item in enumerate(held, 1)}
    for rank, item in enumerate(_order_by_place(held), 1):
        before = pods[item.name].rank
        if before != rank:
            is_gap = by_rank[item.name] == rank
            reason = _explain(before, is_shared=number[item.rank] > 1, is_gap=is_gap)
            yield Correction(item.name, before, rank, reason)


def _order_by_place(held: Sequence[_Held]) -> list[_Held]:
    """Order pods by their place among those on their node, and then by rank."""
    places: Counter[str] = Counter()
    placed: list[tuple[int, _Held]] = []
    for item in held:
        places[item.node] += 1
        placed.append((places[item.node], item))
    return [item for _, item in sorted(placed)]


def _explain(before: int, *, is_shared: bool, is_gap: bool) -> CorrectionReason:
    if before == UNRANKED:
        return CorrectionReason.UNRANKED
    if before == FOREIGN_COST:
        return CorrectionReason.FOREIGN
    if is_shared:
        return CorrectionReason.DUPLICATE
    return CorrectionReason.GAP if is_gap else CorrectionReason.ORDER

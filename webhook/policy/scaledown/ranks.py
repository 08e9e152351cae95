"""
Ranks of pods in a topology domain, and the deletion costs that stand for them.

A ReplicaSet controller removes pods with a lower cost first. Pods without the annotation have cost
0, so that they go before pods of the ranks 1 to 999. Other clients write deletion costs too, any
number: so a second annotation names the rank, and ``read_rank`` finds a rank only where both agree.

Source: k8s.io/api core/v1 annotation_key_constants.go ``PodDeletionCost``; pkg/apis/core/v1/helper
``GetDeletionCostFromPodAnnotations``.
"""

import re
from collections.abc import Collection

SCALE_DOWN_LABEL = "evenspread.io/scale-down"
KEEP_SPREAD = "keep-spread"
"""The label, and its value, of pods that are ranked."""

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
RANK_ANNOTATION = "evenspread.io/rank"

UNRANKED, FOREIGN_COST = 0, -1
"""In place of a rank: the pod has no deletion cost, or one that is no rank."""

FIRST_COST, COST_STEP = 1_000_000, 1_000
LAST_RANK = (FIRST_COST + 2**31) // COST_STEP  # the cost is an int32
_match_cost = re.compile(r"(-0*|(?!0.))([0-9]{1,10})", re.ASCII).fullmatch  # ``validFirstDigit``
_match_rank = re.compile(r"[1-9][0-9]{0,6}", re.ASCII).fullmatch  # ``LAST_RANK`` has seven digits


def cost_of_rank(rank: int) -> int:
    """Return the deletion cost of a pod of a rank from 1 to ``LAST_RANK``; positive up to 999."""
    return FIRST_COST - COST_STEP * rank


def annotate_rank(rank: int) -> dict[str, str]:
    """Return the annotations of a pod of a rank from 1 to ``LAST_RANK``."""
    return {DELETION_COST: str(cost_of_rank(rank)), RANK_ANNOTATION: str(rank)}


def read_rank(cost: str | None, rank: str | None) -> int:
    """
    Read the rank of a pod.

    Args:
        cost: Its annotation ``DELETION_COST``; None without it.
        rank: Its annotation ``RANK_ANNOTATION``; None without it.

    Returns:
        ``UNRANKED`` without a cost, ``FOREIGN_COST`` if the cost is not that of the rank.
    """
    if cost is None:
        return UNRANKED
    if rank is None or not _match_rank(rank):
        return FOREIGN_COST
    found = int(rank)
    return found if found <= LAST_RANK and cost == str(cost_of_rank(found)) else FOREIGN_COST


def lowest_free_rank(held: Collection[int]) -> int:
    """Return the smallest positive number that no pod holds; takes each held rank once or more."""
    taken, rank = frozenset(held), 1
    while rank in taken:
        rank += 1
    return rank


def parse_cost(written: str) -> int | None:
    """Parse the value of the annotation ``DELETION_COST``; None if kube-apiserver refuses it."""
    if (parts := _match_cost(written)) is None:
        return None
    cost = -int(parts[2]) if parts[1] else int(parts[2])
    return cost if -(2**31) <= cost < 2**31 else None

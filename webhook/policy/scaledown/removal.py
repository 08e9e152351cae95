"""
What the removal of ranks changes in a pod; use ``plan_removal``.

A deletion cost that is no rank stays: another client, or the author of the pod, wrote it.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeAlias

from webhook.policy.scaledown.ranks import (
    DELETION_COST,
    SCALE_DOWN_LABEL,
    parse_cost,
    rank_of_cost,
)

MetadataPatch: TypeAlias = dict[str, dict[str, None]]
"""Merge patch of metadata: None removes a label or an annotation."""


class CostKind(StrEnum):
    """Kind of the deletion cost of a pod."""

    RANK = "rank"
    FOREIGN = "foreign-cost"
    NONE = "unranked"


def classify_cost(annotations: Mapping[str, str]) -> CostKind:
    """Return the kind of the deletion cost in the annotations of a pod."""
    if DELETION_COST not in annotations:
        return CostKind.NONE
    cost = parse_cost(annotations[DELETION_COST])
    is_rank = cost is not None and rank_of_cost(cost) is not None
    return CostKind.RANK if is_rank else CostKind.FOREIGN


def plan_removal(cost: CostKind) -> MetadataPatch:
    """Plan the removal of the label from a pod with it, and of the cost if it is a rank."""
    patch: MetadataPatch = {"labels": {SCALE_DOWN_LABEL: None}}
    if cost is CostKind.RANK:
        patch["annotations"] = {DELETION_COST: None}
    return patch

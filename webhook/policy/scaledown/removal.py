"""
What the removal of ranks changes in a pod; use ``plan_removal``.

A deletion cost that is no rank stays: another client, or the author of the pod, wrote it. The
annotation that names the rank is ours, and does not.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeAlias

from webhook.policy.scaledown.ranks import (
    DELETION_COST,
    FOREIGN_COST,
    RANK_ANNOTATION,
    SCALE_DOWN_LABEL,
    UNRANKED,
    read_rank,
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
    rank = read_rank(annotations.get(DELETION_COST), annotations.get(RANK_ANNOTATION))
    return {UNRANKED: CostKind.NONE, FOREIGN_COST: CostKind.FOREIGN}.get(rank, CostKind.RANK)


def plan_removal(cost: CostKind) -> MetadataPatch:
    """Plan the removal of label and rank from a pod with the label, and of a cost if it is ours."""
    annotations: dict[str, None] = {RANK_ANNOTATION: None}
    if cost is CostKind.RANK:
        annotations[DELETION_COST] = None
    return {"labels": {SCALE_DOWN_LABEL: None}, "annotations": annotations}

"""The removal of ranks keeps the deletion costs of other clients."""

import pytest

from webhook.policy.scaledown.ranks import (
    DELETION_COST,
    RANK_ANNOTATION,
    SCALE_DOWN_LABEL,
    annotate_rank,
    cost_of_rank,
)
from webhook.policy.scaledown.removal import CostKind, classify_cost, plan_removal

COSTS: dict[str, tuple[dict[str, str], CostKind]] = {
    "no annotation": ({}, CostKind.NONE),
    "a rank without a cost": ({RANK_ANNOTATION: "1"}, CostKind.NONE),
    "the first rank": (annotate_rank(1), CostKind.RANK),
    "a rank beyond 999": (annotate_rank(1_200), CostKind.RANK),
    "the cost of a rank": ({DELETION_COST: str(cost_of_rank(1))}, CostKind.FOREIGN),
    "the cost of another rank": (annotate_rank(1) | {DELETION_COST: "1000"}, CostKind.FOREIGN),
    "a text": ({DELETION_COST: "high"}, CostKind.FOREIGN),
}


@pytest.mark.parametrize(("annotations", "kind"), COSTS.values(), ids=COSTS)
def test_a_cost_is_classified(annotations: dict[str, str], kind: CostKind) -> None:
    assert classify_cost({"other": "1", **annotations}) is kind


@pytest.mark.parametrize("kind", CostKind)
def test_label_and_rank_are_removed_and_only_a_cost_of_ours(kind: CostKind) -> None:
    patch = plan_removal(kind)

    cost: dict[str, None] = {DELETION_COST: None} if kind is CostKind.RANK else {}
    assert patch["labels"] == {SCALE_DOWN_LABEL: None}
    assert patch["annotations"] == {RANK_ANNOTATION: None, **cost}

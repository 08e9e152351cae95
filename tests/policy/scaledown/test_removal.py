"""The removal of ranks keeps the deletion costs of other clients."""

import pytest

from webhook.policy.scaledown.ranks import DELETION_COST, SCALE_DOWN_LABEL, cost_of_rank
from webhook.policy.scaledown.removal import CostKind, classify_cost, plan_removal

COSTS: dict[str, tuple[dict[str, str], CostKind]] = {
    "no annotation": ({}, CostKind.NONE),
    "the first rank": ({DELETION_COST: str(cost_of_rank(1))}, CostKind.RANK),
    "a rank beyond 999": ({DELETION_COST: str(cost_of_rank(1_200))}, CostKind.RANK),
    "a cost between two ranks": ({DELETION_COST: "998500"}, CostKind.FOREIGN),
    "a cost above all ranks": ({DELETION_COST: "1000000"}, CostKind.FOREIGN),
    "a text": ({DELETION_COST: "high"}, CostKind.FOREIGN),
}


@pytest.mark.parametrize(("annotations", "kind"), COSTS.values(), ids=COSTS)
def test_a_cost_is_classified(annotations: dict[str, str], kind: CostKind) -> None:
    assert classify_cost({"other": "1", **annotations}) is kind


@pytest.mark.parametrize("kind", CostKind)
def test_the_label_is_removed_and_a_rank_with_it(kind: CostKind) -> None:
    patch = plan_removal(kind)

    assert patch["labels"] == {SCALE_DOWN_LABEL: None}
    assert patch.get("annotations") == ({DELETION_COST: None} if kind is CostKind.RANK else None)

import pytest

from tests.rebalance.fullclusters import SOFT, by_host, full_cluster
from webhook.policy.model import Constraint

ROWS: dict[str, tuple[tuple[int, int, int], tuple[Constraint, ...], int]] = {
    "a soft constraint over zones": ((200, 120, 80), (SOFT,), 66),
    "a hard one over nodes that does not hold": ((200, 120, 80), (SOFT, by_host(2)), 66),
    "a zone with few pods": ((200, 120, 30), (SOFT, by_host(8)), 86),
    "a zone without pods": ((200, 120, 0), (SOFT, by_host(8)), 106),
}


@pytest.mark.parametrize(("stable", "constraints", "number"), ROWS.values(), ids=ROWS)
def test_pods_that_no_constraint_counts_may_take_the_room_of_a_zone(
    stable: tuple[int, int, int], constraints: tuple[Constraint, ...], number: int
) -> None:
    canary = {"a": 220, "b": 300, "c": 330}

    plan = full_cluster(dict(zip("abc", stable, strict=True)), canary, *constraints).plan()

    assert [result.obstacle for result in plan.goals] == [None] * len(constraints)
    assert (len(plan.steps), plan.least) == (number, number)

"""Canaries scale as the tables of Argo Rollouts' own tests say, and step by step to the end."""

import pytest

from webhook.explain.rollingupdate.canary import ALL, Canary, approximate
from webhook.explain.rollingupdate.sizes import SetSizes
from webhook.policy.rolloutlimits import IntOrPercent, PodLimits, RolloutLimits

Pair = tuple[int, int]

Case = tuple[int, int, tuple[IntOrPercent, IntOrPercent], Pair, Pair, Pair]

# replicas, weight, maxSurge and maxUnavailable; size and available pods of stable and canary; and
# the sizes after that. Source: utils/replicaset/canary_test.go TestCalculateReplicaCountsForCanary
CASES: dict[str, Case] = {
    "Do not add extra RSs in scaleDownCount when .Spec.Replica < AvailableReplicas": (
        10, 100, (3, 0), (7, 8), (6, 3), (7, 6)
    ),
    "Use max surge int to scale up canary": (
        10, 20, (2, 0), (10, 10), (0, 0), (10, 2)
    ),
    "Use max surge percentage to scale up canary": (
        10, 20, ("20%", 0), (10, 10), (0, 0), (10, 2)
    ),
    "Scale down extra stable replicas": (
        10, 20, ("20%", 0), (10, 10), (2, 2), (8, 2)
    ),
    "Do not go past max surge": (
        10, 30, (2, 0), (10, 10), (0, 0), (10, 2)
    ),
    "Use max unavailable int to scale down stableRS": (
        10, 20, (0, 2), (10, 10), (0, 0), (8, 0)
    ),
    "Use max surge percentage to scale down stableRS": (
        10, 20, (0, "20%"), (10, 10), (0, 0), (8, 0)
    ),
    "Do not go past max unavailable": (
        10, 30, (0, 2), (10, 10), (0, 0), (8, 0)
    ),
    "Use Max Surge and Max Unavailable": (
        10, 50, (2, 1), (10, 10), (0, 0), (9, 2)
    ),
    "Scale canaryRS to zero on setWeight of 0%": (
        10, 0, (1, 1), (10, 10), (1, 1), (10, 0)
    ),
    "Scale stable to zero on setWeight of 100%": (
        10, 100, (1, 1), (1, 1), (10, 10), (0, 10)
    ),
    "Do not scale canaryRS down to zero on non-zero weight": (
        1, 20, (1, 0), (1, 1), (0, 0), (1, 1)
    ),
    "Do not scale canaryRS down to zero on non-100 weight": (
        1, 90, (1, 0), (1, 1), (0, 0), (1, 1)
    ),
    "Scale canaryRS to zero on <50 weight without surge": (
        1, 49, (0, 1), (1, 1), (0, 0), (1, 0)
    ),
    "Scale stableRS down to zero on >=50 weight without surge": (
        1, 51, (0, 1), (1, 1), (0, 0), (0, 0)
    ),
    "Scale canaryRS to one on >=50 weight without surge and stable replicas": (
        1, 51, (0, 1), (0, 0), (0, 0), (0, 1)
    ),
    "Scale down canaryRS and stable": (
        10, 30, (0, 3), (8, 5), (4, 4), (7, 3)
    ),
    "Scale down stable and canary available": (
        10, 100, (1, 0), (10, 2), (10, 8), (2, 9)
    ),
    "Do not round past maxSurge with uneven setWeight divisor": (
        10, 5, (0, 1), (10, 10), (0, 0), (9, 0)
    ),
    "Do not round past maxSurge with uneven setWeight divisor (part 2)": (
        10, 5, (0, 1), (9, 9), (0, 0), (9, 1)
    ),
    "Use maxUnavailable of 1 when percentage of maxUnavailable and maxSurge result in 0 replicas": (
        10, 10, ("0%", "0%"), (10, 10), (0, 0), (9, 0)
    ),
    "honor maxSurge during scale up when stableRS unavailable": (
        4, 100, (1, 0), (4, 1), (0, 0), (4, 1)
    ),
    "scale down to maxunavailable without exceeding maxSurge": (
        3, 99, (0, 2), (3, 3), (0, 0), (1, 0)
    ),
    "scale down to maxunavailable without exceeding maxSurge (part 2)": (
        3, 99, (0, 2), (1, 1), (0, 0), (1, 2)
    ),
    "honor maxUnavailable when aborting or reducing weight part 1": (
        4, 0, (1, 0), (0, 0), (4, 4), (1, 4)
    ),
    "honor maxUnavailable when aborting or reducing weight part 2": (
        4, 0, (1, 0), (1, 0), (4, 4), (1, 4)
    ),
    "honor maxUnavailable when aborting or reducing weight part 3": (
        4, 0, (1, 0), (1, 1), (4, 4), (1, 3)
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_sizes_of_stable_and_canary(case: Case) -> None:
    replicas, weight, limits, stable, canary, expected = case
    strategy = Canary(replicas, RolloutLimits(*limits).resolve(replicas), (weight,))
    sizes = SetSizes((stable[0], canary[0]), (stable[1], canary[1]))

    decided = strategy.decide(sizes).desired

    # one synchronization scales one ReplicaSet, the stable one first
    first = (expected[0], canary[0]) if expected[0] != stable[0] else expected
    assert decided == first


def follow_sizes(strategy: Canary, sizes: SetSizes) -> list[tuple[int, ...]]:
    """List the sizes until nothing changes, if all pods are available at once."""
    seen: list[tuple[int, ...]] = []
    while (after := strategy.decide(sizes)) != sizes:
        if after.desired != sizes.desired:
            seen.append(after.desired)
        sizes = SetSizes(after.desired, after.desired, after.stage)
    assert strategy.is_finished(sizes)
    return seen


def test_a_canary_goes_through_its_weights() -> None:
    strategy = Canary(4, PodLimits(1, 0), (25, 50, ALL))

    sizes = follow_sizes(strategy, SetSizes((4, 0), (4, 0)))

    assert sizes == [(4, 1), (3, 1), (3, 2), (2, 2), (2, 3), (1, 3), (1, 4), (0, 4)]
    assert str(strategy) == "canary 25%, 50%, 100%, maxSurge 1, maxUnavailable 0"


def test_an_intermediate_revision_is_removed_first() -> None:
    strategy = Canary(3, PodLimits(1, 1))

    sizes = follow_sizes(strategy, SetSizes((2, 2, 0), (2, 2, 0)))

    assert sizes == [(0, 2, 0), (0, 2, 2), (0, 0, 2), (0, 0, 3)]
    assert str(strategy) == "canary, maxSurge 1, maxUnavailable 1"


def test_a_weight_of_half_takes_the_larger_canary() -> None:
    assert approximate(3, 50, 0) == (2, 1)
    assert approximate(0, 50, 0) == (0, 0)
    assert approximate(1, 5, 0) == (0, 1)
    assert approximate(2, 75, 0) == (0, 2), "one pod of each is as far off as two"


def test_a_canary_that_shrinks_keeps_enough_pods() -> None:
    strategy = Canary(10, PodLimits(1, 0), (10,))

    assert strategy.decide(SetSizes((5, 5), (5, 5))).desired == (6, 5)
    assert strategy.decide(SetSizes((6, 5), (6, 5))).desired == (6, 4)

"""ReplicaSets are scaled as the controllers do, in numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.explain.rollingupdate.sizes import (
    BlueGreen,
    Recreate,
    RollingUpdate,
    RolloutStrategy,
    SetSizes,
)
from webhook.policy.rolloutlimits import PodLimits


def rolling(replicas: int, surge: int, unavailable: int) -> RollingUpdate:
    return RollingUpdate(replicas, PodLimits(surge, unavailable))


# strategy; sizes, and available pods; the sizes after that
DECISIONS: dict[
    str, tuple[RolloutStrategy, tuple[int, ...], tuple[int, ...], tuple[int, ...]]
] = {
    "the new set takes all surge": (rolling(10, 3, 2), (10, 0), (10, 0), (10, 3)),
    "old pods go as far as they may be missing": (
        rolling(10, 3, 2), (10, 3), (10, 0), (8, 3)
    ),
    "the new set grows into that": (rolling(10, 3, 2), (8, 3), (8, 0), (8, 5)),
    "nothing to do before pods are available": (rolling(10, 3, 2), (8, 5), (8, 0), (8, 5)),
    "an old pod that is down keeps the others": (rolling(10, 3, 2), (8, 5), (7, 0), (8, 5)),
    "old pods go for new ones": (rolling(10, 3, 2), (8, 5), (8, 2), (6, 5)),
    "the new set is never too large": (rolling(2, 5, 0), (2, 0), (2, 0), (2, 2)),
    "a new set that is too large is left to scaling": (rolling(2, 1, 0), (0, 3), (0, 3), (0, 3)),
    "unhealthy old pods go first": (rolling(3, 1, 0), (3, 1), (2, 0), (3, 1)),
    "unhealthy old pods go, and no other": (rolling(3, 1, 1), (3, 1), (2, 0), (2, 1)),
    "the oldest set goes first": (rolling(4, 1, 0), (1, 3, 1), (1, 3, 1), (0, 3, 1)),
    "unhealthy pods of each set, and one more": (
        rolling(4, 2, 2), (2, 2, 2), (1, 1, 1), (0, 1, 2)
    ),
    "recreate deletes all": (Recreate(3), (1, 2, 0), (1, 2, 0), (0, 0, 0)),
    "recreate creates all": (Recreate(3), (0, 0, 0), (0, 0, 0), (0, 0, 3)),
    "blue and green": (BlueGreen(3), (3, 0), (3, 0), (3, 3)),
    "green waits": (BlueGreen(3), (3, 3), (3, 2), (3, 3)),
    "blue goes": (BlueGreen(3), (3, 3), (3, 3), (0, 3)),
    "green waits beside all old sets": (BlueGreen(3), (3, 3, 3), (3, 3, 0), (3, 3, 3)),
    "green is created before a preview goes": (
        BlueGreen(3, deletes_previews=True), (3, 3, 0), (3, 3, 0), (3, 3, 3)
    ),
    "a preview goes before green is available": (
        BlueGreen(3, deletes_previews=True), (3, 3, 3), (3, 3, 0), (0, 3, 3)
    ),
    "blue waits for green": (
        BlueGreen(3, deletes_previews=True), (0, 3, 3), (0, 3, 2), (0, 3, 3)
    ),
    "blue goes after a preview": (
        BlueGreen(3, deletes_previews=True), (0, 3, 3), (0, 3, 3), (0, 0, 3)
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("strategy", "desired", "available", "expected"), DECISIONS.values(), ids=DECISIONS.keys()
)
def test_decision(
    strategy: RolloutStrategy,
    desired: tuple[int, ...],
    available: tuple[int, ...],
    expected: tuple[int, ...],
) -> None:
    assert strategy.decide(SetSizes(desired, available)).desired == expected


def test_names_of_strategies() -> None:
    strategies = rolling(3, 1, 0), Recreate(3), BlueGreen(3)

    assert [*map(str, strategies)] == ["maxSurge 1, maxUnavailable 0", "Recreate", "blueGreen"]


numbers = st.integers(0, 6)


@given(st.integers(1, 6), numbers, numbers, st.lists(numbers, min_size=2, max_size=3), st.data())
def test_limits_are_kept(
    replicas: int, surge: int, unavailable: int, desired: list[int], data: st.DataObject
) -> None:
    unavailable = max(unavailable, not surge)
    strategy = rolling(replicas, surge, min(unavailable, replicas))
    available = tuple(data.draw(st.integers(0, size)) for size in desired)

    after = strategy.decide(SetSizes(tuple(desired), available)).desired

    if sum(after) > sum(desired):
        assert sum(after) <= replicas + surge
    elif sum(after) < sum(desired):
        left = [min(pair) for pair in zip(after, available, strict=True)]
        least = replicas - strategy.limits.unavailable
        assert sum(left) >= min(least, sum(available)) or after[-1] > available[-1]


@given(st.integers(1, 8), numbers, numbers)
def test_a_rolling_update_of_ready_pods_finishes(
    replicas: int, surge: int, unavailable: int
) -> None:
    strategy = rolling(replicas, surge, min(max(unavailable, not surge), replicas))
    sizes = SetSizes((replicas, 0), (replicas, 0))
    for _ in range(4 * replicas + 4):
        after = strategy.decide(sizes)
        sizes = SetSizes(after.desired, after.desired)

    assert strategy.is_finished(sizes)

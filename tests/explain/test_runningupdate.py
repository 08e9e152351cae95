"""How many old pods a rolling update that runs may remove."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.explain.runningupdate import RunningUpdate, shrink_old, take
from webhook.policy.rolloutlimits import RolloutLimits

SURGE = RunningUpdate(3, RolloutLimits(1, 0))

# old pods and those that are ready, new ones and those that are ready, and how many are removed
REMOVABLE = {
    "the new pod is not ready": ((3, 3), (1, 0), 0),
    "the new pod is ready": ((3, 3), (1, 1), 1),
    "an old pod is not ready, but neither is the new one": ((3, 2), (1, 0), 0),
    "the old pod that is not ready": ((3, 2), (1, 1), 1),
    "nothing is beyond the replicas": ((0, 0), (3, 3), 0),
}


@pytest.mark.parametrize(("old", "new", "number"), REMOVABLE.values(), ids=REMOVABLE)
def test_removable(old: tuple[int, int], new: tuple[int, int], number: int) -> None:
    assert SURGE.count_removable(3, old, new) == number


def test_some_pods_may_be_unavailable() -> None:
    update = RunningUpdate(4, RolloutLimits("50%", "25%"))

    assert update.count_removable(4, (4, 4), (2, 0)) == 1
    assert update.count_removable(4, (2, 2), (3, 2)) == 1


def test_fewer_replicas_are_no_rolling_update() -> None:
    assert [SURGE.find_most(replicas) for replicas in (2, 3, 5)] == [0, 4, 6]


def test_pods_that_stay_are_named() -> None:
    assert list(SURGE.describe(3, 3)) == []
    assert next(SURGE.describe(3, 4)) == (
        "a rolling update is running (maxSurge 1, maxUnavailable 0), with 4 pods for a number of "
        "3: its controller removes old pods only if 3 stay available"
    )


def test_a_change_of_replicas_is_not_simulated() -> None:
    assert list(SURGE.describe_scale(3)) == []
    assert next(SURGE.describe_scale(5)) == (
        "a rolling update is running: its controller divides a change of replicas among the "
        "ReplicaSets, within maxSurge 1, maxUnavailable 0, which is not simulated"
    )


def test_the_oldest_replica_sets_lose_pods_first() -> None:
    assert shrink_old((2, 2), (1, 2), (2, 1), 3) == [0, 2]
    assert shrink_old((2, 2), (2, 2), (1, 0), 4) == (2, 2)


def test_take() -> None:
    assert take([3, 2, 4], [1, -1, 4], 3) == [2, 2, 2]


PODS = st.integers(0, 9).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size)))


@given(PODS, PODS, st.integers(0, 9))
def test_what_is_available_stays_so_down_to_the_least(
    old: tuple[int, int], new: tuple[int, int], least: int
) -> None:
    (left,) = shrink_old(old[:1], old[1:], new, least)

    available = min(left, old[1]) + new[1]
    assert 0 <= left <= old[0]
    assert available >= min(least, old[1] + new[1])

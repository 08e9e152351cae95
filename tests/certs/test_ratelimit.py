from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from certs.ratelimit import MAX_REPAIR_PAUSE, QUIET_PERIOD, RepairLimit
from tests.certs.world import NOW

SECOND = timedelta(seconds=1)


def repairs(restraint: RepairLimit, *, every: timedelta, times: int) -> list[int]:
    """Tell which of the wishes for a repair were granted, in units of ``every``."""
    return [n for n in range(times) if repair(restraint, NOW + n * every)]


def repair(restraint: RepairLimit, now: datetime, wanted: str = "this") -> bool:
    allowed = restraint.allows(wanted, now)
    if allowed:
        restraint.count(wanted, now)
    return allowed


def test_a_fight_is_fought_with_pauses_that_double() -> None:
    assert repairs(RepairLimit(), every=SECOND, times=200) == [0, 1, 3, 7, 15, 31, 63, 127]


def test_pauses_do_not_grow_beyond_five_minutes() -> None:
    granted = repairs(RepairLimit(), every=SECOND, times=3600)

    assert granted[-1] - granted[-2] == MAX_REPAIR_PAUSE / SECOND


def test_after_a_quiet_time_the_next_repair_is_immediate() -> None:
    restraint = RepairLimit()
    repairs(restraint, every=SECOND, times=10)
    later = NOW + 10 * SECOND + QUIET_PERIOD + 2 * 8 * SECOND

    assert repair(restraint, later)
    assert repair(restraint, later + SECOND)
    assert restraint.repairs == 2


def test_another_content_resets_the_limit() -> None:
    restraint = RepairLimit()
    repairs(restraint, every=SECOND, times=100)

    assert repair(restraint, NOW + 100 * SECOND, "that")
    assert restraint.repairs == 1


def test_a_clock_that_goes_back_does_not_forbid_for_ever() -> None:
    restraint = RepairLimit()
    repairs(restraint, every=SECOND, times=100)

    assert repair(restraint, NOW - timedelta(days=300))


def test_a_repair_that_failed_does_not_count() -> None:
    restraint = RepairLimit()

    assert all(restraint.allows("this", NOW) for _ in range(10))


@given(st.lists(st.integers(0, 30), max_size=200))
def test_the_longer_a_fight_the_rarer_the_repairs(waits: list[int]) -> None:
    restraint, now, granted = RepairLimit(), NOW, []

    for wait in waits:
        now += wait * SECOND
        if repair(restraint, now):
            granted.append(now)

    spent = sum(waits)
    assert len(granted) <= 9 + spent / (QUIET_PERIOD / SECOND)

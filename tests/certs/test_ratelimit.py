from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from certs.ratelimit import MAX_REPAIR_PAUSE, QUIET_PERIOD, RepairLimit
from tests.certs.world import NOW

SECOND = timedelta(seconds=1)


def repairs(limit: RepairLimit, *, every: timedelta, times: int) -> list[int]:
    """Return which of the attempted repairs were allowed, in units of ``every``."""
    return [n for n in range(times) if repair(limit, NOW + n * every)]


def repair(limit: RepairLimit, now: datetime, wanted: str = "this") -> bool:
    allowed = limit.allows(wanted, now)
    if allowed:
        limit.count(wanted, now)
    return allowed


def test_repairs_that_are_undone_again_have_pauses_that_double() -> None:
    assert repairs(RepairLimit(), every=SECOND, times=200) == [0, 1, 3, 7, 15, 31, 63, 127]


def test_pauses_do_not_grow_beyond_five_minutes() -> None:
    allowed = repairs(RepairLimit(), every=SECOND, times=3600)

    assert allowed[-1] - allowed[-2] == MAX_REPAIR_PAUSE / SECOND


def test_after_a_quiet_time_the_next_repair_is_immediate() -> None:
    limit = RepairLimit()
    repairs(limit, every=SECOND, times=10)
    later = NOW + 10 * SECOND + QUIET_PERIOD + 2 * 8 * SECOND

    assert repair(limit, later)
    assert repair(limit, later + SECOND)
    assert limit.repairs == 2


def test_another_content_resets_the_limit() -> None:
    limit = RepairLimit()
    repairs(limit, every=SECOND, times=100)

    assert repair(limit, NOW + 100 * SECOND, "that")
    assert limit.repairs == 1


def test_a_clock_that_goes_back_does_not_forbid_for_ever() -> None:
    limit = RepairLimit()
    repairs(limit, every=SECOND, times=100)

    assert repair(limit, NOW - timedelta(days=300))


def test_a_repair_that_failed_does_not_count() -> None:
    limit = RepairLimit()

    assert all(limit.allows("this", NOW) for _ in range(10))


@given(st.lists(st.integers(0, 30), max_size=200))
def test_repairs_that_are_undone_for_long_are_rare(waits: list[int]) -> None:
    limit, now, allowed = RepairLimit(), NOW, []

    for wait in waits:
        now += wait * SECOND
        if repair(limit, now):
            allowed.append(now)

    spent = sum(waits)
    assert len(allowed) <= 9 + spent / (QUIET_PERIOD / SECOND)

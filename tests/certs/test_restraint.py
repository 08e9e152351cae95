from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from certs.restraint import LONGEST, QUIET, Restraint
from tests.certs.world import NOW

SECOND = timedelta(seconds=1)


def repairs(restraint: Restraint, *, every: timedelta, times: int) -> list[int]:
    """Tell which of the wishes for a repair were granted, in units of ``every``."""
    return [n for n in range(times) if restraint.allows("this", NOW + n * every)]


def test_a_fight_is_fought_with_pauses_that_double() -> None:
    assert repairs(Restraint(), every=SECOND, times=200) == [0, 1, 3, 7, 15, 31, 63, 127]


def test_pauses_do_not_grow_beyond_five_minutes() -> None:
    granted = repairs(Restraint(), every=SECOND, times=3600)

    assert granted[-1] - granted[-2] == LONGEST / SECOND


def test_after_a_quiet_time_the_next_repair_is_immediate() -> None:
    restraint = Restraint()
    repairs(restraint, every=SECOND, times=10)
    later = NOW + 10 * SECOND + QUIET + 2 * 8 * SECOND

    assert restraint.allows("this", later)
    assert restraint.allows("this", later + SECOND)
    assert restraint.repairs == 2


def test_another_wish_is_no_fight() -> None:
    restraint = Restraint()
    repairs(restraint, every=SECOND, times=100)

    assert restraint.allows("that", NOW + 100 * SECOND)


def test_a_clock_that_goes_back_does_not_forbid_for_ever() -> None:
    restraint = Restraint()
    repairs(restraint, every=SECOND, times=100)

    assert restraint.allows("this", NOW - timedelta(days=300))


@given(st.lists(st.integers(0, 30), max_size=200))
def test_the_longer_a_fight_the_rarer_the_repairs(waits: list[int]) -> None:
    restraint, now, granted = Restraint(), NOW, []

    for wait in waits:
        now += wait * SECOND
        if restraint.allows("this", now):
            granted.append(now)

    spent = sum(waits)
    assert len(granted) <= 9 + spent / (QUIET / SECOND)

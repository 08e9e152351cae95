"""Which requests are refused, in a simulation of an event loop without a clock."""

import random
from collections import deque
from typing import NamedTuple

import pytest

from webhook.server.http.overload import Overload

LONGEST, EMPTY = 0.5, 0.02  # seconds
TURN = 0.01  # seconds of work between two looks at the network
REFUSED_COST = 12e-6  # seconds of CPU for a request that is refused before it is parsed
LATE_COST = 50e-6  # seconds of CPU for one that is parsed, and refused when its turn comes
COSTS = {"quick": 0.0001, "usual": 0.001, "slow": 0.02}  # seconds of CPU for an answer


class Outcome(NamedTuple):
    """
    The result of a simulation.

    Attributes:
        served: Requests that were answered; ``refused`` at once, ``late`` when their turn came.
        waits: Seconds from the arrival to the answer, by the second of the arrival.
    """

    served: int
    refused: int
    late: int
    waits: dict[int, list[float]]

    def mean(self, seconds: range) -> float:
        waits = [wait for second in seconds for wait in self.waits.get(second, ())]
        return sum(waits) / len(waits)


def simulate(cost: float, seconds: float, load: float, later: float) -> Outcome:
    """
    Serve requests that arrive at random.

    Args:
        cost: Seconds of work for one request.
        load: Requests a second, as a multiple of the capacity; ``later`` in the second half.
    """
    chance, overload, queue = random.Random(7), Overload(LONGEST, EMPTY), deque[float]()
    now = arrival = 0.0
    served = refused = late = 0
    waits: dict[int, list[float]] = {}
    while arrival < seconds or queue:
        while arrival <= now and arrival < seconds:  # what the network has brought meanwhile
            if overload.admits(now):
                queue.append(arrival)
            else:
                refused += 1
                now += REFUSED_COST
            arrival += chance.expovariate((load if arrival < seconds / 2 else later) / cost)
        turn = now + TURN
        while queue and now < turn:
            came = queue.popleft()
            if overload.is_late(now - came, now):
                late += 1
                now += LATE_COST
            else:
                served += 1
                now += cost
                waits.setdefault(int(came), []).append(now - came)
        if not queue:
            now = max(now, arrival)
    return Outcome(served, refused, late, waits)


def test_a_server_without_load_admits_everything() -> None:
    overload = Overload(LONGEST, EMPTY)

    assert all(overload.admits(now) for now in range(1000))
    assert not any(overload.is_late(LONGEST / 4, now) for now in range(1000))
    assert overload.admits(1000)


def observe(overload: Overload, waited: float, start: float, seconds: float) -> list[bool]:
    """Let turns come ten times in the longest wait; which requests were late."""
    step = LONGEST / 10
    return [
        overload.is_late(waited, start + number * step) for number in range(int(seconds / step) + 1)
    ]


def overloaded() -> Overload:
    """All waits were twice as long as allowed, until the time 101."""
    overload = Overload(LONGEST, EMPTY)
    observe(overload, 0.0, 99, 1)
    observe(overload, 2 * LONGEST, 100, 1)
    return overload


def test_one_long_wait_is_no_overload() -> None:
    overload = Overload(LONGEST, EMPTY)

    assert not overload.is_late(10 * LONGEST, 100)
    assert overload.admits(100)


def test_long_waits_of_a_while_are_no_overload() -> None:
    overload = Overload(LONGEST, EMPTY)
    observe(overload, 0.0, 99, 1)

    late = observe(overload, 2 * LONGEST, 100, LONGEST * 0.9)

    assert not any(late)
    assert overload.admits(100 + LONGEST * 0.9)


def test_waits_that_stay_long_are_an_overload() -> None:
    overload = overloaded()

    assert overload.is_late(1.1 * LONGEST, 101.01)
    assert not overload.is_late(LONGEST, 101.02)
    assert not overload.admits(101.02)


def test_under_overload_a_short_wait_admits_until_the_next_long_one() -> None:
    overload = overloaded()

    overload.is_late(LONGEST / 4, 101.01)
    admitted = overload.admits(101.02)
    overload.is_late(LONGEST / 2, 101.03)

    assert admitted
    assert not overload.admits(101.04)


def test_under_overload_a_server_with_nothing_to_do_admits() -> None:
    assert overloaded().admits(101 + 1.1 * EMPTY)


def test_short_waits_between_long_ones_do_not_hide_an_overload() -> None:
    overload = Overload(LONGEST, EMPTY)
    for turn in range(30):
        observe(overload, 0.0, 100 + turn / 10, 0)
        observe(overload, LONGEST / 2, 100 + turn / 10, 0)

    assert overload.is_late(1.1 * LONGEST, 103)


def test_an_overload_is_over_when_no_wait_was_long_for_a_while() -> None:
    overload = overloaded()
    observe(overload, 0.0, 101, 1.2 * LONGEST)

    assert not overload.is_late(2 * LONGEST, 101 + 1.3 * LONGEST)


def test_a_pause_ends_an_overload() -> None:
    overload = overloaded()

    assert not overload.is_late(2 * LONGEST, 101.1 + LONGEST)


@pytest.mark.parametrize("cost", COSTS.values(), ids=COSTS)
def test_four_times_the_capacity_is_answered_in_time_or_refused_at_once(cost: float) -> None:
    outcome = simulate(cost, 20, 4.0, 4.0)

    waits = [wait for of_second in outcome.waits.values() for wait in of_second]
    refusing = outcome.refused * REFUSED_COST + outcome.late * LATE_COST
    assert max(waits) <= 2 * LONGEST, "before this is known to be an overload"
    assert max(outcome.waits[10]) <= LONGEST + cost + TURN
    assert outcome.served * cost + refusing >= 0.85 * 20, "the server is busy"
    assert outcome.served * cost >= 0.4 * 20, "with answers"


@pytest.mark.parametrize("cost", COSTS.values(), ids=COSTS)
def test_five_seconds_after_an_overload_the_waits_are_as_before(cost: float) -> None:
    alone = simulate(cost, 40, 0.5, 0.5)
    after = simulate(cost, 40, 4.0, 0.5)

    assert after.mean(range(25, 40)) <= 1.2 * alone.mean(range(40))


@pytest.mark.parametrize("load", [0.3, 0.7, 0.9])
def test_less_than_the_capacity_is_never_refused(load: float) -> None:
    outcome = simulate(0.001, 20, load, load)

    assert (outcome.refused, outcome.late) == (0, 0)

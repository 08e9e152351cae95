"""Which requests are refused, in a simulation of an event loop without a clock."""

import random
from collections import deque
from typing import NamedTuple

import pytest

from webhook.server.http.overload import EMPTY_S, Overload

LONGEST = 0.5  # seconds
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
    chance, overload, queue = random.Random(7), Overload(LONGEST), deque[float]()
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
    overload = Overload(LONGEST)

    assert all(overload.admits(now) for now in range(1000))
    assert not any(overload.is_late(LONGEST / 4, now) for now in range(1000))
    assert overload.admits(1000)


def test_a_long_wait_of_one_request_refuses_the_next_one_at_once() -> None:
    overload = Overload(LONGEST)

    assert not overload.is_late(LONGEST, 100)
    assert not overload.admits(100 + EMPTY_S / 2)


def test_a_request_whose_turn_comes_too_late_is_refused() -> None:
    assert Overload(LONGEST).is_late(LONGEST + 0.001, 100)


def test_a_short_wait_admits_again() -> None:
    overload = Overload(LONGEST)
    overload.is_late(2 * LONGEST, 100)
    overload.is_late(LONGEST / 4, 100)

    assert overload.admits(100)


def test_a_server_with_nothing_to_do_admits_again() -> None:
    overload = Overload(LONGEST)
    overload.is_late(2 * LONGEST, 100)

    assert overload.admits(100 + 1.1 * EMPTY_S)


@pytest.mark.parametrize("cost", COSTS.values(), ids=COSTS)
def test_four_times_the_capacity_is_answered_in_time_or_refused_at_once(cost: float) -> None:
    outcome = simulate(cost, 20, 4.0, 4.0)

    waits = [wait for of_second in outcome.waits.values() for wait in of_second]
    refusing = outcome.refused * REFUSED_COST + outcome.late * LATE_COST
    assert max(waits) <= LONGEST + cost + TURN
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

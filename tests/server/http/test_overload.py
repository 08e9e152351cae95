"""Which requests are refused, in a simulation of an event loop without a clock."""

import random
from typing import NamedTuple

import pytest

from webhook.server.http.overload import Overload

LONGEST, BURST = 0.5, 0.03  # seconds
REFUSED_COST = 0.16  # of the CPU of an answer, for a request that is refused before it is parsed
LATE_COST = 0.4  # of the CPU of an answer, for one that is parsed, and refused when its turn comes
CONNECTIONS = 400  # requests that the network holds; further ones wait for a connection
COSTS = {"quick": 0.0001, "usual": 0.001, "slow": 0.02}  # seconds of CPU for an answer


class Outcome(NamedTuple):
    """
    The result of a simulation.

    Attributes:
        work: Seconds of CPU for answers; ``lost`` for requests that were refused when their turn
            came.
        waits: Seconds from the arrival to the answer, by the second of the arrival.
        refusals: Seconds from the arrival to the refusal of each request that was not parsed.
        dropped: Requests that found no connection.
    """

    work: float
    lost: float
    waits: dict[int, list[float]]
    refusals: list[float]
    dropped: int

    def mean(self, seconds: range) -> float:
        waits = [wait for second in seconds for wait in self.waits.get(second, ())]
        return sum(waits) / len(waits)


def simulate(cost: float, seconds: float, load: float, later: float) -> Outcome:
    """
    Serve requests that arrive at random, as an event loop does: read all, then answer all.

    Args:
        cost: Seconds of work for one request.
        load: Requests a second, as a multiple of the capacity; ``later`` in the second half.
    """
    chance, overload = random.Random(7), Overload(LONGEST, BURST)
    waits: dict[int, list[float]] = {}
    refusals: list[float] = []
    now = arrival = work = lost = 0.0
    dropped = 0
    while arrival < seconds:
        now = max(now, arrival)
        arrived = list[float]()
        while arrival <= now:
            arrived.append(arrival)
            arrival += chance.expovariate((load if arrival < seconds / 2 else later) / cost)
        dropped += len(arrived[CONNECTIONS:])
        admitted = list[tuple[float, float]]()
        for came in arrived[:CONNECTIONS]:
            if overload.admits(now):
                admitted.append((came, now))
            else:
                now += REFUSED_COST * cost
                refusals.append(now - came)
        for came, read in admitted:
            late = overload.is_late(now - read, now)
            now += cost * (LATE_COST if late else 1)
            if late:
                lost += LATE_COST * cost
            else:
                work += cost
                waits.setdefault(int(came), []).append(now - came)
    return Outcome(work, lost, waits, refusals, dropped)


def test_a_server_without_load_admits_everything() -> None:
    overload = Overload(LONGEST, BURST)

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
    overload = Overload(LONGEST, BURST)
    observe(overload, 0.0, 99, 1)
    observe(overload, 2 * LONGEST, 100, 1)
    return overload


def burst(overload: Overload, now: float) -> int:
    """How many of a burst of requests are admitted."""
    return sum(overload.admits(now) for _ in range(CONNECTIONS))


def test_one_long_wait_is_no_overload() -> None:
    overload = Overload(LONGEST, BURST)

    assert not overload.is_late(10 * LONGEST, 100)
    assert overload.admits(100)


def test_long_waits_of_a_while_are_no_overload() -> None:
    overload = Overload(LONGEST, BURST)
    observe(overload, 0.0, 99, 1)

    late = observe(overload, 2 * LONGEST, 100, LONGEST * 0.9)

    assert not any(late)
    assert overload.admits(100 + LONGEST * 0.9)


def test_waits_that_stay_long_are_an_overload() -> None:
    overload = overloaded()

    assert overload.is_late(1.1 * LONGEST, 101.01)
    assert not overload.is_late(LONGEST, 101.02)
    assert burst(overload, 101.02) < CONNECTIONS


def test_under_overload_a_burst_is_as_long_as_answers_take() -> None:
    overload = overloaded()
    for turn in range(100):  # no request is read in between: an answer takes 10 ms
        overload.is_late(LONGEST / 2, 101 + turn / 100)

    assert burst(overload, 102) == 3


def test_a_new_burst_begins_with_the_first_turn() -> None:
    overload = overloaded()
    overload.is_late(LONGEST / 2, 101.01)
    first = burst(overload, 101.02)
    overload.is_late(LONGEST / 2, 101.03)

    assert 0 < first < CONNECTIONS
    assert burst(overload, 101.04) == first


def test_requests_that_never_have_a_turn_keep_out_others_for_a_while_only() -> None:
    overload = overloaded()
    overload.is_late(LONGEST / 2, 101.01)
    first = burst(overload, 101.02)

    assert burst(overload, 101.3) == 0
    assert burst(overload, 101.02 + LONGEST) == first


def test_an_invalid_request_gives_its_place_back() -> None:
    overload = overloaded()
    first = burst(overload, 101.02)

    overload.release()

    assert burst(overload, 101.03) == 1 < first


def test_a_pause_between_two_overloads_is_no_answer() -> None:
    overload = Overload(LONGEST, 100 * BURST)
    for start in (100, 4000):
        observe(overload, 2 * LONGEST, start, 1)

    assert burst(overload, 4001.02) > 10


def test_the_time_of_answers_is_none_of_refusals() -> None:
    overload = overloaded()
    overload.is_late(LONGEST / 2, 101.01)
    first = burst(overload, 101.02)
    for turn in range(100):  # they are quick
        overload.is_late(LONGEST * 2, 101.02 + turn / 1e6)

    assert burst(overload, 101.03) == first


def test_short_waits_between_long_ones_do_not_hide_an_overload() -> None:
    overload = Overload(LONGEST, BURST)
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

    assert overload.admits(101.1 + LONGEST)
    assert not overload.busy


def test_an_overload_goes_on_while_requests_are_refused() -> None:
    overload = overloaded()
    for tenth in range(100):
        burst(overload, 101 + tenth / 10)

    assert overload.busy


@pytest.mark.parametrize("cost", COSTS.values(), ids=COSTS)
def test_four_times_the_capacity_is_answered_in_time_or_refused_at_once(cost: float) -> None:
    outcome = simulate(cost, 20, 4.0, 4.0)

    waits = [wait for of_second in outcome.waits.values() for wait in of_second]
    assert max(waits) <= 3 * LONGEST, "before this is known to be an overload"
    assert max(max(outcome.waits[second]) for second in range(2, 20)) <= LONGEST
    assert max(outcome.refusals, default=0.0) <= 2 * LONGEST
    assert outcome.work >= 0.3 * 20
    assert outcome.lost <= 0.05 * 20


@pytest.mark.parametrize("cost", COSTS.values(), ids=COSTS)
def test_five_seconds_after_an_overload_the_waits_are_as_before(cost: float) -> None:
    alone = simulate(cost, 40, 0.5, 0.5)
    after = simulate(cost, 40, 4.0, 0.5)

    assert after.mean(range(25, 40)) <= 1.2 * alone.mean(range(40))


@pytest.mark.parametrize("load", [0.3, 0.7, 0.9])
def test_less_than_the_capacity_is_never_refused(load: float) -> None:
    outcome = simulate(0.001, 20, load, load)

    assert (outcome.refusals, outcome.lost) == ([], 0)


@pytest.mark.parametrize(("callers", "cost"), [(27, 0.005), (14, 0.01), (8, 0.02), (130, 0.001)])
def test_the_time_between_two_long_waits_is_no_time_of_an_answer(callers: int, cost: float) -> None:
    overload, now = Overload(LONGEST, BURST), 0.0
    while not overload.busy:  # each turn of the loop takes a little longer than a long wait
        for number in range(callers):
            overload.is_late(number * cost, now)
            now += cost
    for number in range(callers):  # what was read before
        overload.is_late(number * cost, now)
        now += cost

    admitted = 0
    while admitted < callers and overload.admits(now):
        admitted += 1

    assert admitted >= round(BURST / cost)

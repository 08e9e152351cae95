"""Who may claim a Lease, what is written into it, and that two replicas never lead at once."""

from datetime import UTC, datetime, timedelta, timezone
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.server.election import (
    RENEW_SHARE,
    LeaseSpec,
    ObservedLease,
    claim,
    format_micro_time,
    may_claim,
    observe,
    release,
)

AT = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)
NEW = LeaseSpec()
THEIRS = LeaseSpec("them", 60, "2026-01-01T00:00:00.000000Z", "2026-01-01T00:00:00.000000Z", 3)
MINE = msgspec.structs.replace(THEIRS, holder_identity="me")

CLAIMS = {
    "it never had a holder": (NEW, 0, True),
    "its holder has released it": (release(THEIRS, AT), 0, True),
    "another replica holds it": (THEIRS, 59.9, False),
    "its duration has passed without a renewal": (THEIRS, 60, True),
    "it is mine": (MINE, 0, True),
    "it is mine, and was not renewed for long": (MINE, 1000, True),
    "it has no duration": (LeaseSpec("them"), 0, True),
}


@pytest.mark.parametrize(("spec", "later", "may"), CLAIMS.values(), ids=CLAIMS)
def test_a_lease_may_be_claimed(spec: LeaseSpec, later: float, may: bool) -> None:
    assert may_claim(ObservedLease(spec, since=100), "me", 100 + later) is may


def test_a_lease_ages_as_long_as_its_spec_stays_the_same() -> None:
    first = observe(None, THEIRS, 10)
    same = observe(first, msgspec.structs.replace(THEIRS), 20)
    renewed = observe(same, msgspec.structs.replace(THEIRS, renew_time=format_micro_time(AT)), 30)

    assert (first.since, same.since, renewed.since) == (10, 10, 30)


def test_who_takes_a_lease_counts_the_transition() -> None:
    assert claim(THEIRS, "me", 30, AT) == LeaseSpec(
        holder_identity="me",
        lease_duration_seconds=30,
        acquire_time="2026-01-02T03:04:05.000678Z",
        renew_time="2026-01-02T03:04:05.000678Z",
        lease_transitions=4,
    )
    assert claim(NEW, "me", 30, AT).lease_transitions == 1


def test_who_holds_it_on_stays_the_same_holder() -> None:
    renewed = claim(MINE, "me", 60, AT)

    assert renewed == msgspec.structs.replace(MINE, renew_time=format_micro_time(AT))


def test_who_gives_it_back_is_written_out() -> None:
    spec = release(MINE, AT)

    assert (spec.holder_identity, spec.lease_transitions) == ("", 3)


def test_times_are_written_as_kubernetes_does() -> None:
    elsewhere = AT.astimezone(timezone(timedelta(hours=5)))

    assert format_micro_time(elsewhere) == "2026-01-02T03:04:05.000678Z"


SHORT_DURATION_S = 6


class Turn(NamedTuple):
    """
    One try of one candidate.

    Attributes:
        wait: Seconds after the turn before.
        is_lost: Whether the answer to what it writes never reaches it.
        delay: Seconds between its look at the Lease and its writing.
    """

    who: int
    wait: int
    is_lost: bool
    delay: int


TURNS = st.lists(
    st.builds(
        Turn,
        st.integers(0, 1),
        st.sampled_from([0, 1, 2, 6]),
        st.booleans(),
        st.sampled_from([0, 0, 3]),
    ),
    max_size=30,
)


class Contender:
    """One that tries, by a clock of its own, and believes to lead until a moment."""

    def __init__(self, number: int) -> None:
        self.name = f"candidate-{number}"
        self.ahead = number * 1000.0
        self.until = 0.0
        self.observed: ObservedLease | None = None


class Write(NamedTuple):
    """Something that is on its way to the API server."""

    due: float
    begun: float
    turn: Turn
    version: int
    spec: LeaseSpec


@given(TURNS)
def test_there_are_never_two_that_lead(turns: list[Turn]) -> None:
    """Clocks differ, writes come late or are lost, and the API server takes only fresh ones."""
    candidates = [Contender(number) for number in range(2)]
    stored, version, now = NEW, 0, 0.0
    writes: list[Write] = []
    for turn in turns:
        now += turn.wait
        me = candidates[turn.who]
        me.observed = observe(me.observed, stored, now + me.ahead)
        if may_claim(me.observed, me.name, now + me.ahead):
            at = AT + timedelta(seconds=now, milliseconds=version)
            spec = claim(stored, me.name, SHORT_DURATION_S, at)
            writes.append(Write(now + turn.delay, now, turn, version, spec))
        for write in sorted(write for write in writes if write.due <= now):
            writes.remove(write)
            if write.version == version:
                stored, version = write.spec, version + 1
                if not write.turn.is_lost:
                    candidates[write.turn.who].until = write.begun + SHORT_DURATION_S * RENEW_SHARE
        assert sum(candidate.until > now for candidate in candidates) <= 1

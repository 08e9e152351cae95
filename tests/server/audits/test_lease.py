"""Who holds a Lease: what is decided, and that there is never more than one."""

from datetime import UTC, datetime, timedelta, timezone
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webhook.server.audits.election import RENEW_SHARE
from webhook.server.audits.lease import (
    Move,
    Record,
    Sight,
    given_back,
    look,
    micro_time,
    next_move,
    taken,
)

AT = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)
NEW = Record()
THEIRS = Record("them", 60, "2026-01-01T00:00:00.000000Z", "2026-01-01T00:00:00.000000Z", 3)
MINE = msgspec.structs.replace(THEIRS, holder_identity="me")

MOVES = {
    "nobody has held it yet": (NEW, 0, Move.TAKE),
    "it was given back": (given_back(THEIRS, AT), 0, Move.TAKE),
    "somebody holds it": (THEIRS, 59.9, Move.WAIT),
    "it was not renewed for as long as it says": (THEIRS, 60, Move.TAKE),
    "it is mine": (MINE, 0, Move.RENEW),
    "it is mine, and I was away for long": (MINE, 1000, Move.RENEW),
    "its holder did not say for how long": (Record("them"), 0, Move.TAKE),
}


@pytest.mark.parametrize(("record", "later", "move"), MOVES.values(), ids=MOVES)
def test_moves(record: Record, later: float, move: Move) -> None:
    assert next_move(Sight(record, since=100), "me", 100 + later) is move


def test_a_lease_is_as_old_as_it_says_the_same() -> None:
    first = look(None, THEIRS, 10)
    same = look(first, msgspec.structs.replace(THEIRS), 20)
    renewed = look(same, msgspec.structs.replace(THEIRS, renew_time=micro_time(AT)), 30)

    assert (first.since, same.since, renewed.since) == (10, 10, 30)


def test_who_takes_a_lease_counts_the_transition() -> None:
    assert taken(THEIRS, "me", 30, AT) == Record(
        holder_identity="me",
        lease_duration_seconds=30,
        acquire_time="2026-01-02T03:04:05.000678Z",
        renew_time="2026-01-02T03:04:05.000678Z",
        lease_transitions=4,
    )
    assert taken(NEW, "me", 30, AT).lease_transitions == 1


def test_who_holds_it_on_stays_the_same_holder() -> None:
    renewed = taken(MINE, "me", 60, AT)

    assert renewed == msgspec.structs.replace(MINE, renew_time=micro_time(AT))


def test_who_gives_it_back_is_written_out() -> None:
    record = given_back(MINE, AT)

    assert (record.holder_identity, record.lease_transitions) == ("", 3)


def test_times_are_written_as_kubernetes_does() -> None:
    elsewhere = AT.astimezone(timezone(timedelta(hours=5)))

    assert micro_time(elsewhere) == "2026-01-02T03:04:05.000678Z"


DURATION = 6


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


class Candidate:
    """One that tries, by a clock of its own, and believes to lead until a moment."""

    def __init__(self, number: int) -> None:
        self.name = f"candidate-{number}"
        self.ahead = number * 1000.0
        self.until = 0.0
        self.sight: Sight | None = None


class Write(NamedTuple):
    """Something that is on its way to the API server."""

    due: float
    begun: float
    turn: Turn
    version: int
    record: Record


@settings(max_examples=1000)
@given(TURNS)
def test_there_are_never_two_that_lead(turns: list[Turn]) -> None:
    """Clocks differ, writes come late or are lost, and the API server takes only fresh ones."""
    candidates = [Candidate(number) for number in range(2)]
    stored, version, now = NEW, 0, 0.0
    writes: list[Write] = []
    for turn in turns:
        now += turn.wait
        me = candidates[turn.who]
        me.sight = look(me.sight, stored, now + me.ahead)
        if next_move(me.sight, me.name, now + me.ahead) is not Move.WAIT:
            at = AT + timedelta(seconds=now, milliseconds=version)
            record = taken(stored, me.name, DURATION, at)
            writes.append(Write(now + turn.delay, now, turn, version, record))
        for write in sorted(each for each in writes if each.due <= now):
            writes.remove(write)
            if write.version == version:
                stored, version = write.record, version + 1
                if not write.turn.is_lost:
                    candidates[write.turn.who].until = write.begun + DURATION * RENEW_SHARE
        assert sum(each.until > now for each in candidates) <= 1

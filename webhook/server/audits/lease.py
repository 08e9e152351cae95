"""
Who holds a Lease, and what to do about it: pure decisions, by a clock that is handed in.

As client-go's leader election: nobody's clock is compared with another's. A holder that has not
renewed its Lease is gone when the Lease has not changed for as long as it says, by the clock of
whoever looks at it.

Source: client-go tools/leaderelection/leaderelection.go ``tryAcquireOrRenew``, ``release``;
k8s.io/api coordination/v1 ``LeaseSpec``.
"""

from datetime import UTC, datetime
from enum import Enum, auto
from typing import Annotated, NamedTuple, TypeAlias

import msgspec

SHORTEST_S = 1  # of a Lease that was given back: whoever looks need not wait for it


Int32: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**31), lt=2**31)]


class Record(msgspec.Struct, frozen=True, rename="camel"):
    """
    The specification of a Lease; an empty one is of a Lease that nobody has held yet.

    Attributes:
        holder_identity: Empty if nobody holds it.
        acquire_time: When the holder took it, by its own clock; so is ``renew_time``.
        lease_transitions: How often it went from one holder to another.
    """

    holder_identity: str | None = None
    lease_duration_seconds: Int32 | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: Int32 | None = None


class Sight(NamedTuple):
    """
    A Lease as it was seen.

    Attributes:
        record: What it said.
        since: When it was first seen to say that, in seconds of the own clock.
    """

    record: Record
    since: float


class Move(Enum):
    """What to do about a Lease."""

    RENEW = auto()
    TAKE = auto()
    WAIT = auto()


def look(last: Sight | None, record: Record, now: float) -> Sight:
    """Take notice of a Lease; one that says what it said before was not renewed."""
    return last if last is not None and last.record == record else Sight(record, now)


def next_move(sight: Sight, me: str, now: float) -> Move:
    """Decide what to do about a Lease, as one who wants to hold it."""
    record = sight.record
    if record.holder_identity == me:
        return Move.RENEW
    if not record.holder_identity:
        return Move.TAKE
    until = sight.since + (record.lease_duration_seconds or 0)
    return Move.TAKE if now >= until else Move.WAIT


def taken(record: Record, me: str, duration_s: int, at: datetime) -> Record:
    """Write oneself into a Lease, as its new holder, or as the one that holds it on."""
    mine = record.holder_identity == me
    moved = (record.lease_transitions or 0) + (not mine)
    return Record(
        holder_identity=me,
        lease_duration_seconds=duration_s,
        acquire_time=record.acquire_time if mine else micro_time(at),
        renew_time=micro_time(at),
        lease_transitions=moved,
    )


def given_back(record: Record, at: datetime) -> Record:
    """Write oneself out of a Lease, so that nobody has to wait for its end."""
    return Record(
        holder_identity="",
        lease_duration_seconds=SHORTEST_S,
        acquire_time=micro_time(at),
        renew_time=micro_time(at),
        lease_transitions=record.lease_transitions,
    )


def micro_time(at: datetime) -> str:
    """Write a time as a Lease has it. Source: apimachinery meta/v1 ``MicroTime``."""
    return f"{at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"

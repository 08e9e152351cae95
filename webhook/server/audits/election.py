"""
One replica at a time: the shell around a Lease.

It is looked at again and again, and renewed while it is held. A replica that could not renew it in
time stops what it does before another can begin. There is nobody to create a Lease here: a right to
create cannot be limited to one name, so the manifests bring an empty one.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from datetime import UTC, datetime
from enum import Enum, auto
from http import HTTPStatus
from typing import Annotated, NamedTuple, NoReturn, TypeAlias

import msgspec

from webhook.cluster.protocol import (
    DECODE_ERRORS,
    NO_QUERY,
    ApiClient,
    FailureReason,
    Response,
    status_error,
)
from webhook.errors import ApiError
from webhook.telemetry.logs import Log

RELEASED_LEASE_S = 1  # of a Lease that was given back: whoever looks need not wait for it


Int32: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**31), lt=2**31)]


class LeaseSpec(msgspec.Struct, frozen=True, rename="camel"):
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


class ObservedLease(NamedTuple):
    """
    A Lease as it was seen.

    Attributes:
        record: What it said.
        since: When it was first seen to say that, in seconds of the own clock.
    """

    record: LeaseSpec
    since: float


class LeaseAction(Enum):
    """What to do about a Lease."""

    RENEW = auto()
    TAKE = auto()
    WAIT = auto()


def look(last: ObservedLease | None, record: LeaseSpec, now: float) -> ObservedLease:
    """Take notice of a Lease; one that says what it said before was not renewed."""
    return last if last is not None and last.record == record else ObservedLease(record, now)


def choose_action(sight: ObservedLease, me: str, now: float) -> LeaseAction:
    """Decide what to do about a Lease, as one who wants to hold it."""
    record = sight.record
    if record.holder_identity == me:
        return LeaseAction.RENEW
    if not record.holder_identity:
        return LeaseAction.TAKE
    until = sight.since + (record.lease_duration_seconds or 0)
    return LeaseAction.TAKE if now >= until else LeaseAction.WAIT


def claim(record: LeaseSpec, me: str, duration_s: int, at: datetime) -> LeaseSpec:
    """Write oneself into a Lease, as its new holder, or as the one that holds it on."""
    mine = record.holder_identity == me
    moved = (record.lease_transitions or 0) + (not mine)
    return LeaseSpec(
        holder_identity=me,
        lease_duration_seconds=duration_s,
        acquire_time=record.acquire_time if mine else format_micro_time(at),
        renew_time=format_micro_time(at),
        lease_transitions=moved,
    )


def release(record: LeaseSpec, at: datetime) -> LeaseSpec:
    """Write oneself out of a Lease, so that nobody has to wait for its end."""
    return LeaseSpec(
        holder_identity="",
        lease_duration_seconds=RELEASED_LEASE_S,
        acquire_time=format_micro_time(at),
        renew_time=format_micro_time(at),
        lease_transitions=record.lease_transitions,
    )


def format_micro_time(at: datetime) -> str:
    """Write a time as a Lease has it. Source: apimachinery meta/v1 ``MicroTime``."""
    return f"{at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


RENEW_SHARE = 2 / 3
"""Of the duration of a Lease: without a renewal for so long it counts as lost, by its holder."""

RETRY_SHARE = 1 / 6
"""Of the duration of a Lease: between two looks; three renewals may fail before it is lost."""


class Candidate(NamedTuple):
    """
    Who stands for election, and how.

    Attributes:
        identity: Of this replica; no other one, before or after it, has the same.
        path: Of the Lease.
        duration_s: For how long nobody else takes it after it was renewed.
    """

    identity: str
    path: str
    duration_s: float


class Clocks(NamedTuple):
    """
    What tells the time.

    Attributes:
        now: Seconds; never goes back.
        wall: Aware, UTC; for people who look at the Lease.
        sleep: Waits for so many seconds.
    """

    now: Callable[[], float]
    wall: Callable[[], datetime]
    sleep: Callable[[float], Awaitable[object]]


class _Lease(msgspec.Struct, frozen=True):
    """A Lease; ``metadata`` is sent back as it came."""

    metadata: msgspec.Raw
    spec: LeaseSpec | None = None


_decode = msgspec.json.Decoder(_Lease).decode


class Election:
    """
    A Lease that this replica wants to hold.

    Attributes:
        leads: Whether it does.
    """

    def __init__(self, sender: ApiClient, candidate: Candidate, clocks: Clocks, log: Log) -> None:
        """Ask nothing yet."""
        self.leads = False
        self._sender = sender
        self._candidate = candidate
        self._clocks = clocks
        self._log = log
        self._sight: ObservedLease | None = None
        self._told = ""

    async def run(self, lead: Callable[[], Coroutine[object, object, NoReturn]]) -> NoReturn:
        """
        Do work whenever, and as long as, the Lease is held; until cancelled.

        Args:
            lead: The work, which goes on until it is cancelled.
        """
        while True:
            while (held := await self._try()) is None:
                await self._pause()
            await self._lead(lead, held)

    async def _lead(
        self, lead: Callable[[], Coroutine[object, object, NoReturn]], held: float
    ) -> None:
        self._log.info("lease", says="held: this replica audits")
        self.leads = True
        work = asyncio.create_task(lead(), name="audits")
        holding = asyncio.create_task(self._hold(held), name="lease")
        try:
            await asyncio.wait((work, holding), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.leads = False
            for task in (work, holding):
                task.cancel()
            await asyncio.wait((work, holding))
            await self._give_back()
        for task in (work, holding):
            if not task.cancelled():
                task.result()  # of the work: a bug, to be raised

    async def _hold(self, held: float) -> None:
        """Renew the Lease until that has failed for too long, or somebody else has it."""
        while self._clocks.now() < held + self._candidate.duration_s * RENEW_SHARE:
            await self._pause()
            held = await self._try() or held
            sight = self._sight
            if sight is not None and sight.record.holder_identity != self._candidate.identity:
                break
        self._log.warning("lease", says="lost: another replica audits")

    async def _try(self) -> float | None:
        """
        Take the Lease, or renew it.

        Returns:
            When this was begun; None if it is not held.
        """
        begun = self._clocks.now()
        try:
            lease = await self._read()
            self._sight = sight = look(self._sight, lease.spec or LeaseSpec(), begun)
            if choose_action(sight, self._candidate.identity, begun) is LeaseAction.WAIT:
                return None
            seconds = max(1, round(self._candidate.duration_s))
            record = claim(sight.record, self._candidate.identity, seconds, self._clocks.wall())
            await self._write(lease, record)
        except ApiError as error:
            self._complain(error)
            return None
        self._sight = ObservedLease(record, begun)
        self._told = ""
        return begun

    async def _give_back(self) -> None:
        """Let another replica take over at once, if that can be told."""
        try:
            lease = await self._read()
            record = lease.spec or LeaseSpec()
            if record.holder_identity == self._candidate.identity:
                await self._write(lease, release(record, self._clocks.wall()))
        except ApiError as error:
            self._complain(error)

    async def _read(self) -> _Lease:
        return self._lease(await self._sender.send("GET", self._candidate.path))

    async def _write(self, lease: _Lease, record: LeaseSpec) -> None:
        """Write a Lease as it was read but for its specification, unless it was changed since."""
        content = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": lease.metadata,
            "spec": record,
        }
        body = msgspec.json.encode(content)
        self._lease(await self._sender.send("PUT", self._candidate.path, NO_QUERY, body))

    def _lease(self, response: Response) -> _Lease:
        source = f"Lease {self._candidate.path}"
        if response.status != HTTPStatus.OK:
            raise status_error(source, response.status, response.body)
        try:
            return _decode(response.body)
        except DECODE_ERRORS:
            raise ApiError(
                source, "answered with what is no Lease", FailureReason.GARBAGE
            ) from None

    def _complain(self, error: ApiError) -> None:
        """Tell each new problem once; that somebody else was faster is none."""
        if error.status == HTTPStatus.CONFLICT or str(error) == self._told:
            return
        self._told = str(error)
        hint = "; the manifests bring an empty one" if error.status == HTTPStatus.NOT_FOUND else ""
        self._log.warning("lease", says=f"no audit is begun: {error}{hint}")

    async def _pause(self) -> None:
        await self._clocks.sleep(self._candidate.duration_s * RETRY_SHARE)

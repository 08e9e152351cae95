"""
The election of the one replica that makes audits and corrects ranks, by a Lease.

``Election.run`` is the entry point: it checks the Lease at intervals, and renews it while this
replica holds it. A replica that cannot renew it in time stops its work before another one may
begin. As in client-go, clocks of different replicas are never compared: a holder is gone when its
Lease has not changed for the Lease's duration, by the clock of the observer.

Nothing here creates a Lease, because a right to create cannot be limited to one name: the manifests
contain an empty one.

Source: client-go tools/leaderelection/leaderelection.go ``tryAcquireOrRenew``, ``release``;
k8s.io/api coordination/v1 ``LeaseSpec``.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated, NoReturn, TypeAlias

import msgspec

from webhook.cluster.protocol import (
    DECODE_ERRORS,
    NO_QUERY,
    ApiClient,
    Response,
    protocol_error,
    status_error,
)
from webhook.errors import ApiError
from webhook.telemetry.logs import Log

RELEASED_LEASE_S = 1  # the duration in a released Lease, so that observers need not wait

RENEW_SHARE = 2 / 3  # of the duration: without a renewal for so long, the holder gives it up
RETRY_SHARE = 1 / 6  # of the duration, between two tries; three may fail before the Lease is lost

Int32: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**31), lt=2**31)]

Work: TypeAlias = Callable[[], Coroutine[object, object, NoReturn]]
"""The work of the holder, which goes on until it is cancelled."""


class LeaseSpec(msgspec.Struct, frozen=True, rename="camel"):
    """
    The specification of a Lease; empty in a Lease that never had a holder.

    Attributes:
        holder_identity: Empty without a holder.
        acquire_time: By the holder's own clock, as is ``renew_time``.
        lease_transitions: The number of changes of the holder.
    """

    holder_identity: str | None = None
    lease_duration_seconds: Int32 | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: Int32 | None = None


@dataclass(frozen=True, slots=True)
class ObservedLease:
    """
    A Lease as this replica has observed it.

    Attributes:
        since: The time when this specification was first observed, in seconds of the own clock.
    """

    spec: LeaseSpec
    since: float


def observe(last: ObservedLease | None, spec: LeaseSpec, now: float) -> ObservedLease:
    """Observe a Lease; an unchanged specification means that it was not renewed."""
    return last if last is not None and last.spec == spec else ObservedLease(spec, now)


def may_claim(lease: ObservedLease, me: str, now: float) -> bool:
    """Whether the candidate ``me`` may take a Lease, or renew its own."""
    holder, seconds = lease.spec.holder_identity, lease.spec.lease_duration_seconds or 0
    return not holder or holder == me or now >= lease.since + seconds


def claim(spec: LeaseSpec, me: str, duration_s: int, at: datetime) -> LeaseSpec:
    """Write the specification in which ``me`` takes or renews a Lease."""
    mine = spec.holder_identity == me
    return LeaseSpec(
        holder_identity=me,
        lease_duration_seconds=duration_s,
        acquire_time=spec.acquire_time if mine else format_micro_time(at),
        renew_time=format_micro_time(at),
        lease_transitions=(spec.lease_transitions or 0) + (not mine),
    )


def release(spec: LeaseSpec, at: datetime) -> LeaseSpec:
    """Write the specification in which the holder gives a Lease up."""
    released = claim(spec, "", RELEASED_LEASE_S, at)
    return msgspec.structs.replace(released, lease_transitions=spec.lease_transitions)


def format_micro_time(at: datetime) -> str:
    """Write a time as in a Lease. Source: apimachinery meta/v1 ``MicroTime``."""
    return f"{at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


@dataclass(frozen=True, slots=True)
class Candidate:
    """
    A candidate for a Lease.

    Attributes:
        identity: The identity of this replica; no other replica, before or after, has the same.
        path: The URL path of the Lease.
        duration_s: Seconds without a renewal during which no other replica takes the Lease.
    """

    identity: str
    path: str
    duration_s: float


@dataclass(frozen=True, slots=True)
class Clocks:
    """
    The clocks of a server.

    Attributes:
        now: Seconds; never goes back.
        wall: Aware, UTC; for people who read the Lease.
        sleep: Waits for a number of seconds.
    """

    now: Callable[[], float]
    wall: Callable[[], datetime]
    sleep: Callable[[float], Awaitable[object]]


class _Lease(msgspec.Struct, frozen=True):
    """A Lease; ``metadata`` is sent back unchanged."""

    metadata: msgspec.Raw
    spec: LeaseSpec | None = None


_decode = msgspec.json.Decoder(_Lease).decode


class Election:
    """
    A Lease that this replica wants to hold.

    Attributes:
        leads: Whether this replica holds it.
    """

    def __init__(
        self,
        client: ApiClient,
        candidate: Candidate,
        clocks: Clocks,
        log: Log,
        is_needed: Callable[[], bool] = lambda: True,
    ) -> None:
        """
        Send no request yet.

        Args:
            is_needed: Whether there is work; read again and again, since a reload may change it.
        """
        self.leads = False
        self._client = client
        self._candidate = candidate
        self._clocks = clocks
        self._log = log
        self._is_needed = is_needed
        self._observed: ObservedLease | None = None
        self._logged_problem = ""

    async def run(self, work: Work) -> NoReturn:
        """Do work whenever, and as long as, this replica holds the Lease; until cancelled."""
        while True:
            while not self._is_needed() or (renewed := await self._try()) is None:
                await self._pause()
            await self._lead(work, renewed)

    async def _lead(self, work: Work, renewed: float) -> None:
        self._log.info("lease", message="held: this replica does the work of the Lease")
        self.leads = True
        working = asyncio.create_task(work(), name="work")
        holding = asyncio.create_task(self._hold(renewed), name="lease")
        try:
            await asyncio.wait((working, holding), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.leads = False
            for task in (working, holding):
                task.cancel()
            await asyncio.wait((working, holding))
            await self._release()
        for task in (working, holding):
            if not task.cancelled():
                task.result()  # raises a bug in the work

    async def _hold(self, renewed: float) -> None:
        """Renew the Lease until that has failed for too long, or another replica holds it."""
        while self._clocks.now() < renewed + self._candidate.duration_s * RENEW_SHARE:
            await self._pause()
            renewed = await self._try() or renewed
            observed = self._observed
            if observed is not None and observed.spec.holder_identity != self._candidate.identity:
                break
        self._log.warning("lease", message="lost: another replica does the work of the Lease")

    async def _try(self) -> float | None:
        """
        Take the Lease, or renew it.

        Returns:
            The time when the try began; None if this replica does not hold the Lease.
        """
        begun = self._clocks.now()
        try:
            lease = await self._read()
            self._observed = observed = observe(self._observed, lease.spec or LeaseSpec(), begun)
            if not may_claim(observed, self._candidate.identity, begun):
                return None
            seconds = max(1, round(self._candidate.duration_s))
            spec = claim(observed.spec, self._candidate.identity, seconds, self._clocks.wall())
            await self._write(lease, spec)
        except ApiError as error:
            self._warn(error)
            return None
        self._observed = ObservedLease(spec, begun)
        self._logged_problem = ""
        return begun

    async def _release(self) -> None:
        """Let another replica take over at once, if the API server can be reached."""
        try:
            lease = await self._read()
            spec = lease.spec or LeaseSpec()
            if spec.holder_identity == self._candidate.identity:
                await self._write(lease, release(spec, self._clocks.wall()))
        except ApiError as error:
            self._warn(error)

    async def _read(self) -> _Lease:
        return self._decode(await self._client.send("GET", self._candidate.path))

    async def _write(self, lease: _Lease, spec: LeaseSpec) -> None:
        """Replace the specification of a Lease, unless the Lease was changed since it was read."""
        content = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": lease.metadata,
            "spec": spec,
        }
        body = msgspec.json.encode(content)
        self._decode(await self._client.send("PUT", self._candidate.path, NO_QUERY, body))

    def _decode(self, response: Response) -> _Lease:
        source = f"Lease {self._candidate.path}"
        if response.status != HTTPStatus.OK:
            raise status_error(source, response.status, response.body)
        try:
            return _decode(response.body)
        except DECODE_ERRORS:
            raise protocol_error(source, "the answer is no Lease") from None

    def _warn(self, error: ApiError) -> None:
        """Log each new problem once; a conflict means that another replica was faster."""
        if error.status == HTTPStatus.CONFLICT or str(error) == self._logged_problem:
            return
        self._logged_problem = str(error)
        hint = "; the manifests contain one" if error.status == HTTPStatus.NOT_FOUND else ""
        self._log.warning("lease", message=f"no work of the Lease begins: {error}{hint}")

    async def _pause(self) -> None:
        await self._clocks.sleep(self._candidate.duration_s * RETRY_SHARE)

"""The shell around a Lease: what it asks and writes, and when work begins and ends."""

import asyncio
import io
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn

import pytest

from tests.server.serving import settled
from webhook.cluster.source import NO_QUERY, Query, Reason
from webhook.errors import ApiError
from webhook.server.audits.election import Candidate, Clocks, Election
from webhook.telemetry.loglines import Lines
from webhook.telemetry.logs import Format, make_log

PATH = "/apis/coordination.k8s.io/v1/namespaces/ns/leases/evenspread-audit"
BEGIN = datetime(2026, 1, 2, tzinfo=UTC)
DURATION = 60


class World:
    """
    An API server that holds one Lease, and a clock that goes on whenever somebody waits.

    Attributes:
        lease: None if there is none.
        outage: What each request is answered with instead, bytes with 200; None in general.
        waits: Called at each wait, with the time.
        working: Whether work goes on.
    """

    def __init__(self) -> None:
        self.lease: Any = {"metadata": {"name": "evenspread-audit", "resourceVersion": "0"}}
        self.outage: int | bytes | ApiError | None = None
        self.waits: Callable[[float], object] = lambda _now: None
        self.working = False
        self.writes: list[Any] = []
        self.now = 0.0
        self._stream = io.BytesIO()

    async def send(
        self, method: str, path: str, query: Query = NO_QUERY, body: bytes = b""
    ) -> tuple[int, bytes]:
        assert (path, query) == (PATH, NO_QUERY)
        if isinstance(self.outage, ApiError):
            raise self.outage
        if isinstance(self.outage, bytes):
            return 200, self.outage
        if self.outage is not None:
            return self.outage, b'{"kind": "Status", "message": "no"}'
        if self.lease is None:
            return 404, b'{"kind": "Status", "message": "not found"}'
        if method == "PUT":
            return self._put(json.loads(body))
        return 200, json.dumps(self.lease).encode()

    def hold(self, holder: str, renewed: str = "2026-01-01T00:00:00.000000Z") -> None:
        """Let somebody else hold the Lease."""
        spec = {"holderIdentity": holder, "leaseDurationSeconds": DURATION, "renewTime": renewed}
        self._put({**self.lease, "spec": spec})

    def _put(self, content: Any) -> tuple[int, bytes]:
        version = self.lease["metadata"]["resourceVersion"]
        if content["metadata"]["resourceVersion"] != version:
            return 409, b'{"kind": "Status", "message": "the object has been modified"}'
        metadata = {**content["metadata"], "resourceVersion": str(int(version) + 1)}
        self.lease = {"metadata": metadata, "spec": content["spec"]}
        self.writes.append(content)
        return 200, json.dumps(self.lease).encode()

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.waits(self.now)
        await asyncio.sleep(0)

    async def work(self) -> NoReturn:
        self.working = True
        try:
            await asyncio.Event().wait()
        finally:
            self.working = False
        raise AssertionError("nothing ends the work but its cancellation")

    @property
    def log(self) -> list[str]:
        return [json.loads(line)["says"] for line in self._stream.getvalue().splitlines()]

    def election(self) -> Election:
        clocks = Clocks(lambda: self.now, lambda: BEGIN + timedelta(seconds=self.now), self.sleep)
        log = make_log(Format.JSON, Lines(self._stream, lambda write: write()), lambda: BEGIN)
        return Election(self, Candidate("me", PATH, DURATION), clocks, log)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Stand for election as long as the context lasts."""
        task = asyncio.create_task(self.election().run(self.work))
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def test_an_empty_lease_is_taken_renewed_and_given_back() -> None:
    world = World()

    async with world.running():
        await settled(lambda: len(world.writes) == 3 and world.working)

    first, second, _ = (each["spec"] for each in world.writes[:3])
    assert first == {
        "holderIdentity": "me",
        "leaseDurationSeconds": 60,
        "acquireTime": "2026-01-02T00:00:00.000000Z",
        "renewTime": "2026-01-02T00:00:00.000000Z",
        "leaseTransitions": 1,
    }
    assert second == {**first, "renewTime": "2026-01-02T00:00:10.000000Z"}
    assert world.writes[0]["metadata"]["name"] == "evenspread-audit"
    assert not world.working
    assert world.lease["spec"]["holderIdentity"] == ""


async def test_one_that_is_not_renewed_is_taken_over_in_time() -> None:
    world = World()
    world.hold("them")
    taken_at: list[float] = []
    world.waits = lambda now: taken_at.append(now) if world.working else None

    async with world.running():
        await settled(lambda: bool(taken_at))

    assert taken_at[0] == pytest.approx(DURATION + 10)
    assert world.writes[1]["spec"]["holderIdentity"] == "me"


async def test_one_that_is_renewed_is_left_alone() -> None:
    world = World()
    world.hold("them")
    world.waits = lambda now: world.hold("them", f"renewed at {now}")

    async with world.running():
        await settled(lambda: world.now > 10 * DURATION)
        assert not world.working

    assert {each["spec"]["holderIdentity"] for each in world.writes} == {"them"}
    assert world.log == []


NO_LEASES = {
    "nothing": b"",
    "no JSON": b"<html>",
    "another type": b'"Lease"',
    "another object": b'{"kind": "Status"}',
    "a holder of another type": b'{"metadata": {}, "spec": {"holderIdentity": 5}}',
    "no UTF-8": b'{"metadata": {}, "spec": {"holderIdentity": "\xff"}}',
    "a duration that is no int32": b'{"metadata": {}, "spec": {"leaseDurationSeconds": 1%s}}'
    % (b"0" * 400),
    "transitions that are no int32": b'{"metadata": {}, "spec": {"leaseTransitions": 2147483648}}',
    "too deep": b'{"metadata": %s}' % (b'{"a":' * 100_000 + b"1" + b"}" * 100_000),
}


@pytest.mark.parametrize("answer", NO_LEASES.values(), ids=NO_LEASES)
async def test_a_200_that_is_no_lease_is_told_once_and_asked_again(answer: bytes) -> None:
    world = World()
    world.outage = answer

    async with world.running():
        await settled(lambda: world.now > DURATION)
        assert not world.working
        (said,) = world.log
        world.outage = None
        await settled(lambda: world.working)

    assert said == f"no audit is begun: Lease {PATH}: answered with what is no Lease"


async def test_metadata_is_sent_back_as_it_came() -> None:
    odd = '{"name": "evenspread-audit", "resourceVersion": "0", "other": [1.50, 1e3, null]}'
    written: list[bytes] = []

    class Recorder(World):
        async def send(
            self, method: str, path: str, query: Query = NO_QUERY, body: bytes = b""
        ) -> tuple[int, bytes]:
            if method == "PUT":
                written.append(body)
            return 200, f'{{"metadata": {odd}}}'.encode()

    world = Recorder()
    async with world.running():
        await settled(lambda: bool(written))

    assert odd.encode() in written[0]


OUTAGES = {
    "what is no Lease": b"<html>",
    "the API server gives no answer": ApiError("api", "gave no answer", Reason.SILENT),
    "the API server fails": 500,
    "the right is gone": 403,
}


@pytest.mark.parametrize("outage", OUTAGES.values(), ids=OUTAGES)
async def test_work_ends_before_another_replica_may_begin(outage: int | bytes | ApiError) -> None:
    world = World()
    ended: list[float] = []

    def break_down(now: float) -> None:
        if now > 30:
            world.outage = outage
        if not world.working and now > 30:
            ended.append(now)

    world.waits = break_down
    async with world.running():
        await settled(lambda: bool(ended))
        last = 30
        assert last + DURATION * 2 / 3 <= ended[0] <= last + DURATION
        assert "lost: another replica audits" in world.log
        assert len(world.log) == len(set(world.log)), "each problem is told once"
        world.outage, world.waits = None, lambda _now: None
        await settled(lambda: world.working)


async def test_one_that_somebody_else_took_is_let_go_at_once() -> None:
    world = World()

    async with world.running():
        await settled(lambda: world.working)
        world.hold("them")
        await settled(lambda: not world.working)
        assert world.lease["spec"]["holderIdentity"] == "them"


async def test_a_lease_that_is_not_there_is_told_once_and_nothing_is_done() -> None:
    world = World()
    world.lease = None

    async with world.running():
        await settled(lambda: world.now > 10 * DURATION)
        assert not world.working

    (said,) = world.log
    assert said.startswith("no audit is begun: ")
    assert said.endswith("answered 404: not found; the manifests bring an empty one")


async def test_that_somebody_else_was_faster_is_no_problem() -> None:
    world = World()
    send = world.send

    async def race(
        method: str, path: str, query: Query = NO_QUERY, body: bytes = b""
    ) -> tuple[int, bytes]:
        if method == "PUT" and not world.writes:
            world.hold("them")
        return await send(method, path, query, body)

    world.send = race  # type: ignore[method-assign]  # between a look and a write, somebody else
    async with world.running():
        await settled(lambda: world.now > DURATION / 2)
        assert not world.working

    assert world.log == []


async def test_a_bug_of_the_work_is_raised_and_the_lease_given_back() -> None:
    world = World()

    async def fail() -> NoReturn:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await world.election().run(fail)

    assert world.lease["spec"]["holderIdentity"] == ""

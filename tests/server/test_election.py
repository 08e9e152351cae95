"""The shell around a Lease: what it reads and writes, and when work begins and ends."""

import asyncio
import io
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn

import pytest

from tests.apiserver import Answer, ApiServer, Request, refuse
from tests.background import working
from tests.server.serving import settled
from webhook.cluster.protocol import FailureReason, Response
from webhook.errors import ApiError
from webhook.server.election import Candidate, Clocks, Election
from webhook.telemetry.line_writer import LineWriter
from webhook.telemetry.logs import LogFormat, make_log

PATH = "/apis/coordination.k8s.io/v1/namespaces/ns/leases/evenspread-audit"
BEGIN = datetime(2026, 1, 2, tzinfo=UTC)
DURATION = 60


class ElectionRun:
    """
    A replica that stands for election, an API server with one Lease, and a clock that waits move.

    Attributes:
        outage: Answer to all requests; None: no outage.
        waits: Called at each wait, with the time.
        working: Whether work goes on.
        needed: Whether there is work.
    """

    def __init__(self) -> None:
        self.server = ApiServer()
        self.server.put(PATH, {"metadata": {"name": "evenspread-audit"}})
        self.server.faults.append(lambda _request: self.outage)
        self.outage: Answer = None
        self.waits: Callable[[float], object] = lambda _now: None
        self.working = False
        self.needed = True
        self.now = 0.0
        self._stream = io.BytesIO()

    @property
    def lease(self) -> Any:
        """The stored Lease."""
        return self.server.objects[PATH]

    @property
    def holders(self) -> list[str]:
        """The holders that were written, by this replica and by ``hold``."""
        changes = (change.event["object"].get("spec") for change in self.server.history)
        return [spec["holderIdentity"] for spec in changes if spec]

    def hold(self, holder: str, renewed: str = "2026-01-01T00:00:00.000000Z") -> None:
        """Let another replica hold the Lease."""
        spec = {"holderIdentity": holder, "leaseDurationSeconds": DURATION, "renewTime": renewed}
        self.server.put(PATH, {**self.lease, "spec": spec})

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
        return [json.loads(line)["message"] for line in self._stream.getvalue().splitlines()]

    def election(self) -> Election:
        clocks = Clocks(lambda: self.now, lambda: BEGIN + timedelta(seconds=self.now), self.sleep)
        log = make_log(
            LogFormat.JSON, LineWriter(self._stream, lambda write: write()), lambda: BEGIN
        )
        candidate = Candidate("me", PATH, DURATION)
        return Election(self.server, candidate, clocks, log, lambda: self.needed)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Stand for election as long as the context lasts."""
        async with working(self.election().run(self.work)):
            yield


@pytest.fixture
def run() -> ElectionRun:
    return ElectionRun()


async def test_an_empty_lease_is_taken_renewed_and_given_back(run: ElectionRun) -> None:
    async with run.running():
        await settled(lambda: len(run.server.writes) == 3 and run.working)

    writes = [request.content for request in run.server.writes]
    first, second = (content["spec"] for content in writes[:2])
    assert first == {
        "holderIdentity": "me",
        "leaseDurationSeconds": 60,
        "acquireTime": "2026-01-02T00:00:00.000000Z",
        "renewTime": "2026-01-02T00:00:00.000000Z",
        "leaseTransitions": 1,
    }
    assert second == {**first, "renewTime": "2026-01-02T00:00:10.000000Z"}
    assert writes[0]["metadata"]["name"] == "evenspread-audit"
    assert not run.working
    assert run.lease["spec"]["holderIdentity"] == ""


async def test_without_work_the_lease_is_not_taken(run: ElectionRun) -> None:
    run.needed = False
    async with run.running():
        await settled(lambda: run.now >= DURATION)
        assert not run.server.requests

        run.needed = True
        await settled(lambda: run.working)


async def test_one_that_is_not_renewed_is_taken_over_in_time(run: ElectionRun) -> None:
    run.hold("them")
    taken_at: list[float] = []
    run.waits = lambda now: taken_at.append(now) if run.working else None

    async with run.running():
        await settled(lambda: bool(taken_at))

    assert taken_at[0] == pytest.approx(DURATION + 10)
    assert run.holders[1] == "me"


async def test_one_that_is_renewed_is_left_alone(run: ElectionRun) -> None:
    run.hold("them")
    run.waits = lambda now: run.hold("them", f"renewed at {now}")

    async with run.running():
        await settled(lambda: run.now > 10 * DURATION)
        assert not run.working

    assert set(run.holders) == {"them"}
    assert run.log == []


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
async def test_a_200_that_is_no_lease_is_reported_once_and_requested_again(
    run: ElectionRun, answer: bytes
) -> None:
    run.outage = Response(200, answer)

    async with run.running():
        await settled(lambda: run.now > DURATION)
        assert not run.working
        (message,) = run.log
        run.outage = None
        await settled(lambda: run.working)

    assert message == f"no work of the Lease begins: Lease {PATH}: the answer is no Lease"


async def test_metadata_is_sent_back_as_it_came(run: ElectionRun) -> None:
    odd = '{"name": "evenspread-audit", "resourceVersion": "0", "other": [1.50, 1e3, null]}'
    run.server.answers[f"GET {PATH}"] = Response(200, f'{{"metadata": {odd}}}'.encode())

    async with run.running():
        await settled(lambda: bool(run.server.writes))

    assert odd.encode() in run.server.writes[0].body


OUTAGES = {
    "what is no Lease": Response(200, b"<html>"),
    "the API server gives no answer": ApiError("api", "gave no answer", FailureReason.SILENT),
    "the API server fails": refuse("no", 500),
    "the right is gone": refuse("no", 403),
}


@pytest.mark.parametrize("outage", OUTAGES.values(), ids=OUTAGES)
async def test_work_ends_before_another_replica_may_begin(run: ElectionRun, outage: Answer) -> None:
    ended: list[float] = []

    def break_down(now: float) -> None:
        if now > 30:
            run.outage = outage
        if not run.working and now > 30:
            ended.append(now)

    run.waits = break_down
    async with run.running():
        await settled(lambda: bool(ended))
        last = 30
        assert last + DURATION * 2 / 3 <= ended[0] <= last + DURATION
        assert "lost: another replica does the work of the Lease" in run.log
        assert len(run.log) == len(set(run.log)), "each problem is logged once"
        run.outage, run.waits = None, lambda _now: None
        await settled(lambda: run.working)


async def test_one_that_another_client_took_is_let_go_at_once(run: ElectionRun) -> None:
    async with run.running():
        await settled(lambda: run.working)
        run.hold("them")
        await settled(lambda: not run.working)
        known = len(run.server.requests)
        await settled(lambda: len(run.server.requests) > known + 1)  # it reads whose the Lease is
        assert run.lease["spec"]["holderIdentity"] == "them"


async def test_a_lease_that_is_not_there_is_reported_once_and_nothing_is_done(
    run: ElectionRun,
) -> None:
    run.server.delete(PATH)

    async with run.running():
        await settled(lambda: run.now > 10 * DURATION)
        assert not run.working

    (message,) = run.log
    assert message.startswith("no work of the Lease begins: ")
    assert message.endswith("answered 404: not found; the manifests contain one")


async def test_that_another_client_was_faster_is_no_problem(run: ElectionRun) -> None:

    def race(request: Request) -> None:
        if request.method == "PUT" and not run.holders:
            run.hold("them")

    run.server.faults.append(race)
    async with run.running():
        await settled(lambda: run.now > DURATION / 2)
        assert not run.working

    assert run.log == []


async def test_a_bug_of_the_work_is_raised_and_the_lease_given_back(run: ElectionRun) -> None:
    async def fail() -> NoReturn:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await run.election().run(fail)

    assert run.lease["spec"]["holderIdentity"] == ""

"""The schedule of audits, and the metrics and log lines of their results."""

import asyncio
import io
import json
import math
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.apiserver import ApiServer, listening, write_kubeconfig
from tests.server.serving import logged, server_context, settled
from webhook.config.settings import Settings
from webhook.errors import ConfigError
from webhook.policy.api.versions import NEWEST_VERSION
from webhook.policy.defaulting.policystatus import PolicyCounts
from webhook.policy.defaulting.profiles import Profile
from webhook.server.apiserver import connect_api_server
from webhook.server.audits.messages import AuditFailure, AuditResult, encode, frame
from webhook.server.audits.schedule import (
    AuditedPolicy,
    AuditSchedule,
    build_audits,
    pause_after,
)
from webhook.server.context import ServerContext
from webhook.server.election import Clocks
from webhook.server.events import EventRecorder, TaskObservers
from webhook.server.reload import PolicySources
from webhook.telemetry.catalogue import SKEW
from webhook.telemetry.exposition import expose
from webhook.telemetry.line_writer import LineWriter
from webhook.telemetry.logs import LogFormat, make_log
from webhook.telemetry.metrics import Metrics

BEGIN = datetime(2026, 1, 2, tzinfo=UTC)
TOOK_S = 5
EXPECTED_SAMPLE = (
    b'evenspread_skew{namespace="shop",topology_key="zone",workload="Deployment/web"} 3.0'
)
DONE = AuditResult(
    exposition=expose({SKEW: {("shop", "Deployment/web", "zone"): 3}}),
    workloads=1,
    pods=4,
    findings=2,
)

PAUSES = {
    "an audit that takes no time": (0, 600, 600),
    "the time that it took is part of the interval": (20, 600, 580),
    "half of the interval": (300, 600, 300),
    "the whole of it": (600, 600, 600),
    "longer than it": (700, 600, 700),
}


@pytest.mark.parametrize(("took", "interval", "pause"), PAUSES.values(), ids=PAUSES)
def test_pauses(took: float, interval: float, pause: float) -> None:
    assert pause_after(took, interval) == pause


class FakeAudits:
    """A clock that advances when a task waits, and audits with prescribed results."""

    def __init__(self, *outcomes: AuditResult | AuditFailure | Exception) -> None:
        self.events: EventRecorder | None = None
        self.metrics = Metrics()
        self.begun: list[float] = []
        self._outcomes = list(outcomes)
        self._now = 0.0
        self._stream = io.BytesIO()

    async def audit(self) -> AuditResult | AuditFailure:
        self.begun.append(self._now)
        if not self._outcomes:
            await asyncio.Event().wait()
        self._now += TOOK_S
        outcome = self._outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def sleep(self, seconds: float) -> None:
        self._now += seconds

    @property
    def log(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._stream.getvalue().splitlines()]

    def value(self, name: str, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(f"evenspread_{name}", labels)

    def _read_wall_clock(self) -> datetime:
        return BEGIN + timedelta(seconds=self._now)

    def start(self) -> asyncio.Task[None]:
        clocks = Clocks(lambda: self._now, self._read_wall_clock, self.sleep)
        log = make_log(
            LogFormat.JSON, LineWriter(self._stream, lambda write: write()), lambda: BEGIN
        )
        auditor = AuditSchedule(
            self.audit,
            timedelta(minutes=10),
            clocks,
            TaskObservers(self.metrics, log, self.events),
        )
        return asyncio.create_task(auditor.work())


async def ended(task: asyncio.Future[Any]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_audits_begin_an_interval_apart_and_are_shown_until_work_ends() -> None:
    world = FakeAudits(DONE, DONE)
    nothing = world.metrics.exposition()

    task = world.start()
    await settled(lambda: len(world.begun) == 3)

    assert world.begun == [0, 600, 1200]
    assert world.value("audits_total", result="success") == 2
    assert world.value("audit_leader") == 1
    assert world.value("audit_duration_seconds") == TOOK_S
    assert world.value("audit_timestamp_seconds") == BEGIN.timestamp() + 600 + TOOK_S
    assert EXPECTED_SAMPLE in world.metrics.exposition()

    await ended(task)
    assert EXPECTED_SAMPLE not in world.metrics.exposition()
    assert world.value("audit_leader") == 0
    assert math.isnan(world.value("audit_timestamp_seconds") or 0)
    assert b"# TYPE evenspread_skew gauge" in nothing


async def test_namespaces_that_were_left_out_are_reported_when_they_change() -> None:
    some = replace(DONE, left_out=("a", "b", "c", "d", "e", "f"))
    world = FakeAudits(some, some, DONE, replace(DONE, left_out=("a",)))
    server = ApiServer()
    server.define("v1", "Event")
    world.events = EventRecorder(server, server_context(namespace="ns"))
    writing = asyncio.create_task(world.events.run())

    task = world.start()
    await settled(lambda: len(server.writes) == 2)
    await ended(task)
    await ended(writing)

    advice = "which need more memory than an audit may use: allow more by --audit-memory"
    messages = [f"left out a, b, c, d, e and 1 more, {advice}", f"left out a, {advice}"]
    assert [line["message"] for line in world.log if line["level"] == "warning"] == messages
    events = [json.loads(request.body) for request in server.writes]
    assert [(event["reason"], event["message"]) for event in events] == [
        ("AuditIncomplete", message) for message in messages
    ]


async def test_of_an_audit_that_fails_the_one_before_is_shown_on() -> None:
    world = FakeAudits(DONE, AuditFailure("the API server answered 403"))

    task = world.start()
    await settled(lambda: len(world.begun) == 3)
    exposition = world.metrics.exposition()
    await ended(task)

    assert EXPECTED_SAMPLE in exposition
    assert world.value("audits_total", result="failure") == 1
    (_, failure) = world.log
    assert (failure["level"], failure["message"]) == ("error", "the API server answered 403")


async def test_a_bug_of_an_audit_is_one_that_failed() -> None:
    world = FakeAudits(ZeroDivisionError("a piece of a body"), DONE)

    task = world.start()
    await settled(lambda: len(world.begun) == 3)
    await ended(task)

    assert world.begun == [0, 600, 1200]
    assert world.value("audits_total", result="failure") == 1
    assert world.value("audits_total", result="success") == 1
    bug, failure, _ = world.log
    assert (bug["event"], bug["error"]) == ("bug", "ZeroDivisionError")
    assert failure["message"] == "by a bug of evenspread (ZeroDivisionError)"


async def test_what_was_left_out_is_reported_when_it_changes() -> None:
    result = AuditResult(exposition=b"", workloads=0, pods=0, findings=0, problems=("one", "two"))
    world = FakeAudits(result, result, DONE, result)

    task = world.start()
    await settled(lambda: len(world.begun) == 5)
    await ended(task)

    assert [line["message"] for line in world.log if "message" in line] == ["one", "two"] * 2


async def test_the_log_has_a_line_for_each_audit() -> None:
    world = FakeAudits(DONE)

    task = world.start()
    await settled(lambda: len(world.begun) == 2)
    await ended(task)

    (line,) = world.log
    members = ("event", "result", "seconds", "workloads", "pods", "findings")
    assert [line[name] for name in members] == ["audit", "success", TOOK_S, 1, 4, 2]


SOURCES = PolicySources(version=NEWEST_VERSION)
AUDITED = AuditedPolicy(SOURCES, (Profile(name="cluster"),))


def ignore(_: Mapping[str, PolicyCounts]) -> None:
    """Take the counts of an audit."""


@asynccontextmanager
async def context_in_cluster(**settings: Any) -> AsyncGenerator[ServerContext]:
    """Build the context of a server whose API server is never called."""
    async with connect_api_server(Settings(kubeconfig="none")) as api:
        yield server_context(None, api, **settings)


async def test_settings_without_an_interval_require_no_audits() -> None:
    async with context_in_cluster() as context:
        assert build_audits(context, lambda: AUDITED, ignore) is None


# settings -> message
CONTRADICTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "reports without audits": (
        {"policy_reports": "openreports.io"},
        "--policy-reports: are written by audits: add --audit-interval",
    ),
    "no namespace for the Lease": (
        {"audit_interval": "10m"},
        "--namespace: is needed for the Lease of --audit-interval, outside of a pod",
    ),
}


@pytest.mark.parametrize(("settings", "message"), CONTRADICTIONS.values(), ids=CONTRADICTIONS)
async def test_contradicting_settings_are_reported(settings: dict[str, Any], message: str) -> None:
    async with context_in_cluster(**settings) as context:
        with pytest.raises(ConfigError) as caught:
            build_audits(context, lambda: AUDITED, ignore)

    assert str(caught.value) == message


def test_audits_need_a_cluster() -> None:
    with pytest.raises(ConfigError, match="--audit-interval: needs a cluster"):
        build_audits(server_context(audit_interval="10m"), lambda: AUDITED, ignore)


async def test_work_begins_with_an_audit(tmp_path: Path) -> None:
    stream = io.BytesIO()
    async with listening() as server:
        file = write_kubeconfig(tmp_path, server.url)
        async with connect_api_server(Settings(kubeconfig=file)) as api:
            context = server_context(stream, api, audit_interval="10m", namespace="ns")
            audits = build_audits(context, lambda: AUDITED, ignore, command=("/nowhere/python",))
            assert audits is not None
            task = asyncio.ensure_future(audits())
            await settled(lambda: "audit" in {line["event"] for line in logged(stream)})
            await ended(task)

    (audit,) = (line for line in logged(stream) if line["event"] == "audit")
    assert audit["result"] == "failure"
    assert audit["message"].startswith("the audit process cannot be started: ")


async def test_the_counts_of_an_audit_are_published(tmp_path: Path) -> None:
    counts = {"cluster": PolicyCounts(3, 1, 0)}
    answer = frame(encode(replace(DONE, counts=counts)))
    writing = f"import sys; sys.stdout.buffer.write({answer!r}); sys.stdout.flush()"
    program = f"{writing}; sys.stdin.read()"
    published: list[Mapping[str, PolicyCounts]] = []
    async with listening() as server:
        file = write_kubeconfig(tmp_path, server.url)
        async with connect_api_server(Settings(kubeconfig=file)) as api:
            context = server_context(io.BytesIO(), api, audit_interval="10m", namespace="ns")
            command = (sys.executable, "-c", program)
            audits = build_audits(context, lambda: AUDITED, published.append, command=command)
            assert audits is not None
            task = asyncio.ensure_future(audits())
            await settled(lambda: bool(published))
            await ended(task)

    assert published == [counts]

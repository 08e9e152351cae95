"""A running admission server on a real socket, and a client that speaks to it byte by byte."""

import asyncio
import io
import json
import ssl
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Self

import trustme

from certs.serving import LiveContext
from tests.certs.world import real_clock
from webhook.cluster.client import Api
from webhook.config.configuration import Configuration
from webhook.config.settings import Settings
from webhook.policy.api.gates import resolve
from webhook.policy.api.versions import NEWEST_VERSION
from webhook.policy.defaulting.profiles import SYSTEM_CONSTRAINTS, Policy, Profile
from webhook.policy.facts import Facts, NoFacts
from webhook.policy.probe import build_probe_verdict
from webhook.server.admission import Admission
from webhook.server.context import ServerContext
from webhook.server.http.endpoint import HttpConnection
from webhook.server.http.limits import Limits
from webhook.server.http.listener import bind, listening
from webhook.server.reporting import Observers
from webhook.server.reviews import Fetch, FindRanks, ReviewContext, no_ranks, nothing_to_fetch
from webhook.server.verdict_log import VerdictLog
from webhook.telemetry.line_writer import LineWriter
from webhook.telemetry.logs import LogFormat, Throttle, make_log
from webhook.telemetry.metrics import Metrics

RECORDED = {
    path.stem: path.read_bytes()
    for path in sorted((Path(__file__).parents[1] / "recorded").glob("*.json"))
}
"""Reviews as a kube-apiserver 1.36 sent them, with their headers."""

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
PATIENCE = 60  # seconds; nothing here takes one, and a hanging test must end
PATIENT = Limits(handshake=PATIENCE, body_read=PATIENCE, request=PATIENCE, finish=PATIENCE)
"""Limits of a server that no stall of the process exceeds."""

UID = "705ab4f5-6393-11e8-b7cc-42010a800002"
JSON = {"Content-Type": "application/json"}
CHUNKED = {**JSON, "Transfer-Encoding": "chunked"}
POLICY = Policy(
    gates=resolve(NEWEST_VERSION, {}, allow_locked=False),
    profiles=(Profile(name="cluster", constraints=SYSTEM_CONSTRAINTS),),
)


@cache
def authority() -> trustme.CA:
    return trustme.CA()


@cache
def server_tls() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority().issue_cert("127.0.0.1").configure_cert(context)
    return context


@cache
def client_tls() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    authority().configure_trust(context)
    return context


def review(uid: str = UID, **members: Any) -> bytes:
    """A review of a new pod without anything that would concern us."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {}}
    request = {
        "uid": uid,
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "operation": "CREATE",
        "namespace": "shop",
        "name": "a",
        "object": pod,
        **members,
    }
    whole = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    return json.dumps(whole).encode()


def padded(size: int) -> bytes:
    """A review of exactly that many bytes."""
    body = review()
    return body + b" " * (size - len(body))


def broken_review(uid: str = UID) -> bytes:
    """A review that is denied: maxSkew is 0."""
    constraint = {"maxSkew": 0, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    spec = {"topologySpreadConstraints": [constraint]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec}
    return review(uid, object=pod)


def head(
    target: str = "/mutate",
    method: str = "POST",
    headers: Mapping[str, str] = JSON,
    version: str = "1.1",
) -> bytes:
    """A request line and headers, up to the blank line."""
    lines = [f"{method} {target} HTTP/{version}", "Host: evenspread"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join((*lines, "", "")).encode()


def call(
    body: bytes,
    target: str = "/mutate",
    method: str = "POST",
    headers: Mapping[str, str] = JSON,
    version: str = "1.1",
) -> bytes:
    """A whole request."""
    named = {**headers, "Content-Length": str(len(body))}
    return head(target, method, named, version) + body


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def response(self) -> dict[str, Any]:
        """The review in the body."""
        answer = json.loads(self.body)
        assert answer["apiVersion"] == "admission.k8s.io/v1"
        assert answer["kind"] == "AdmissionReview"
        response: dict[str, Any] = answer["response"]
        return response

    @property
    def closes(self) -> bool:
        return self.headers.get("connection", "") == "close"


class Wire:
    """One connection of a client."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, data: bytes) -> Self:
        self.writer.write(data)
        return self

    async def reply(self) -> Reply:
        async with asyncio.timeout(PATIENCE):
            lines = (await self.reader.readuntil(b"\r\n\r\n")).decode("ascii").split("\r\n")
            named = (line.partition(": ") for line in lines[1:] if line)
            headers = {name.lower(): value for name, _, value in named}
            body = await self.reader.readexactly(int(headers["content-length"]))
        return Reply(int(lines[0].split()[1]), headers, body)

    async def ask(self, data: bytes) -> Reply:
        return await self.send(data).reply()

    async def ended(self) -> bytes:
        """Wait until the server closes; what came before that."""
        try:
            async with asyncio.timeout(PATIENCE):
                return await self.reader.read()
        except ConnectionError:
            return b""

    async def close(self) -> None:
        self.writer.close()
        try:
            async with asyncio.timeout(PATIENCE):
                await self.writer.wait_closed()
        except OSError:  # the server was first
            return


class Running:
    """A server under test, and what it wrote and counted."""

    def __init__(self, admission: Admission, port: int, log: io.BytesIO, metrics: Metrics) -> None:
        self.admission = admission
        self.port = port
        self.metrics = metrics
        self._log = log
        self._wires: list[Wire] = []

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The log so far."""
        return logged(self._log)

    @property
    def log_text(self) -> str:
        return self._log.getvalue().decode("ascii")

    def value(self, name: str, **labels: str) -> float:
        return self.metrics.registry.get_sample_value(f"evenspread_{name}", labels) or 0.0

    def rejected(self, reason: str) -> float:
        return self.value("admission_rejected_total", reason=reason)

    async def connect(self, tls: ssl.SSLContext | None = None) -> Wire:
        context = tls or client_tls()
        wire = Wire(*await asyncio.open_connection("127.0.0.1", self.port, ssl=context))
        self._wires.append(wire)
        return wire

    async def plain(self) -> Wire:
        """A connection that does not begin with a handshake."""
        wire = Wire(*await asyncio.open_connection("127.0.0.1", self.port))
        self._wires.append(wire)
        return wire

    async def close(self) -> None:
        for wire in self._wires:
            await wire.close()


async def open_from(server: Running, source: str) -> Wire:
    """Open a connection from an address of loopback."""
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", server.port, ssl=client_tls(), local_addr=(source, 0)
    )
    return Wire(reader, writer)


def only_connection(server: Running) -> HttpConnection:
    """Return the only connection of a server."""
    (connection,) = server.admission.connections
    assert isinstance(connection, HttpConnection)
    return connection


class Gate:
    """Holds reviews in flight until it is opened."""

    def __init__(self) -> None:
        self.opened = asyncio.Event()

    async def wait(self, *_: object) -> Facts:
        """Wait, as a lookup of facts does, whose arguments it ignores."""
        await self.opened.wait()
        return NoFacts()


def server_context(
    stream: io.BytesIO | None = None, api: Api | None = None, **settings: Any
) -> ServerContext:
    """
    A context for the parts of a server that does not listen.

    Args:
        stream: Receives the log; None discards it.
        settings: Members of ``Settings``.
    """
    lines = LineWriter(stream or io.BytesIO(), lambda write: write())
    throttle = Throttle(Limits().reviews_logged, time.monotonic)
    return ServerContext(
        settings=Settings(**settings),
        configuration=Configuration(),
        limits=Limits(stalled_reply=0),
        api=api,
        log=make_log(LogFormat.JSON, lines, lambda: NEW_YEAR),
        verdict_log=VerdictLog(LogFormat.JSON, lines, lambda: NEW_YEAR, throttle),
        now=real_clock,
    )


def logged(stream: io.BytesIO) -> list[dict[str, Any]]:
    """The events in a log."""
    return [json.loads(line) for line in stream.getvalue().splitlines()]


@asynccontextmanager
async def serving(
    limits: Limits | None = None,
    policy: Policy = POLICY,
    facts: Facts | None = None,
    fetch: Fetch = nothing_to_fetch,
    live: LiveContext | None = None,
    *,
    find_ranks: FindRanks = no_ranks,
    metrics: Metrics | None = None,
    wall: Callable[[], datetime] = lambda: NEW_YEAR,
) -> AsyncGenerator[Running]:
    """Run an admission server; afterwards nothing of it may be left."""
    log, metrics = io.BytesIO(), metrics or Metrics()
    lines = LineWriter(log, lambda write: write())
    json_log = make_log(LogFormat.JSON, lines, lambda: NEW_YEAR)
    throttle = Throttle((limits or PATIENT).reviews_logged, time.monotonic)
    observers = Observers(metrics, json_log, VerdictLog(LogFormat.JSON, lines, wall, throttle))
    verdict = build_probe_verdict("0.1.0", "replica-1")
    context = ReviewContext(policy, facts or NoFacts(), fetch, verdict, find_ranks=find_ranks)
    before = len(open_sockets())
    tls, clients = (live.context, live.clients) if live else (server_tls(), None)
    admission = Admission(context, limits or PATIENT, observers, tls, clients)
    sockets = bind("127.0.0.1", 0)
    running = Running(admission, sockets[0].getsockname()[1], log, metrics)
    async with listening(admission, sockets):
        try:
            yield running
        finally:
            await running.close()
    await settled(lambda: len(admission.callers) == 0)
    await settled(lambda: len(asyncio.all_tasks()) == 1)
    await settled(lambda: len(open_sockets()) <= before)
    assert admission.in_flight == 0
    assert running.value("body_bytes") == 0


def open_sockets() -> list[str]:
    """The sockets of this process; others come and go with the list itself."""
    links = []
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            links.append(str(descriptor.readlink()))
    return [link for link in links if link.startswith("socket:")]


async def settled(holds: Callable[[], bool]) -> None:
    """Let the loop turn until something holds; it fails if that does not come."""
    async with asyncio.timeout(PATIENCE):
        while not holds():  # noqa: ASYNC110  # what is waited for sets no event
            await asyncio.sleep(0)

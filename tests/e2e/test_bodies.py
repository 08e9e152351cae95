"""Huge bodies and large objects: refused or judged in flat memory, and others are served."""

import asyncio
import base64
import gzip
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from tests.e2e.bystander import Bystander
from tests.e2e.cgroup import MemoryCgroup, memory_cgroup
from tests.e2e.health import LivezSampler, forget_peak, memory, peak
from tests.e2e.hostile import MIB
from tests.e2e.objects import LONG, rounds
from tests.e2e.siege import MOST_MEMORY
from tests.e2e.standalone import PATIENCE_S, PATIENT, Standalone
from tests.faults.plugin import FaultReport
from tests.server.serving import CHUNKED, JSON, Reply, call, head, review
from webhook.policy.model import MAX_CONSTRAINTS
from webhook.server.http.limits import Limits

MOST = Limits().body
AT_ONCE = 4  # of one body, so that they also reach the limit on all bodies together
MOST_GROWTH = 160 * MIB  # 64 of bodies, and what one large review takes while it is judged
CONTAINER = 512 * MIB  # the memory limit of the chart
LONGEST_LAG_MS = 100.0
TARGET = "/mutate?timeout=60s"
AGAIN = rounds(1, 10)

GZIP = {**JSON, "Content-Encoding": "gzip"}


def chunks(body: bytes, size: int) -> bytes:
    parts = (body[at : at + size] for at in range(0, len(body), size))
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def length(size: int) -> dict[str, str]:
    return {**JSON, "Content-Length": f"{size}"}


def make_huge() -> dict[str, tuple[bytes, set[int]]]:
    """Map a title to what a client sends, and the statuses with which it is refused."""
    return {
        "16 MiB and a byte": (call(bytes(16 * MIB + 1), TARGET), {400, 503}),
        "a byte too many": (call(bytes(MOST + 1), TARGET), {413}),
        "a byte too many in chunks": (
            head(TARGET, headers=CHUNKED) + chunks(bytes(MOST + 1), 64 * 1024),
            {413, 503},
        ),
        "a bomb of gzip": (call(gzip.compress(bytes(64 * MIB)), TARGET, headers=GZIP), {415}),
        "a length beyond all limits": (head(TARGET, headers=length(1 << 50)), {413}),
        "a length less than the body": (head(TARGET, headers=length(10)) + review(), {400}),
        "a flood of chunks of a byte": (
            head(TARGET, headers=CHUNKED) + chunks(b" " * 300_000, 1),
            {400, 503},
        ),
        "a flood of empty members": (call(b"[" + b"{}," * (8 * MIB // 3), TARGET), {400, 503}),
    }


def constraints(number: int) -> list[dict[str, object]]:
    return [
        {
            "maxSkew": 1,
            "topologyKey": f"example.com/key-{at}",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"app": f"app-{at}"}},
        }
        for at in range(number)
    ]


def pod(*, labels: int = 1, annotations: int = 0, spread: int = 0) -> bytes:
    metadata = {
        "name": "a",
        "labels": {"app": "it", **{f"label-{at}": "x" * 20 for at in range(labels)}},
        "annotations": {f"note-{at}": "x" * 1000 for at in range(annotations // 1000)},
    }
    spec = {"topologySpreadConstraints": constraints(spread)} if spread else {}
    return review(object={"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})


def make_large() -> dict[str, tuple[bytes, bool, int]]:
    """Map a title to a review, whether it is allowed, and how many operations its patch has."""
    return {
        "10 000 constraints": (pod(spread=10_000), False, 0),
        "as many constraints as are read": (pod(spread=MAX_CONSTRAINTS), True, 0),
        "annotations of 3 MiB": (pod(annotations=3 * MIB), True, 2),
        "10 000 labels": (pod(labels=10_000), True, 2),
        "all of these": (pod(spread=10_000, labels=10_000, annotations=3 * MIB), False, 0),
    }


async def send(server: Standalone, request: bytes) -> Reply:
    """Send a request in the background, since the reply may come before its end."""
    wire = await server.connect()
    sending = asyncio.create_task(_drain(wire.send(request).writer))
    reply = await wire.reply()
    sending.cancel()
    await asyncio.wait([sending])
    wire.writer.transport.abort()
    return reply


async def _drain(writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        await writer.drain()


@asynccontextmanager
async def attacked(server: Standalone) -> AsyncGenerator[Bystander]:
    forget_peak(server.process.pid)
    async with asyncio.timeout(3 * PATIENCE_S), Bystander(server) as bystander:
        yield bystander


@pytest.mark.fault(19)
async def test_huge_bodies_are_refused_and_memory_stays_flat(
    standalone: Standalone, fault_report: FaultReport
) -> None:
    huge, pid = make_huge(), standalone.process.pid
    before, wrong = memory(pid), dict[str, set[int]]()
    async with attacked(standalone) as bystander:
        for title, (request, statuses) in list(huge.items()) * AGAIN:
            replies = await asyncio.gather(*(send(standalone, request) for _ in range(AT_ONCE)))
            if not {reply.status for reply in replies} <= statuses:
                wrong[title] = {reply.status for reply in replies}
    growth = peak(pid) - before

    assert not wrong
    bystander.check(may_be_busy=True)  # four bodies of 32 MiB at once are an overload
    assert growth < MOST_GROWTH
    assert peak(pid) < MOST_MEMORY
    assert "Traceback" not in standalone.log.read_text()
    fault_report.record(
        load=f"{len(huge) * AT_ONCE * AGAIN} huge bodies of {len(huge)} kinds, {AT_ONCE} at once",
        calls=len(huge) * AT_ONCE * AGAIN + len(bystander.latencies),
        failed=0,
        outcome=f"memory {before // MIB} MiB, {growth // MIB} more at most; others p99 "
        f"{bystander.p99 * 1e3:.0f} ms, {bystander.busy} of them refused with Retry-After",
    )


@pytest.mark.fault(20)
async def test_large_objects_are_judged_within_the_memory_of_the_container(
    tmp_path: Path, fault_report: FaultReport
) -> None:
    server, large = Standalone(tmp_path, {}, **PATIENT), make_large()
    with memory_cgroup(CONTAINER) as group, confine(server, group).started():
        pid = server.process.pid
        with LivezSampler(server) as sampler:
            async with attacked(server) as bystander:
                for title, (body, allowed, operations) in list(large.items()) * AGAIN:
                    for hook in ("/mutate", "/validate"):
                        reply = await send(server, call(body, f"{hook}?timeout=60s"))
                        check_large(title, reply, hook, allowed, operations)
        most, alive = peak(pid), server.process.alive
        limit = f"in a cgroup of {CONTAINER // MIB} MiB" if group else "without a cgroup"

    assert alive
    bystander.check()
    assert most < MOST_MEMORY
    lag = sorted(sample.own for sample in sampler.samples)[int(len(sampler.samples) * 0.99)]
    assert not LONG or lag < LONGEST_LAG_MS
    fault_report.record(
        load=f"{len(large) * 2 * AGAIN} reviews of large objects, {limit}",
        calls=len(large) * 2 * AGAIN + len(bystander.latencies),
        failed=0,
        outcome=f"{most // MIB} MiB at most; others p99 {bystander.p99 * 1e3:.0f} ms, "
        f"loop lag p99 {lag:.0f} ms",
    )


def confine(server: Standalone, group: MemoryCgroup | None) -> Standalone:
    """Let the kernel kill a server that exceeds the limit of its cgroup."""
    if group is not None:
        server.process.command = group.wrap(server.process.command)
    return server


def check_large(title: str, reply: Reply, hook: str, allowed: bool, operations: int) -> None:
    assert reply.status == 200, title
    response = reply.response
    assert response["allowed"] == allowed, title
    if not allowed:
        assert f"{10_000}" in response["status"]["message"], title
    expected = operations if hook == "/mutate" else 0
    patch = json.loads(base64.b64decode(response["patch"])) if "patch" in response else []
    assert len(patch) == expected, title

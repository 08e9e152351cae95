"""Clients that send or read slowly: each connection ends in time, and no other client notices."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.e2e.bystander import Bystander
from tests.e2e.health import peak
from tests.e2e.hostile import MIB, pairs
from tests.e2e.objects import rounds
from tests.e2e.siege import MOST_MEMORY
from tests.e2e.standalone import Standalone, eventually
from tests.faults.plugin import FaultReport
from tests.server.serving import JSON, Wire, call, head, review

LIMITS = {
    "handshake": 6.0,  # also for those that behave
    "keep_alive": 3.0,
    "body_read": 2.0,
    "discarded": 1.0,
    "stalled_reply": 1.0,
}
TARGET = "/mutate?timeout=30s"
SLACK_S = 20.0  # for a machine that does other things
EACH = rounds(20, 82)  # connections of each kind
READERS = rounds(4, 8)  # clients that read nothing, each of which has sent enough
PATIENCE_S = 240.0
PAUSE_S = 0.2  # between two bytes of a trickle

HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"  # the beginning of a ClientHello


async def say_nothing(server: Standalone) -> Wire:
    return await server.plain()


async def begin_handshake(server: Standalone) -> Wire:
    return (await server.plain()).send(HELLO)


async def shake_hands(server: Standalone) -> Wire:
    return await server.connect()


async def send_half(server: Standalone) -> Wire:
    return (await server.connect()).send(call(review(), TARGET)[:-20])


async def trickle_headers(server: Standalone) -> Wire:
    return trickling(await server.connect(), head(TARGET) * 10)


async def trickle_body(server: Standalone) -> Wire:
    wire = await server.connect()
    return trickling(wire.send(head(TARGET, headers={**JSON, "Content-Length": "999"})), b" " * 999)


def trickling(wire: Wire, data: bytes) -> Wire:
    """Send a byte now and then, until the connection is closed."""

    async def trickle() -> None:
        for byte in data:
            if wire.writer.transport.is_closing():
                break
            wire.send(bytes([byte]))
            await asyncio.sleep(PAUSE_S)

    background.add(task := asyncio.create_task(trickle()))
    task.add_done_callback(background.discard)
    return wire


background = set[asyncio.Task[None]]()
"""Keeps the tasks alive."""

ATTACKS: dict[str, tuple[Callable[[Standalone], Awaitable[Wire]], float]] = {
    "no bytes": (say_nothing, LIMITS["handshake"]),
    "half a handshake": (begin_handshake, LIMITS["handshake"]),
    "nothing after the handshake": (shake_hands, LIMITS["keep_alive"]),
    "trickled headers": (trickle_headers, LIMITS["keep_alive"]),
    "half a body": (send_half, LIMITS["body_read"] + LIMITS["discarded"]),
    "a trickled body": (trickle_body, LIMITS["body_read"] + LIMITS["discarded"]),
}
"""Title -> what a client does, and the seconds after which it is closed."""


opening = asyncio.Semaphore(4)
"""Handshakes at a time: hundreds at once would be an overload, which is another case."""


async def attack(server: Standalone, title: str) -> float:
    """Attack once; seconds until the server closes the connection, beyond its deadline."""
    act, deadline = ATTACKS[title]
    async with opening:
        wire = await act(server)
    began = time.monotonic()
    await wire.ended()
    took = time.monotonic() - began
    await wire.close()
    return took - deadline


async def stop_reading(server: Standalone) -> Wire:
    """Send reviews with long answers, and read none."""
    wire = await server.connect()
    wire.writer.transport.pause_reading()  # type: ignore[attr-defined]
    labels = pairs(20_000, "-", "-")()
    constraint = f'{{"maxSkew":0,"labelSelector":{{"matchLabels":{labels}}}}}'
    spec = f'{{"topologySpreadConstraints":[{constraint}]}}'.encode()
    body = review(object={"spec": "@"}).replace(b'"@"', spec)
    return wire.send(call(body) * 200)


@pytest.mark.fault(17)
async def test_slow_clients_are_cut_in_time_and_others_are_served(
    tmp_path: Path, fault_report: FaultReport
) -> None:
    with Standalone(tmp_path, {}, **LIMITS) as server:
        server.wait()
        async with asyncio.timeout(PATIENCE_S + SLACK_S), Bystander(server) as bystander:
            readers = [await stop_reading(server) for _ in range(READERS)]
            titles = [title for title in ATTACKS for _ in range(EACH)]
            late = await asyncio.gather(*(attack(server, title) for title in titles))
            await eventually(lambda: server.rejected("stalled-reply") >= READERS)
            await eventually(lambda: server.metric("connections") <= 1)
        for reader in readers:
            reader.writer.transport.abort()
        most = peak(server.process.pid)
        text = server.log.read_text()

    assert not Counter(title for title, s in zip(titles, late, strict=True) if s > SLACK_S)
    bystander.check()
    assert most < MOST_MEMORY
    assert "Traceback" not in text
    fault_report.record(
        load=f"{len(titles) + READERS} slow clients of {len(ATTACKS) + 1} kinds",
        calls=len(bystander.latencies),
        failed=0,
        outcome=f"all closed in time; others p99 {bystander.p99 * 1e3:.0f} ms, {most // MIB} MiB",
    )

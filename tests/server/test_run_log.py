"""A server process whose log has no reader, or none any more."""

import asyncio
import fcntl
import json
import os
import re
import ssl
import sys
import time
from asyncio.subprocess import Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from tests.server.serving import PATIENCE, Wire, broken_review, call, head
from webhook.policy.request import LONGEST_NAME
from webhook.telemetry.line_writer import MOST_PENDING

LOOK_S = 0.25  # of the wall clock, in which a process that spins uses as much of the CPU's
IDLE_SHARE = 0.2  # of a core
GREETING = re.compile(r"serves on (\S+), its health on (\S+)\n")
LINE = 450  # bytes of the line that a denial leaves, at least, with a name of the greatest length


class Child(NamedTuple):
    """A server in a process of its own."""

    process: Process
    url: str
    health: str
    tls: ssl.SSLContext
    log: int

    async def deny(self, times: int) -> None:
        """Have calls denied, each of which is a line of the log."""
        body = json.loads(broken_review())
        body["request"]["name"] = "a" * LONGEST_NAME
        denied = json.dumps(body).encode()
        wire = await connect(self.url, self.tls)
        for _ in range(times):
            reply = await wire.ask(call(denied))
            assert reply.response["allowed"] is False
        await wire.close()

    async def page(self, path: str) -> tuple[int, str]:
        wire = await connect(self.health)
        reply = await wire.ask(head(path, "GET", {}))
        await wire.close()
        return reply.status, reply.body.decode()

    async def lost_lines(self) -> float:
        _, metrics = await self.page("/metrics")
        name = "evenspread_log_lines_lost_total "
        return float(
            next(line for line in metrics.splitlines() if line.startswith(name)).split()[1]
        )

    def cpu_s(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def connect(url: str, tls: ssl.SSLContext | None = None) -> Wire:
    at = urlsplit(url)
    return Wire(*await asyncio.open_connection(at.hostname, at.port, ssl=tls))


@asynccontextmanager
async def served(folder: Path) -> AsyncGenerator[Child]:
    """Start a server and read its log up to the line with its addresses, and no further."""
    log, stderr = os.pipe()
    fcntl.fcntl(stderr, fcntl.F_SETPIPE_SZ, 4096)
    command = "-m webhook serve --standalone --port 0 --health-port 0 --log-level debug --state"
    process = await asyncio.create_subprocess_exec(
        sys.executable, *command.split(), str(folder), stderr=stderr
    )
    os.close(stderr)
    try:
        async with asyncio.timeout(PATIENCE):
            url, health = await asyncio.to_thread(read_addresses, log)
        tls = ssl.create_default_context(cafile=folder / "ca.crt")
        yield Child(process, url, health, tls, log)
    finally:
        process.kill()  # it would wait for API servers to leave
        await process.wait()


def read_addresses(log: int) -> tuple[str, str]:
    output = ""
    while (found := GREETING.search(output)) is None:
        piece = os.read(log, 4096).decode()
        assert piece, output
        output += piece
    return found[1], found[2]


async def test_a_log_without_a_reader_delays_no_call(tmp_path: Path) -> None:
    async with served(tmp_path) as child:
        await child.deny(MOST_PENDING // LINE + 50)
        alive = await child.page("/livez")
        lost = await child.lost_lines()
        os.close(child.log)

    assert alive == (200, "ok\n")
    assert lost > 0


async def test_a_log_whose_reader_is_gone_costs_no_cpu(tmp_path: Path) -> None:
    async with served(tmp_path) as child:
        os.close(child.log)
        await child.deny(10)
        alive = await child.page("/livez")
        lost = await child.lost_lines()
        async with asyncio.timeout(PATIENCE):
            while await cpu_share(child) > IDLE_SHARE:
                pass

    assert alive == (200, "ok\n")
    assert lost >= 10


async def cpu_share(child: Child) -> float:
    """How much of a core a process uses, measured for a moment."""
    before, began = child.cpu_s(), time.monotonic()
    await asyncio.sleep(LOOK_S)
    return (child.cpu_s() - before) / (time.monotonic() - began)

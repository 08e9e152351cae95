"""A server as a whole that runs in this process."""

import asyncio
import json
import signal
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.server.serving import PATIENCE, Wire, head
from webhook.config.settings import Settings
from webhook.server.http.drain import StopRequest
from webhook.server.http.limits import Limits
from webhook.server.run import Console, Greet, ServerAddresses, serve

QUICK = Limits(drain_least=0, drain_quiet=0, drain_most=0)


class Started:
    """A server that runs in this process, on ports that were free."""

    def __init__(self, ready: ServerAddresses, stop: StopRequest) -> None:
        self.ready = ready
        self.stop = stop
        self.lines: list[str] = []
        self._tls = ssl.create_default_context(cafile=ready.ca)

    async def connect(self) -> Wire:
        at = urlsplit(self.ready.url)
        return Wire(*await asyncio.open_connection(at.hostname, at.port, ssl=self._tls))

    async def page(self, path: str) -> tuple[int, str]:
        at = urlsplit(self.ready.health)
        wire = Wire(*await asyncio.open_connection(at.hostname, at.port))
        reply = await wire.ask(head(path, "GET", {}))
        await wire.close()
        return reply.status, reply.body.decode()


def settings_in(folder: Path, **members: Any) -> Settings:
    values: dict[str, Any] = {"standalone": True, "port": 0, "health_port": 0}
    values |= {"state": str(folder / "state"), **members}
    return Settings(**values)


@asynccontextmanager
async def started(
    settings: Settings,
    limits: Limits = QUICK,
    greet: Greet | None = None,
    console: Console | None = None,
) -> AsyncGenerator[Started]:
    loop, stop = asyncio.get_running_loop(), StopRequest(lambda code: pytest.fail(f"exit {code}"))
    ready: asyncio.Future[ServerAddresses] = loop.create_future()
    lines: list[str] = []

    def take(addresses: ServerAddresses) -> None:
        loop.call_soon_threadsafe(ready.set_result, addresses)
        if greet is not None:
            greet(addresses)

    serving = asyncio.create_task(
        serve(settings, console or lines.append, take, limits=limits, stop=stop)
    )
    async with asyncio.timeout(PATIENCE):
        while not ready.done():  # or it has failed
            assert not serving.done(), serving.exception()
            await asyncio.sleep(0)
    server = Started(ready.result(), stop)
    server.lines = lines
    try:
        yield server
    finally:
        if not stop.requested.is_set():
            stop.take(signal.SIGINT)
        async with asyncio.timeout(PATIENCE):
            await serving


def logged(capsysbinary: pytest.CaptureFixture[bytes]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsysbinary.readouterr().err.splitlines()]


async def settled_page(server: Started, path: str, status: int) -> None:
    async with asyncio.timeout(PATIENCE):
        while (await server.page(path))[0] != status:
            pass

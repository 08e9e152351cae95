"""An aiohttp application that listens within a test, and leaves no socket behind."""

import asyncio
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from aiohttp import web


@asynccontextmanager
async def listening_app(
    app: web.Application, tls: ssl.SSLContext | None = None, port: int = 0
) -> AsyncGenerator[int]:
    """Serve an application on a port of 127.0.0.1, and yield the port."""
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port, ssl_context=tls).start()
        yield runner.addresses[0][1]
    finally:
        await _close(runner)


async def _close(runner: web.AppRunner) -> None:
    """
    Stop listening, and close every connection at once.

    asyncio ends a TLS connection when its client has answered the close, which a client that
    keeps connections for later, as kube-apiserver does, may do after the loop has ended.
    """
    assert runner.server is not None
    connections = runner.server.connections
    transports = [open_.transport for open_ in connections if open_.transport is not None]
    await runner.cleanup()
    for transport in transports:
        transport.abort()
    await asyncio.sleep(0)  # asyncio closes their sockets in its next turn

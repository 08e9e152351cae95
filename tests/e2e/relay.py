"""A TCP relay between a client and a server, that can fail in all the ways a network does."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeAlias

End: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Relay:
    """
    Forwards connections to a port of loopback.

    Attributes:
        port: Where it listens.
        closed: Whether new connections are refused.
    """

    def __init__(self, target: int) -> None:
        self.port = 0
        self.closed = False
        self._target = target
        self._links: set[_Link] = set()
        self._tasks: set[asyncio.Task[Any] | None] = set()

    @property
    def links(self) -> int:
        """How many connections there are."""
        return len(self._links)

    async def accept(self, *client: Any) -> None:
        """Serve one connection to its end."""
        task = asyncio.current_task()
        self._tasks.add(task)
        try:
            with suppress(OSError, asyncio.CancelledError):
                await self._serve(client)
        finally:
            await _gone(client)
            self._tasks.discard(task)

    def cut(self) -> None:
        """Break all connections."""
        for link in self._links:
            link.abort()

    def swallow(self) -> None:
        """Leave all connections open, and forward nothing of them any more."""
        for link in self._links:
            link.open.clear()

    async def close(self) -> None:
        """Break all connections, and wait until they are gone."""
        self.closed = True
        tasks = [task for task in self._tasks if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks)

    async def _serve(self, client: End) -> None:
        if self.closed:
            return
        server = await asyncio.open_connection("127.0.0.1", self._target)
        link = _Link(client, server)
        self._links.add(link)
        try:
            await link.forward()
        finally:
            self._links.discard(link)
            await _gone(server)


class _Link:
    """One connection, forwarded."""

    def __init__(self, client: End, server: End) -> None:
        self._client, self._server = client, server
        self.open = asyncio.Event()
        self.open.set()

    async def forward(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._pump(self._client[0], self._server[1]))
            group.create_task(self._pump(self._server[0], self._client[1]))

    def abort(self) -> None:
        for _, writer in (self._client, self._server):
            writer.transport.abort()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                await self.open.wait()
                writer.write(data)
                await writer.drain()
        self.abort()


async def _gone(end: End) -> None:
    _, writer = end
    writer.transport.abort()
    with suppress(OSError):
        await writer.wait_closed()


@asynccontextmanager
async def relaying(target: int) -> AsyncGenerator[Relay]:
    """Relay to a port as long as the context lasts."""
    relay = Relay(target)
    listener = await asyncio.start_server(relay.accept, "127.0.0.1", 0)
    relay.port = listener.sockets[0].getsockname()[1]
    try:
        yield relay
    finally:
        listener.close()
        await relay.close()

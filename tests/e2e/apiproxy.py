"""An HTTP proxy before an API server, that can answer garbage, or nothing at all."""

import asyncio
import ssl
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from enum import Enum, auto
from typing import Any

import aiohttp
from aiohttp import web

from tests.controlplane.api import Api
from tests.listener import listening_app

GARBAGE = b'{"kind": "\xff<html>\n'
_OF_A_CONNECTION = {"Transfer-Encoding", "Content-Length", "Connection", "Host"}


class Mode(Enum):
    """What becomes of requests."""

    PASS = auto()
    GARBAGE = auto()
    HANG = auto()
    UNAUTHORIZED = auto()


class ApiProxy:
    """
    Forwards each request, with the credentials that it came with.

    Attributes:
        port: Of 127.0.0.1.
        requests: How many there were, by path.
        answer: Answers a request in place of the API server; None lets it pass.
    """

    def __init__(self, api: Api, session: aiohttp.ClientSession) -> None:
        self.port = 0
        self.requests: Counter[str] = Counter()
        self.answer: Callable[[web.Request], Awaitable[web.Response | None]] | None = None
        self._api = api
        self._session = session
        self._mode = Mode.PASS
        self._changed = asyncio.Event()
        self._handling: set[asyncio.Task[Any] | None] = set()

    def behave(self, mode: Mode) -> None:
        """Treat new requests in another way, and break off those that there are."""
        self._mode = mode
        self._changed.set()
        self._changed = asyncio.Event()
        for task in self._handling:
            if task is not None:
                task.cancel()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.requests[request.path] += 1
        if self._mode is Mode.GARBAGE:
            return web.Response(body=GARBAGE, content_type="application/json")
        if self._mode is Mode.UNAUTHORIZED:
            return web.Response(status=401, text="log in at the proxy")
        task = asyncio.current_task()
        self._handling.add(task)
        try:
            if self._mode is Mode.HANG:
                await self._changed.wait()
            answer = await self.answer(request) if self.answer else None
            return answer or await self._forward(request)
        finally:
            self._handling.discard(task)

    async def deliver(self, request: web.Request) -> int:
        """Forward a request, and keep the answer, but for its status."""
        async with self._send(request, await request.read()) as answer:
            return answer.status

    def _send(
        self, request: web.Request, body: bytes
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        return self._session.request(
            request.method,
            f"{self._api.url}{request.raw_path}",
            headers=_end_to_end(request.headers),
            data=body or None,
        )

    async def _forward(self, request: web.Request) -> web.StreamResponse:
        async with self._send(request, await request.read()) as answer:
            response = web.StreamResponse(status=answer.status, headers=_end_to_end(answer.headers))
            await response.prepare(request)
            async for piece in answer.content.iter_any():
                await response.write(piece)
            return response


def _end_to_end(headers: Any) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name not in _OF_A_CONNECTION}


@asynccontextmanager
async def proxying(
    api: Api, tls: ssl.SSLContext | None = None, port: int = 0
) -> AsyncGenerator[ApiProxy]:
    """Serve as long as the context lasts, plain HTTP unless there is a TLS context."""
    connector = aiohttp.TCPConnector(ssl=api._tls, limit=0)
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
        proxy = ApiProxy(api, session)
        app = web.Application(client_max_size=2**26)
        app.router.add_route("*", "/{path:.*}", proxy.handle)
        async with listening_app(app, tls, port) as proxy.port:
            yield proxy

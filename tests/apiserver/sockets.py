"""The fake API server over HTTP; see ``listening``."""

import asyncio
import json
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web
from multidict import CIMultiDict

from tests.apiserver.answers import Fault, Json, Request, Stream
from tests.apiserver.server import ApiServer
from tests.listener import listening_app
from webhook.cluster.protocol import Response

NO_HTTP = b"\x15\x03\x01 what?\r\n\r\n"


@asynccontextmanager
async def listening(
    server: ApiServer | None = None, tls: ssl.SSLContext | None = None
) -> AsyncGenerator[ApiServer]:
    """Serve on a port of 127.0.0.1; on the same one as before if the server has had one."""
    server = server or ApiServer()

    async def handle(request: web.Request) -> web.StreamResponse:
        received = Request(
            request.method,
            request.rel_url.raw_path,
            dict(request.query),
            await request.read(),
            request.content_type,
            request.headers,
        )
        return await _send(request, await server.answer(received))

    app = web.Application(client_max_size=2**26)
    app.router.add_route("*", "/{path:.*}", handle)
    async with listening_app(app, tls, server.port) as server.port:
        yield server


async def _send(
    request: web.Request, answer: Response | Stream | Fault | Exception
) -> web.StreamResponse:
    if isinstance(answer, Response):
        fields = [(name, value) for name, values in answer.headers.items() for value in values]
        headers = CIMultiDict([("content-type", "application/json"), *fields])
        return web.Response(status=answer.status, body=answer.body, headers=headers)
    response = web.StreamResponse()
    if isinstance(answer, Stream):
        await response.prepare(request)
        async for chunk in answer.read():
            await response.write(chunk)
    await _fail(request, answer.end if isinstance(answer, Stream) else answer)
    return response


async def _fail(request: web.Request, fault: Fault | Exception | None) -> None:
    assert request.transport is not None
    if fault is Fault.SILENCE:
        await asyncio.Event().wait()
    elif fault is Fault.NO_HTTP:
        request.transport.write(NO_HTTP)
        request.transport.close()
    elif fault is not None:
        request.transport.abort()


def write_kubeconfig(folder: Path, url: str, *, user: Json | None = None, proxy: str = "") -> str:
    """Write a kubeconfig file and return its path."""
    path = folder / "kubeconfig"
    written = {
        "clusters": [{"name": "c", "cluster": {"server": url, "proxy-url": proxy}}],
        "users": [{"name": "u", "user": user or {"token": "secret"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    path.write_text(json.dumps(written))
    return str(path)

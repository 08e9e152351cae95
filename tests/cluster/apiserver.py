"""An API server on a real socket that answers by a script: lists, watches, and every fault."""

import asyncio
import json
import ssl
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

from aiohttp import web

Json: TypeAlias = dict[str, Any]
Answer: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]


class ApiServer:
    """
    Answers each request for a path with the next answer of that path's script.

    Attributes:
        requests: What was asked, in order: path and query.
        headers: Those of the requests.
        port: Of 127.0.0.1.
        waiting: Set when a script has come to its end: that request is never answered.
    """

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.headers: list[Mapping[str, str]] = []
        self.port = 0
        self.waiting = asyncio.Event()
        self._scripts: dict[str, deque[Answer]] = {}
        self._never = asyncio.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def script(self, path: str, *answers: Answer) -> None:
        self._scripts.setdefault(path, deque()).extend(answers)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.requests.append((request.path, dict(request.query)))
        self.headers.append(request.headers)
        script = self._scripts.get(request.path)
        if not script:
            self.waiting.set()
            await self._never.wait()
            raise AssertionError
        return await script.popleft()(request)

    def asked(self, path: str) -> list[dict[str, str]]:
        return [query for asked, query in self.requests if asked == path]


@asynccontextmanager
async def running(
    server: ApiServer | None = None, tls: ssl.SSLContext | None = None
) -> AsyncGenerator[ApiServer]:
    """Serve; on a free port, unless the server has had one before."""
    server = server or ApiServer()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.answer)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", server.port, ssl_context=tls)
    await site.start()
    server.port = runner.addresses[0][1]
    try:
        yield server
    finally:
        await runner.cleanup()


def kubeconfig(folder: Path, url: str, *, user: Json | None = None, proxy: str = "") -> str:
    """Write a kubeconfig file, and give its path."""
    path = folder / "kubeconfig"
    written = {
        "clusters": [{"name": "c", "cluster": {"server": url, "proxy-url": proxy}}],
        "users": [{"name": "u", "user": user or {"token": "secret"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    path.write_text(json.dumps(written))
    return str(path)


def service(name: str, app: str | None = "a", version: int = 1) -> Json:
    """Write a Service."""
    metadata = {"name": name, "namespace": "shop", "resourceVersion": f"{version}"}
    return {"metadata": metadata, "spec": {"selector": app and {"app": app}}}


def says(status: int, body: Any = b"") -> Answer:
    """Answer with a status, and bytes or JSON."""

    async def answer(_request: web.Request) -> web.StreamResponse:
        return web.Response(status=status, body=body if isinstance(body, bytes) else packed(body))

    return answer


def lists(*items: Json, version: int = 1, rest: str = "") -> Answer:
    """Answer with a page."""
    return says(
        200, {"metadata": {"resourceVersion": f"{version}", "continue": rest}, "items": items}
    )


def watches(*lines: Json | bytes, cut: bool = False, hang: bool = False) -> Answer:
    """
    Answer with a watch that ends after these lines.

    Args:
        lines: Events, or bytes as they are.
        cut: End by a broken connection.
        hang: Do not end, and say no more.
    """

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for line in lines:
            await response.write(line if isinstance(line, bytes) else packed(line) + b"\n")
        if cut:
            assert request.transport is not None
            request.transport.abort()
        if hang:
            await asyncio.Event().wait()
        return response

    return answer


def event(kind: str, value: Json) -> Json:
    """Write an event of a watch."""
    return {"type": kind, "object": value}


def bookmark(version: int, *, ends: bool = False) -> Json:
    """Write a bookmark; it may end the streamed list."""
    metadata: Json = {"resourceVersion": f"{version}"}
    if ends:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    return event("BOOKMARK", {"kind": "Service", "metadata": metadata, "spec": {}})


def failure(code: int, message: str = "odd") -> Json:
    """Write a Status."""
    return {"kind": "Status", "code": code, "message": message, "metadata": {}}


def packed(value: Any) -> bytes:
    return json.dumps(value).encode()


def names(keys: Iterable[tuple[str, str]]) -> str:
    """Write the names of objects in one word."""
    return "".join(sorted(name for _, name in keys))

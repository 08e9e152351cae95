"""Sources in memory, for what is about answers and not about how they come."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from tests.cluster.apiserver import Json, packed
from webhook.cluster.caches import Start
from webhook.cluster.protocol import JSON, NO_QUERY, Query, Response
from webhook.cluster.reflector import ReflectorEnvironment
from webhook.cluster.timeslices import TimeSlicer

EMPTY: Json = {"metadata": {"resourceVersion": "1"}, "items": []}


class Answers:
    """
    Answers paths by a table; others with 404. Watches never say anything.

    Attributes:
        bodies: What is answered; a function is awaited for it.
        asked: The paths, in order.
    """

    name = "here"

    def __init__(self, **bodies: Json) -> None:
        self.bodies: dict[str, Json | Callable[[], Awaitable[Json]]] = dict(bodies)
        self.asked: list[str] = []

    async def send(
        self,
        method: str,
        path: str,
        query: Query = NO_QUERY,
        body: bytes = b"",
        content_type: str = JSON,
    ) -> Response:
        del method, query, body, content_type
        self.asked.append(path)
        found = self.bodies.get(path)
        if found is None:
            return Response(404)
        return Response(200, packed(await found() if callable(found) else found))

    @asynccontextmanager
    async def stream(self, path: str, query: Query) -> AsyncGenerator[AsyncIterator[bytes]]:
        del path, query
        yield silence()


async def silence() -> AsyncIterator[bytes]:
    await asyncio.Event().wait()
    yield b""


async def unsupervised(_name: str, start: Start) -> None:
    """Run a background task once; what it raises is the test's."""
    await start()


def reflector_environment(source: Answers) -> ReflectorEnvironment:
    """Build the environment of reflectors, with a clock that stands still."""
    return ReflectorEnvironment(
        source=source,
        slicer=TimeSlicer(lambda: 0.0),
        clock=lambda: 0.0,
        jitter=lambda: 1.0,
        sleep=lambda _: asyncio.Event().wait(),
        report_restart=lambda *_: None,
        report_skipped=lambda *_: None,
    )

"""The fake API server without a network, and its faults; see ``ApiServer``."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import NoReturn

from tests.apiserver.answers import Behavior, Fault, Json, Request, Stream
from tests.apiserver.rest import RestApi
from webhook.cluster.protocol import (
    JSON,
    MAX_BODY_BYTES,
    NO_QUERY,
    FailureReason,
    Query,
    Response,
    status_error,
)
from webhook.errors import ApiError

_ERRORS = {
    Fault.RESET: ("cannot be reached: Connection reset by peer", FailureReason.UNREACHABLE),
    Fault.NO_HTTP: ("answered with text that is no HTTP", FailureReason.GARBAGE),
}


class ApiServer(RestApi):
    """
    Answers requests from its objects, as kube-apiserver does, and records them.

    A test can inject other answers. The first one of these decides: a function of ``faults``, the
    next answer of the path's script, the entry of ``answers``, and ``otherwise``.

    Attributes:
        name: As an ``ApiClient``.
        requests: Received requests, in order.
        port: Port of 127.0.0.1 where it listens, or has listened; see ``listening``.
        clock: Clock of the ``Date`` header; without one there is no header.
        faults: Functions that are called with each request, in order.
        answers: Method and path, such as ``GET /apis`` -> answer to all such requests.
        otherwise: Answer to requests that have no other; None: from the objects.
        max_body: Most bytes that ``send`` accepts as an answer, as a client does.
    """

    def __init__(
        self,
        *objects: Json,
        name: str = "https://api",
        answers: Mapping[str, Behavior] | None = None,
        otherwise: Behavior = None,
    ) -> None:
        super().__init__(*objects)
        self.name = name
        self.requests: list[Request] = []
        self.port = 0
        self.clock: Callable[[], datetime] | None = None
        self.faults: list[Callable[[Request], Behavior]] = []
        self.answers = dict(answers or {})
        self.otherwise = otherwise
        self.max_body = MAX_BODY_BYTES
        self._scripts: dict[str, deque[Behavior]] = {}

    @property
    def url(self) -> str:
        """URL of the HTTP server."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def paths(self) -> list[str]:
        """The paths of the requests."""
        return [request.path for request in self.requests]

    @property
    def writes(self) -> list[Request]:
        """The requests that are no reads."""
        return [request for request in self.requests if request.method != "GET"]

    def queries(self, path: str) -> list[Query]:
        """Return the queries of the requests for a path."""
        return [request.query for request in self.requests if request.path == path]

    def count_lists(self, path: str) -> int:
        """Count the lists of a collection; watches do not count, nor do further pages."""
        queries = self.queries(path)
        return sum("watch" not in query and "continue" not in query for query in queries)

    def script(self, path: str, *answers: Behavior) -> None:
        """Answer the next requests for a path; None: as if there were no script."""
        self._scripts.setdefault(path, deque()).extend(answers)

    async def send(
        self,
        method: str,
        path: str,
        query: Query = NO_QUERY,
        body: bytes = b"",
        content_type: str = JSON,
    ) -> Response:
        """Answer a request without a network."""
        answer = await self.answer(Request(method, path, dict(query), body, content_type))
        if isinstance(answer, Stream):
            return Response(200, b"".join([chunk async for chunk in self._read(answer)]))
        if isinstance(answer, Response) and len(answer.body) > self.max_body:
            raise ApiError(self.name, "answered with too much", FailureReason.OVERSIZED)
        return answer if isinstance(answer, Response) else await self._fail(answer)

    @asynccontextmanager
    async def stream(self, path: str, query: Query) -> AsyncGenerator[AsyncIterator[bytes]]:
        """Answer a watch without a network."""
        answer = await self.answer(Request("GET", path, dict(query)))
        if isinstance(answer, Response):
            if answer.status != 200:
                raise status_error(self.name, answer.status, answer.body)
            answer = Stream([answer.body])
        yield self._read(answer if isinstance(answer, Stream) else await self._fail(answer))

    async def _read(self, answer: Stream) -> AsyncIterator[bytes]:
        async for chunk in answer.read():
            yield chunk
        if answer.end is not None:
            await self._fail(answer.end)

    async def _fail(self, fault: Fault | Exception) -> NoReturn:
        if isinstance(fault, Exception):
            raise fault
        if fault is Fault.SILENCE:
            await asyncio.Event().wait()
        raise ApiError(self.name, *_ERRORS[fault])

    async def answer(self, request: Request) -> Response | Stream | Fault | Exception:
        """Record a request and choose its answer."""
        self.requests.append(request)
        for behavior in self._behaviors(request):
            answer = await behavior(request) if callable(behavior) else behavior
            if answer is not None:
                return answer
        response = self.respond(request)
        if isinstance(response, Response) and self.clock is not None:
            date = format_datetime(self.clock().astimezone(UTC), usegmt=True)
            return Response(response.status, response.body, {"date": (date,)})
        return response

    def _behaviors(self, request: Request) -> Iterator[Behavior]:
        for fault in self.faults:
            yield fault(request)
        script = self._scripts.get(request.path)
        if script:
            yield script.popleft()
        yield self.answers.get(f"{request.method} {request.path}")
        yield self.otherwise

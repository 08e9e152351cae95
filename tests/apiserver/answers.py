"""Requests of a test, and the answers and faults that it can inject, as values."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias

from webhook.cluster.protocol import JSON, Response

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Request:
    """
    A request that the server received.

    Attributes:
        headers: Those of HTTP; empty if the request was sent without a network.
    """

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def content(self) -> Any:
        """The decoded body; None if there is none."""
        return json.loads(self.body or b"null")


class Fault(Enum):
    """What happens to a connection instead of a response, or in the middle of one."""

    RESET = "the connection is reset"
    SILENCE = "the connection stays open, and nothing more comes"
    NO_HTTP = "bytes come that are no HTTP"


@dataclass(frozen=True)
class Stream:
    """
    A response in chunks.

    Attributes:
        end: Fault after the last chunk; None: the response is complete.
    """

    chunks: Iterable[bytes] | AsyncIterator[bytes]
    end: Fault | None = None

    async def read(self) -> AsyncIterator[bytes]:
        """Yield the chunks."""
        if isinstance(self.chunks, AsyncIterator):
            async for chunk in self.chunks:
                yield chunk
        else:
            for chunk in self.chunks:
                yield chunk


Answer: TypeAlias = Response | Stream | Fault | Exception | None
"""None: the server answers from its objects. Over HTTP, an exception resets the connection."""

Behavior: TypeAlias = Answer | Callable[[Request], Awaitable[Answer]]
"""An answer, or a function that waits or looks at the request first."""


def encode(value: Any) -> bytes:
    """Encode a value as JSON."""
    return json.dumps(value).encode()


def respond(value: Any, status: int = 200, *warnings: str) -> Response:
    """Build a response with a value as JSON, and with warnings."""
    headers = {"warning": tuple(f'299 - "{text}"' for text in warnings)}
    return Response(status, encode(value), headers if warnings else {})


def failure(code: int, message: str = "refused") -> Json:
    """Build a ``Status`` of a failure."""
    return {"kind": "Status", "code": code, "message": message, "metadata": {}}


def refuse(message: str, status: int = 403) -> Response:
    """Build the response to a refused request."""
    return respond(failure(status, message), status)


def page(*items: Json, version: int = 1, rest: str = "") -> Response:
    """Build a page of a list; ``rest`` is its continue token."""
    metadata = {"resourceVersion": str(version), "continue": rest}
    return respond({"metadata": metadata, "items": items})


def watch(*lines: Json | bytes, end: Fault | None = None) -> Stream:
    """Build a watch of these events; bytes are sent as they are."""
    chunks = [line if isinstance(line, bytes) else encode(line) + b"\n" for line in lines]
    return Stream(chunks, end)


def event(kind: str, value: Json) -> Json:
    """Build an event of a watch."""
    return {"type": kind, "object": value}


def bookmark(version: int, *, ends: bool = False) -> Json:
    """Build a bookmark; ``ends`` marks the end of a streamed list."""
    metadata: Json = {"resourceVersion": str(version)}
    if ends:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    return event("BOOKMARK", {"metadata": metadata})


def after(moment: asyncio.Event, answer: Answer = None) -> Callable[[Request], Awaitable[Answer]]:
    """Delay an answer until an event is set."""

    async def wait(_request: Request) -> Answer:
        await moment.wait()
        return answer

    return wait

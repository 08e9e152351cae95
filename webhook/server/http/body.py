"""Request bodies: bounded in size, in time, and in what all of them hold together."""

import asyncio
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import parse_qs

from aiohttp import StreamReader, web

from webhook.config.durations import parse_duration
from webhook.errors import OverloadError, ReviewError
from webhook.server.http.limits import MIB, Limits

COPIED = 1024 * 1024  # bytes of a body that becomes ``bytes``; a larger one is not held twice

_NOTHING = nullcontext()


class Bodies:
    """
    The bodies that are being read, and the large ones that are not answered yet.

    Attributes:
        held: Bytes that they hold together.
    """

    def __init__(self, limits: Limits) -> None:
        """Start with nothing."""
        self._limits = limits
        self._uncounted = min(limits.body, limits.long_review)  # bytes; small ones are many
        self.held = 0

    async def read(self, request: web.BaseRequest, patience: float) -> bytes | bytearray:
        """
        Read the body of a request to its end; it counts until ``held_until_answered`` ends.

        Args:
            patience: Seconds that the caller is going to wait for its answer.

        Raises:
            ReviewError: It is too large or too slow; one whose framing breaks never ends.
            OverloadError: All bodies together would be too large.
            ConnectionError: The client has gone.
        """
        content = request.content
        if content.is_eof() and content.total_bytes <= self._uncounted:
            return content.read_nowait()  # all there, as most are: no timer, nothing to count
        if (request.content_length or 0) > self._limits.body:
            raise self._too_large()
        body = bytearray()
        try:
            await self._fill(body, content, min(self._limits.body_read, patience))
        except BaseException:
            self.held -= len(body)
            raise
        if len(body) <= self._uncounted:
            self.held -= len(body)
        return body if len(body) > COPIED else bytes(body)

    def held_until_answered(self, body: bytes | bytearray) -> AbstractContextManager[object]:
        """Count a body that ``read`` gave as long as the context lasts."""
        return self._holding(len(body)) if len(body) > self._uncounted else _NOTHING

    @contextmanager
    def _holding(self, size: int) -> Generator[None]:
        try:
            yield
        finally:
            self.held -= size

    async def _fill(self, body: bytearray, content: StreamReader, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._append(body, content)
        except TimeoutError:
            raise ReviewError("the body did not come in time", 408) from None

    async def _append(self, body: bytearray, content: StreamReader) -> None:
        while chunk := await content.readany():
            if len(body) + len(chunk) > self._limits.body:
                raise self._too_large()
            if self.held + len(chunk) > self._limits.bodies:
                raise OverloadError("bodies")
            self.held += len(chunk)
            body += chunk

    def _too_large(self) -> ReviewError:
        most = self._limits.body
        size = f"{most // MIB} MiB" if most >= MIB else f"{most} bytes"
        return ReviewError(f"the body is larger than {size}", 413)


TARGETS = 64  # different request targets to remember; a cluster's API servers use two


class CallTarget(NamedTuple):
    """
    What a request is for.

    Attributes:
        path: Without the query.
        timeout: Seconds after which the caller gives up; None if it does not say.
    """

    path: str
    timeout: float | None


@lru_cache(maxsize=TARGETS)
def read_target(target: str) -> CallTarget:
    """
    Take a request target apart; a timeout that is none, or zero, counts as none.

    Args:
        target: As it stands in the request line, such as ``/mutate?timeout=10s``.
    """
    path, _, query = target.partition("?")
    try:
        asked = parse_qs(query, max_num_fields=8).get("timeout", [""])[0]
    except ValueError:  # more fields than any API server sends
        asked = ""
    timeout = parse_duration(asked)
    return CallTarget(path, timeout.total_seconds() or None if timeout else None)

"""
Requests: the caller's timeout in the request target, and the body, limited in size and time.

``read_target`` and ``Bodies.read`` are the entry points, and ``is_whole`` for requests that are not
parsed. The body is not decoded here.
"""

import asyncio
import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import parse_qs

from aiohttp import StreamReader, web

from webhook.cluster.latepods import MOST_WAITS
from webhook.config.durations import parse_duration
from webhook.errors import OverloadError, ReviewError
from webhook.server.http.limits import MIB, Limits

COPIED = 1024 * 1024  # bytes up to which a body is copied to ``bytes``; a larger one is not

TARGETS = 64  # different request targets to remember; a cluster's API servers use two

LONGEST_HEAD = 4096  # bytes of a head that is searched; API servers send 300

HEADS = 256  # to remember; those of an API server differ in the length of the body alone

_LENGTH = re.compile(rb"\r\ncontent-length: *([0-9]{1,9})\r\n")
_CHUNKED = b"\r\ntransfer-encoding"


class CallTarget(NamedTuple):
    """
    The target of a request.

    Attributes:
        path: Without the query.
        timeout: Seconds after which the caller gives up; None if the target does not say.
    """

    path: str
    timeout: float | None


@lru_cache(maxsize=TARGETS)
def read_target(target: str) -> CallTarget:
    """
    Split a request target; an invalid timeout, or zero, counts as none.

    Args:
        target: As in the request line, such as ``/mutate?timeout=10s``.

    Source: k8s.io/apiserver pkg/admission/plugin/webhook/mutating/dispatcher.go.
    """
    path, _, query = target.partition("?")
    try:
        text = parse_qs(query, max_num_fields=8).get("timeout", [""])[0]
    except ValueError:  # more fields than any API server sends
        text = ""
    timeout = parse_duration(text)
    return CallTarget(path, timeout.total_seconds() or None if timeout else None)


def is_whole(data: bytes) -> bool:
    """Check whether bytes are one whole request, a POST of HTTP/1.1 as API servers send it."""
    end = data.find(b"\r\n\r\n", 0, LONGEST_HEAD)
    return end >= 0 and len(data) == end + 4 + _read_length(data[: end + 2])


@lru_cache(maxsize=HEADS)
def _read_length(head: bytes) -> float:
    """The length of the body that follows a head; NaN if that is no POST with a Content-Length."""
    lines = head.lower()
    length = _LENGTH.search(lines)
    line = lines.partition(b"\r\n")[0]
    posted = line.startswith(b"post /") and line.endswith(b" http/1.1")
    return int(length[1]) if length and posted and _CHUNKED not in lines else math.nan


@dataclass(slots=True, eq=False)
class _Unfinished:
    """A body that is being read."""

    address: str
    content: bytearray
    needs: int  # bytes of the whole body; as many as are allowed if its head does not say
    deadline: asyncio.Timeout
    refused: bool = False


class Bodies:
    """
    The bodies that are being read, and the large ones whose requests are not answered yet.

    If all of them together are too large, an unfinished one is refused: of the address whose
    unfinished bodies are largest, the largest. So a client that sends large bodies slowly refuses
    only its own. The body that needs room counts as a whole: one that has just begun refuses no
    other of its size that is almost complete.

    Attributes:
        held: Bytes that all these bodies hold together.
    """

    def __init__(self, limits: Limits) -> None:
        """Start without a body."""
        self._limits = limits
        self._uncounted = min(limits.body, limits.long_review)  # bytes; most bodies are smaller
        # No more reviews wait for facts, so short bodies need no more than this.
        self._most = limits.bodies - (limits.in_flight + MOST_WAITS) * self._uncounted
        self.held = 0
        self._unfinished: dict[_Unfinished, None] = {}

    def read_short(self, request: web.BaseRequest) -> bytes:
        """Read a short body that is complete: the usual case, without a timer; else nothing."""
        content = request.content
        if content.is_eof() and content.total_bytes <= self._uncounted:
            return content.read_nowait()
        return b""

    async def read(self, request: web.BaseRequest, patience: float) -> bytes | bytearray:
        """
        Read the whole body of a request; a large one counts until ``free`` is called.

        Args:
            patience: Seconds that the caller waits for its answer.

        Raises:
            ReviewError: The body is too large or too slow; one with broken framing never ends.
            OverloadError: All bodies together are too large, and this one has to go.
            ConnectionError: The client has closed the connection.
        """
        if (request.content_length or 0) > self._limits.body:
            raise self._too_large()
        body = bytearray()
        try:
            await self._fill(body, request, min(self._limits.body_read, patience))
        except BaseException:
            self.held -= len(body)
            raise
        if len(body) <= self._uncounted:
            self.held -= len(body)
        return body if len(body) > COPIED else bytes(body)

    def free(self, size: int) -> None:
        """Stop counting a large body, because its review is answered."""
        self.held -= size

    async def _fill(self, body: bytearray, request: web.BaseRequest, seconds: float) -> None:
        deadline, needs = asyncio.timeout(seconds), request.content_length or self._limits.body
        unfinished = _Unfinished(request.remote or "", body, needs, deadline)
        self._unfinished[unfinished] = None
        try:
            async with deadline:
                await self._append(unfinished, request.content)
        except TimeoutError:
            if unfinished.refused:
                raise OverloadError("bodies") from None
            raise ReviewError("the body did not arrive in time", 408) from None
        finally:
            self._unfinished.pop(unfinished, None)

    async def _append(self, unfinished: _Unfinished, content: StreamReader) -> None:
        while chunk := await content.readany():
            if len(unfinished.content) + len(chunk) > self._limits.body:
                raise self._too_large()
            while self.held + len(chunk) > self._most and not unfinished.refused:
                self._refuse_largest(unfinished)
            if unfinished.refused:
                break
            self.held += len(chunk)
            unfinished.content += chunk
        if unfinished.refused:  # by another one, perhaps after its last byte
            raise OverloadError("bodies")

    def _refuse_largest(self, unfinished: _Unfinished) -> None:
        sizes = {body: len(body.content) for body in (unfinished, *self._unfinished)}
        sizes[unfinished] = unfinished.needs
        totals = Counter[str]()
        for body, size in sizes.items():
            totals[body.address] += size
        largest = max(sizes, key=lambda body: (totals[body.address], sizes[body]))
        largest.refused = True
        self._unfinished.pop(largest)
        self.held -= len(largest.content)
        largest.content.clear()
        if not largest.deadline.expired():
            largest.deadline.reschedule(0)  # wakes the one that reads it

    def _too_large(self) -> ReviewError:
        limit = self._limits.body
        size = f"{limit // MIB} MiB" if limit >= MIB else f"{limit} bytes"
        return ReviewError(f"the body is larger than {size}", 413)

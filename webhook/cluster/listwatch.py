"""
The list and watch protocol of an API server: queries, pages, and the events of a stream.

This module must not decode whole objects: they stay bytes until the decoder of their kind reads
the fields it keeps.

Source: apimachinery pkg/apis/meta/v1 ``ListOptions``, ``ListMeta``, ``WatchEvent``.
"""

from collections.abc import Generator

import msgspec

from webhook.cluster.protocol import DECODE_ERRORS, FailureReason, Query, protocol_error
from webhook.errors import ApiError
from webhook.policy.nesting import decode_nested, decoding

PAGE_OBJECTS = 500  # objects; the default of client-go's pager
MIN_PAGE_OBJECTS = 20  # objects, unless they exceed an answer; smaller pages cost many requests
PAGE_BYTES = 2 * 1024 * 1024
"""Target size of a page; finding where its objects begin takes 1.3 ms and cannot be sliced."""

_INITIAL_END = "k8s.io/initial-events-end"
"""Source: apimachinery meta/v1 ``InitialEventsAnnotationKey``."""


class ListMeta(msgspec.Struct, rename={"resource_version": "resourceVersion", "rest": "continue"}):
    """The list metadata of a page."""

    resource_version: str
    rest: str | None = None  # continue token of the next page


class Page(msgspec.Struct):
    """One page of a list."""

    metadata: ListMeta
    items: list[msgspec.Raw] | None


class WatchEvent(msgspec.Struct):
    """One event of a watch; ``object`` is a Status if ``type`` is ERROR."""

    type: str
    object: msgspec.Raw


class EventMetadata(msgspec.Struct, rename="camel"):
    """The metadata of an event's object; empty if they cannot be read."""

    resource_version: str = ""
    annotations: dict[str, str] | None = None

    @property
    def ends_initial_list(self) -> bool:
        """Whether a bookmark with it marks the end of a streamed list."""
        return (self.annotations or {}).get(_INITIAL_END) == "true"


class _Object(msgspec.Struct):
    metadata: EventMetadata


_decode_page = msgspec.json.Decoder(Page).decode
_decode_event = msgspec.json.Decoder(WatchEvent).decode
_decode_object = msgspec.json.Decoder(_Object).decode


def page_query(limit: int, rest: str) -> Query:
    """Query a page of the newest state; the API server would send a cached list in one page."""
    return {"limit": f"{limit}", **({"continue": rest} if rest else {})}


def watch_query(version: str) -> Query:
    """Query the events after a resource version."""
    return {"watch": "1", "allowWatchBookmarks": "true", "resourceVersion": version}


STREAMED_LIST_QUERY: Query = {
    "watch": "1",
    "allowWatchBookmarks": "true",
    "sendInitialEvents": "true",
    "resourceVersionMatch": "NotOlderThan",
}
"""Query for all objects and their changes in one stream. Source: KEP-3157."""


def next_limit(limit: int, size: int) -> int:
    """Compute the limit of a page of about PAGE_BYTES from the last page's limit and its bytes."""
    fitting = limit * PAGE_BYTES // max(size, 1)
    return max(min(MIN_PAGE_OBJECTS, limit), min(PAGE_OBJECTS, fitting))


def decode_page(source: str, body: bytes) -> Generator[None, None, Page]:
    """
    Decode a page in short steps, and return it.

    Raises:
        ApiError: It is not a list.
    """
    try:
        page = yield from decoding(_decode_page, body)
    except DECODE_ERRORS:
        raise protocol_error(source, "answered with no list") from None
    if not page.metadata.resource_version:
        raise protocol_error(source, "answered with a list that has no resourceVersion")
    return page


def decode_event(source: str, line: bytes) -> Generator[None, None, WatchEvent]:
    """
    Decode a line of a watch in short steps, and return the event.

    Raises:
        ApiError: It is not an event.
    """
    try:
        return (yield from decoding(_decode_event, line))
    except DECODE_ERRORS:
        raise protocol_error(source, "sent text that is no event") from None


def metadata_of(data: msgspec.Raw) -> EventMetadata:
    """Decode the metadata of an event's object."""
    try:
        return decode_nested(_decode_object, data).metadata
    except DECODE_ERRORS:
        return EventMetadata()


MAX_LINE_BYTES = 16 * 1024 * 1024
"""
Bytes of one event: ten times the largest object in etcd (1.5 MiB).

asyncio's reader fails at 64 KiB, that of aiohttp at twice its buffer.
"""


class LineSplitter:
    """Splits the chunks of a watch into lines, each of which is one JSON document."""

    def __init__(self, source: str, max_bytes: int = MAX_LINE_BYTES) -> None:
        """Create a splitter for a new stream; ``source`` names the server in errors."""
        self._source = source
        self._max_bytes = max_bytes
        self._pieces: list[bytes] = []
        self._pending = 0

    def feed(self, piece: bytes) -> list[bytes]:
        """
        Add a chunk and return the lines that it completes, without empty ones.

        Raises:
            ApiError: A line is too long; the stream cannot continue.
        """
        *lines, rest = piece.split(b"\n")
        if lines:
            lines[0] = b"".join((*self._pieces, lines[0]))
            self._pieces, self._pending = [], 0
        self._pieces.append(rest)
        self._pending += len(rest)
        if self._pending > self._max_bytes or any(len(line) > self._max_bytes for line in lines):
            problem = f"sent an event of more than {self._max_bytes} bytes"
            raise ApiError(self._source, problem, FailureReason.OVERSIZED)
        return [line for line in lines if line]

    def end(self) -> None:
        """
        Check that the stream ended with a complete line.

        Raises:
            ApiError: It ends in the middle of a line.
        """
        if self._pending:
            problem = "ended in the middle of an event"
            raise ApiError(self._source, problem, FailureReason.UNREACHABLE)

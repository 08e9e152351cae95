"""
Lists and watches as an API server speaks them: what is asked, and what the answers are.

Objects are left as bytes here: each is decoded when its turn comes, and only for the fields that
its kind keeps.

Source: apimachinery pkg/apis/meta/v1 ``ListOptions``, ``ListMeta``, ``WatchEvent``.
"""

from collections.abc import Generator

import msgspec

from webhook.cluster.protocol import DECODE_ERRORS, FailureReason, Query
from webhook.errors import ApiError
from webhook.policy.nesting import decode_nested, decoding, finish

PAGE_OBJECTS = 500  # objects; client-go's pager asks for as many
MIN_PAGE_OBJECTS = 20  # objects; fewer would be more requests than it is worth
PAGE_BYTES = 2 * 1024 * 1024
"""Of a page; finding where its objects begin takes 1.3 ms, which cannot be done in slices."""

_INITIAL_END = (
    "k8s.io/initial-events-end"  # Source: apimachinery meta/v1 InitialEventsAnnotationKey
)


class ListMeta(msgspec.Struct, rename={"resource_version": "resourceVersion", "rest": "continue"}):
    """
    What a page says of its list.

    Attributes:
        rest: Where the next page begins; empty if there is none.
    """

    resource_version: str
    rest: str | None = None


class Page(msgspec.Struct):
    """One page of a list."""

    metadata: ListMeta
    items: list[msgspec.Raw] | None


class WatchEvent(msgspec.Struct):
    """One line of a watch; ``object`` is a Status if ``type`` is ERROR."""

    type: str
    object: msgspec.Raw


class _Metadata(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    annotations: dict[str, str] | None = None


class _Object(msgspec.Struct):
    metadata: _Metadata


_decode_page = msgspec.json.Decoder(Page).decode
_decode_change = msgspec.json.Decoder(WatchEvent).decode
_decode_object = msgspec.json.Decoder(_Object).decode


def page_query(limit: int, rest: str) -> Query:
    """Ask for a page of the newest state; not for a cached one, which comes in a single page."""
    return {"limit": f"{limit}", **({"continue": rest} if rest else {})}


def watch_query(version: str) -> Query:
    """Ask for what happened after a resource version."""
    return {"watch": "1", "allowWatchBookmarks": "true", "resourceVersion": version}


STREAMED_LIST_QUERY: Query = {
    "watch": "1",
    "allowWatchBookmarks": "true",
    "sendInitialEvents": "true",
    "resourceVersionMatch": "NotOlderThan",
}
"""Ask for all objects and what happens to them in one stream. Source: KEP-3157."""


def next_limit(limit: int, size: int) -> int:
    """
    Tell how many objects to ask for, so that a page has about PAGE_BYTES at most.

    Args:
        limit: Objects of the last page, at most.
        size: Its bytes.
    """
    fitting = limit * PAGE_BYTES // max(size, 1)
    return max(MIN_PAGE_OBJECTS, min(PAGE_OBJECTS, fitting))


def read_page(source: str, body: bytes) -> Page:
    """
    Read a page.

    Raises:
        ApiError: It is not a list.
    """
    return finish(read_page_in_steps(source, body))


def read_page_in_steps(source: str, body: bytes) -> Generator[None, None, Page]:
    """Do what ``read_page`` does in short steps, and return the page."""
    try:
        page = yield from decoding(_decode_page, body)
    except DECODE_ERRORS:
        raise protocol_error(source, "answered with no list") from None
    if not page.metadata.resource_version:
        raise protocol_error(source, "answered with a list that has no resourceVersion")
    return page


def read_event_in_steps(source: str, line: bytes) -> Generator[None, None, WatchEvent]:
    """
    Read a line of a watch in short steps, and return it.

    Raises:
        ApiError: It is not an event.
    """
    try:
        return (yield from decoding(_decode_change, line))
    except DECODE_ERRORS:
        raise protocol_error(source, "sent text that is no event") from None


def resource_version_of(written: msgspec.Raw) -> str:
    """Give the resource version of an object; empty if it has none."""
    metadata = _metadata_of(written)
    return metadata.resource_version if metadata else ""


def ends_initial_list(written: msgspec.Raw) -> bool:
    """Whether the object of a bookmark says that a streamed list is complete."""
    metadata = _metadata_of(written)
    return bool(metadata and (metadata.annotations or {}).get(_INITIAL_END) == "true")


def protocol_error(source: str, problem: str) -> ApiError:
    """Make the error for what no API server would send."""
    return ApiError(source, problem, FailureReason.GARBAGE)


def _metadata_of(written: msgspec.Raw) -> _Metadata | None:
    try:
        return decode_nested(_decode_object, written).metadata
    except DECODE_ERRORS:
        return None

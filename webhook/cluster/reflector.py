"""
Keep the store of one kind current: list, watch, list again.

``Reflector.run`` is the entry point; it never ends. A store may be old but never invented: it
changes only by an object that the API server sent, or by its absence from a complete list.

A reflector is in one of three states:

* *Unknown* (no version): it lists all objects, in pages or, where the server supports it, as the
  beginning of a watch. Objects are stored as they arrive, so that none that exists before and after
  is missing in between; objects absent from the complete list are removed at its end.
* *Watching*: it applies every event. The position is the resource version of the last event or
  bookmark, and is decoded only when the watch ends.
* *Disconnected* (a version, no watch): it resumes the watch. The old copy serves.

Every failure falls into one of three classes. The stream ends or breaks, or is silent for so long
that the connection must be dead (bookmarks arrive every minute): disconnected. The server responds
without events (410 as a status or event, another status, an ERROR event, text, other JSON, a line
without end): unknown, because events may be missing; but a status that refuses the credentials or
asks to wait changes nothing. Any other exception is a bug: it ends ``run``, and the supervisor
restarts it in state unknown.

A pause by the back-off precedes every attempt; it starts over after a watch of LASTING_S, because
servers end every watch after half an hour. So no pattern of failures causes more than one attempt a
second for long.

Two rules hold in this module. Every step of work on objects is a step of ``TimeSlicer``, so that
100 000 of them do not block the event loop. And an object that cannot be decoded, or whose selector
exceeds the bound, counts as absent and is reported as skipped: one bad object must not stop all.

Source: client-go tools/cache/reflector.go; KEP-956 (bookmarks), KEP-3157 (streamed lists).
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from http import HTTPStatus
from typing import NoReturn, TypeAlias

import msgspec

from webhook.cluster import listwatch, wire
from webhook.cluster.backoff import MAX_BACKOFF_S, Backoff
from webhook.cluster.discovery import Resource, ResourcePath, SkippedObject, locate
from webhook.cluster.lines import LineSplitter
from webhook.cluster.protocol import (
    DECODE_ERRORS,
    FailureReason,
    Query,
    WatchClient,
    read,
    status_error,
)
from webhook.cluster.quota import NamespaceSizeError
from webhook.cluster.store import Key, StoredObject, WatchEventType
from webhook.cluster.timeslices import TimeSlicer
from webhook.errors import ApiError
from webhook.policy.model import GroupKind
from webhook.policy.nesting import decode_nested

ReportRestart: TypeAlias = Callable[[str, str, str], None]
"""Takes kind, reason and error message of a restart; the message of a normal end is empty."""

Steps: TypeAlias = Generator[None]

LASTING_S = MAX_BACKOFF_S  # of a successful watch: longer than any pause
_TEMPORARY = {
    0,  # no response
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.SERVICE_UNAVAILABLE,
}
"""After these statuses the watch resumes at its version; others may concern the version."""

_NO_STREAMS = {
    FailureReason.REFUSED,
    FailureReason.SILENT,
}  # responses of servers to an unknown option

_decode_named = msgspec.json.Decoder(wire.NamedObject).decode


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectorEnvironment:
    """
    Dependencies that all reflectors of one cluster share.

    Attributes:
        source: Client of the API server.
        pace: Slices long work.
        clock: Monotonic, in seconds.
        dice: Gives numbers from 0 to 1, all as likely.
        sleep: Waits so many seconds.
        tell: Called at every restart.
        skip: Called with the kind and an object that cannot be decoded, whenever it is sent.
        streams: Whether to request streamed lists, as from Kubernetes 1.32. Earlier servers may
            ignore the option, which takes a minute to detect.
    """

    source: WatchClient
    pace: TimeSlicer
    clock: Callable[[], float]
    jitter: Callable[[], float]
    sleep: Callable[[float], Awaitable[object]]
    tell: ReportRestart
    skip: Callable[[str, SkippedObject], object]
    streams: bool = False


class Reflector:
    """
    Keeps the store of one kind current.

    Attributes:
        resource: The kind.
        place: Where its objects are; None: not known, or the API server has no such kind.
        synced: Set once all objects have been listed for the first time.
        trouble: Why the last try failed, a sentence; empty once a list or a watch goes well.
    """

    def __init__(self, resource: Resource, means: ReflectorEnvironment) -> None:
        """Create a reflector in state unknown."""
        self.resource = resource
        self.place = resource.place
        self.synced = asyncio.Event()
        self.problem = ""
        self._means = means
        self._backoff = Backoff(means.jitter, means.sleep)
        self._streams = means.streams
        self._limit = listwatch.PAGE_OBJECTS
        self._heard: float | None = None
        self._watching: float | None = None  # since when
        self._version = ""  # where to go on watching
        self._last: msgspec.Raw | None = None  # object of the watch's last event, with a version
        self._gone: set[Key] | None = None  # while listing: what was held and has not come yet

    @property
    def _server(self) -> str:
        return self._means.source.name

    @property
    def age(self) -> float | None:
        """Seconds since the API server last sent usable data; None before the first data."""
        return None if self._heard is None else self._means.clock() - self._heard

    async def run(self) -> NoReturn:
        """Follow the kind until cancelled; begins with a list, also when restarted after a bug."""
        self._version, self._last, self._gone = "", None, None
        while True:
            try:
                await self._follow()
            except ApiError as error:
                # Events may be missing unless the server refused before it looked at the version.
                if error.status not in _TEMPORARY:
                    self._version = ""
                self.problem = str(error)
                self._means.tell(self.resource.kind, error.reason, self.problem)
            else:
                if self.place is not None:
                    self._means.tell(self.resource.kind, FailureReason.ENDED, "")
            # A watch that lasted was healthy: reconnect at once. Anything else backs off.
            if self._lasted():
                self._backoff.reset()
            else:
                await self._backoff.pause()

    async def _follow(self) -> None:
        """List if the version is unknown, then watch until the server ends the stream."""
        self._watching = None
        if isinstance(self.resource.key, GroupKind) and not self._version:
            self.place = await locate(self._means.source, self.resource)
        if self.place is None:
            await self._clear()
        elif self._version:
            await self._watch(self.place, listwatch.watch_query(self._version))
        elif self._streams:
            await self._stream(self.place)
        else:
            await self._list(self.place)
            await self._watch(self.place, listwatch.watch_query(self._version))

    async def _clear(self) -> None:
        """Empty the store, because the API server does not have the kind."""
        await self._means.pace.run(self._begin())
        await self._means.pace.run(self._complete())
        self._hear()

    async def _list(self, place: ResourcePath) -> None:
        """Store all objects page by page, and remove those absent from the list."""
        source, pace = self._means.source, self._means.pace
        await pace.run(self._begin())
        rest = ""
        while True:
            body = await read(source, place.collection, listwatch.page_query(self._limit, rest))
            page = await pace.run(self._fill(body))
            self._hear()
            self._limit = listwatch.next_limit(self._limit, len(body))
            rest = page.metadata.rest or ""
            if not rest:
                break
        await pace.run(self._complete())
        self._version = page.metadata.resource_version

    async def _stream(self, place: ResourcePath) -> None:
        """Watch with a streamed list; never request it again if the server does not support it."""
        await self._means.pace.run(self._begin())
        try:
            await self._watch(place, listwatch.STREAMED_LIST_QUERY)
        except ApiError as error:
            if self._gone is not None and error.reason in _NO_STREAMS:
                self._streams = False
            raise

    async def _watch(self, place: ResourcePath, query: Query) -> None:
        """Apply events until the stream ends."""
        self._last = None
        try:
            async with self._means.source.stream(place.collection, query) as pieces:
                self._watching = self._means.clock()
                self.problem = ""
                lines = LineSplitter(self._server)
                async for piece in pieces:
                    await self._take(lines, piece)
                lines.end()
        finally:
            self._remember()

    def _remember(self) -> None:
        """Store the position of the watch."""
        if self._last is not None:
            self._version = listwatch.resource_version_of(self._last)

    async def _take(self, lines: LineSplitter, piece: bytes) -> None:
        try:
            whole = lines.feed(piece)
            await self._means.pace.run(self._apply_all(whole))
        except ApiError:
            self._version, self._last = "", None
            raise
        if whole:
            self._hear()

    def _apply_all(self, lines: list[bytes]) -> Steps:
        for line in lines:
            change = yield from listwatch.read_event_in_steps(self._server, line)
            match change.type:
                case WatchEventType.ADDED | WatchEventType.MODIFIED | WatchEventType.DELETED:
                    self._apply(WatchEventType(change.type), change.object)
                case "BOOKMARK":
                    yield from self._mark(change.object)
                case "ERROR":
                    raise status_error(self._server, 0, change.object)
                case _:
                    raise listwatch.protocol_error(self._server, "sent an event of an unknown type")
            if self._gone is None:
                self._last = change.object
            yield

    def _apply(self, event: WatchEventType, written: msgspec.Raw) -> None:
        thing: StoredObject
        try:
            thing = self.resource.decode(written)
        except DECODE_ERRORS as error:
            # An object that cannot be decoded counts as absent: its old copy would be wrong.
            event, thing = WatchEventType.DELETED, self._name(written)
            self._means.skip(self.resource.kind, SkippedObject.of(error, thing))
        if not thing.name:
            raise listwatch.protocol_error(self._server, "sent an object without a name")
        if self._gone is not None:
            self._gone.discard((thing.namespace, thing.name))
        try:
            self.resource.store.apply(event, thing)
        except NamespaceSizeError as error:
            self._means.skip(self.resource.kind, SkippedObject.of(error, thing))

    def _name(self, written: msgspec.Raw) -> StoredObject:
        try:
            return decode_nested(_decode_named, written)
        except DECODE_ERRORS:
            raise listwatch.protocol_error(self._server, "sent what is no object") from None

    def _begin(self) -> Steps:
        """Begin a list: every stored object may be gone until it arrives."""
        self._gone = set()
        for key in self.resource.store.walk():
            self._gone.add(key)
            yield

    def _fill(self, body: bytes) -> Generator[None, None, listwatch.Page]:
        page = yield from listwatch.read_page_in_steps(self._server, body)
        yield
        for item in page.items or ():
            self._apply(WatchEventType.ADDED, item)
            yield
        return page

    def _mark(self, bookmark: msgspec.Raw) -> Steps:
        """Handle a bookmark; it also marks the end of a streamed list."""
        if self._gone is None:
            return
        if not listwatch.ends_initial_list(bookmark):  # the server ignored the option
            raise ApiError(self._server, "cannot stream a list", FailureReason.REFUSED)
        yield from self._complete()

    def _complete(self) -> Steps:
        """End a list: remove the objects that did not arrive."""
        for namespace, name in self._gone or ():
            self.resource.store.remove(namespace, name)
            yield
        self._gone = None
        self.synced.set()

    def _hear(self) -> None:
        self._heard = self._means.clock()
        self.problem = ""

    def _lasted(self) -> bool:
        return self._watching is not None and self._means.clock() - self._watching >= LASTING_S

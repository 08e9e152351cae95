"""
One kind of the cluster, followed for ever: list, watch, list again.

Theory of operation. What is held may be old, but it is never made up: a store only changes by an
object that the API server sent, or by its absence from a complete list. There are three states:

* *Unknown* (no version): everything is listed, in pages or, where the server offers it, as the
  beginning of a watch. Objects are put as they come, so nothing that exists before and after is
  missed in between; what a complete list lacks is removed at its end, never before.
* *Watching*: each event is applied. Where to go on is the resource version of the last event or
  bookmark, and is read from it only when the watch ends.
* *Cut off* (a version, no watch): the watch goes on from that version. The old copy serves.

Whatever happens is one of three things. The stream ends or breaks off, or nothing comes for so
long that the connection must be dead (bookmarks come each minute): cut off. The server answers,
but not with events (410 as status or as event, another status, an ERROR event, text, JSON of
another shape, a line without end): unknown, as it cannot be told what was missed; but a status
that says "not you" or "not now" changes nothing. Anything else is a bug of ours: it ends ``run``,
whose caller runs it again, from unknown.

Before each new try there is a pause by the back-off, which starts over when a watch has lasted for
LASTING_S; after that one there is no pause, since servers end watches every half hour. So no fault,
whatever its pattern, makes more than one try a second for long.

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
from webhook.policy.nesting import decode_nested

ReportRestart: TypeAlias = Callable[[str, str, str], None]
"""Takes the kind, the reason and the sentence of each restart; the sentence of an end is empty."""

Steps: TypeAlias = Generator[None]

LASTING_S = MAX_BACKOFF_S  # of a watch that was no failure: longer than any pause
_TEMPORARY = {
    0,  # no answer
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.SERVICE_UNAVAILABLE,
}
"""After these a watch goes on where it was; other statuses may be about its version."""

_NO_STREAMS = {
    FailureReason.REFUSED,
    FailureReason.SILENT,
}  # what servers make of an option they do not know

_decode_named = msgspec.json.Decoder(wire.NamedObject).decode


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectorEnvironment:
    """
    What all reflectors of one cluster share.

    Attributes:
        clock: Seconds; never goes back.
        dice: Gives numbers from 0 to 1, all as likely.
        sleep: Waits so many seconds.
        tell: Called at each restart.
        skip: Called with the kind and an object that cannot be read, each time it is sent.
        streams: Whether to ask for streamed lists: from Kubernetes 1.32. Earlier servers may
            ignore the option, and it takes a minute to notice.
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
    Keeps the store of one kind true.

    Attributes:
        resource: The kind.
        place: Where its objects are; None: not known, or the API server has no such kind.
        synced: Set once all objects have been listed for the first time.
        trouble: Why the last try failed, a sentence; empty once a list or a watch goes well.
    """

    def __init__(self, resource: Resource, means: ReflectorEnvironment) -> None:
        """Know nothing yet."""
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
        """Seconds since the API server last sent anything of use; None if it never did."""
        return None if self._heard is None else self._means.clock() - self._heard

    async def run(self) -> NoReturn:
        """Follow the kind until cancelled; begins with a list, also after a bug has ended it."""
        self._version, self._last, self._gone = "", None, None
        while True:
            try:
                await self._follow()
            except ApiError as error:
                if error.status not in _TEMPORARY:
                    self._version = ""
                self.problem = str(error)
                self._means.tell(self.resource.kind, error.reason, self.problem)
            else:
                if self.place is not None:
                    self._means.tell(self.resource.kind, FailureReason.ENDED, "")
            if self._lasted():
                self._backoff.reset()
            else:
                await self._backoff.pause()

    async def _follow(self) -> None:
        """List if need be, and watch until the server ends it."""
        self._watching = None
        if self.resource.custom is not None and not self._version:
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
        """Know that there is nothing, since there is no such kind."""
        await self._means.pace.run(self._begin())
        await self._means.pace.run(self._complete())
        self._hear()

    async def _list(self, place: ResourcePath) -> None:
        """Put what there is, page by page, and remove what is gone."""
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
        """Let the watch begin with what there is; if the server cannot, never ask again."""
        await self._means.pace.run(self._begin())
        try:
            await self._watch(place, listwatch.STREAMED_LIST_QUERY)
        except ApiError as error:
            if self._gone is not None and error.reason in _NO_STREAMS:
                self._streams = False
            raise

    async def _watch(self, place: ResourcePath, query: Query) -> None:
        """Apply what happens until the stream ends."""
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
        """Keep where the watch has come to."""
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
        """Begin a list: all that is held may be gone."""
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
        """Take a bookmark: usually no more than a version, but the end of a streamed list."""
        if self._gone is None:
            return
        if not listwatch.ends_initial_list(bookmark):  # the server took it for an ordinary watch
            raise ApiError(self._server, "cannot stream a list", FailureReason.REFUSED)
        yield from self._complete()

    def _complete(self) -> Steps:
        """End a list: what has not come is gone."""
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

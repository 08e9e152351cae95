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
exceeds the bound, is reported as skipped, and counts as absent unless its kind keeps the version
before it: one bad object must not stop all.

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
from webhook.cluster.discovery import Resource, ResourcePath, SkippedObject, locate_custom
from webhook.cluster.lists import TOO_LARGE, PageReader
from webhook.cluster.listwatch import LineSplitter
from webhook.cluster.protocol import (
    DECODE_ERRORS,
    FailureReason,
    Query,
    WatchClient,
    protocol_error,
    status_error,
)
from webhook.cluster.quota import NamespaceSizeError, ObjectSizeError
from webhook.cluster.store import Key
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

_NO_STREAMS = {FailureReason.REFUSED, FailureReason.SILENT, FailureReason.OVERSIZED}
"""Answers to an unknown option, and an object above the limit, which only a paged list can skip."""

_decode_named = msgspec.json.Decoder(wire.NamedObject).decode


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectorEnvironment:
    """
    Dependencies that all reflectors of one cluster share.

    Attributes:
        source: Client of the API server.
        slicer: Runs long work in slices.
        clock: Monotonic, in seconds.
        jitter: Returns uniform random numbers from 0 to 1.
        sleep: Waits for a number of seconds.
        report_restart: Called at every restart.
        report_skipped: Called with the kind and an object that cannot be decoded or is too large,
            whenever it is sent.
        streams: Whether to request streamed lists, as from Kubernetes 1.32. Earlier servers may
            ignore the option, which takes a minute to detect.
    """

    source: WatchClient
    slicer: TimeSlicer
    clock: Callable[[], float]
    jitter: Callable[[], float]
    sleep: Callable[[float], Awaitable[object]]
    report_restart: ReportRestart
    report_skipped: Callable[[str, SkippedObject], object]
    streams: bool = False


class Reflector:
    """
    Keeps the store of one kind current.

    Attributes:
        resource: The kind.
        place: API path of its objects; None: not known, or the API server has no such kind.
        synced: Set once all objects have been listed for the first time.
        problem: Why the last attempt failed; empty after a list or a watch succeeds.
    """

    def __init__(self, resource: Resource, environment: ReflectorEnvironment) -> None:
        """Create a reflector in state unknown."""
        self.resource = resource
        self.place = resource.place
        self.synced = asyncio.Event()
        self.problem = ""
        self._environment = environment
        self._server = environment.source
        self._run_in_slices = environment.slicer.run
        self._backoff = Backoff(environment.jitter, environment.sleep)
        self._streams = environment.streams
        self._updated_at: float | None = None
        self._watching_since: float | None = None
        self._version = ""  # resource version at which to resume the watch
        self._last: msgspec.Raw | None = None  # object of the watch's last event, with a version
        self._unlisted: set[Key] | None = None  # during a list: stored objects not yet in it

    @property
    def age(self) -> float | None:
        """Seconds since the API server last sent usable data; None before the first data."""
        return None if self._updated_at is None else self._environment.clock() - self._updated_at

    async def run(self) -> NoReturn:
        """Follow the kind until cancelled; begins with a list, also when restarted after a bug."""
        self._version, self._last, self._unlisted = "", None, None
        while True:
            try:
                await self._follow()
            except ApiError as error:
                # Events may be missing unless the server refused before it looked at the version.
                if error.status not in _TEMPORARY:
                    self._version = ""
                self.problem = str(error)
                self._report_restart(error.reason)
            else:
                if self.place is not None:
                    self._report_restart(FailureReason.ENDED)
            # A watch that lasted was healthy: reconnect at once. Anything else backs off.
            since = self._watching_since
            if since is not None and self._environment.clock() - since >= LASTING_S:
                self._backoff.reset()
            else:
                await self._backoff.pause()

    async def run_until_synced(self) -> None:
        """Follow the kind until all objects have been listed for the first time."""
        listing = asyncio.create_task(self.run(), name=f"first list of {self.resource.kind}")
        listed = asyncio.create_task(self.synced.wait())
        try:
            await asyncio.wait((listing, listed), return_when=asyncio.FIRST_COMPLETED)
            if listing.done():
                listing.result()  # a bug
        finally:
            for task in (listing, listed):
                task.cancel()
            await asyncio.gather(listing, listed, return_exceptions=True)

    def _report_restart(self, reason: str) -> None:
        self._environment.report_restart(self.resource.kind, reason, self.problem)

    async def _follow(self) -> None:
        """List if the version is unknown, then watch until the server ends the stream."""
        self._watching_since = None
        if isinstance(self.resource.key, GroupKind) and not self._version:
            key, version = self.resource.key, self.resource.version
            self.place = await locate_custom(self._server, key, version)
        if self.place is None:  # the API server does not have the kind: empty the store
            await self._run_in_slices(self._begin_list())
            await self._run_in_slices(self._end_list())
            self._record_update()
        elif self._version:
            await self._watch(self.place, listwatch.watch_query(self._version))
        elif self._streams:
            await self._stream(self.place)
        else:
            await self._list(self.place)
            await self._watch(self.place, listwatch.watch_query(self._version))

    async def _list(self, place: ResourcePath) -> None:
        """Store all objects page by page, and remove those absent from the list."""
        await self._run_in_slices(self._begin_list())
        reader, rest = PageReader(self._server, place.collection, self.resource.query), ""
        while True:
            body = await reader.read(rest)
            page = await self._run_in_slices(self._store_page(body, whole=reader.whole))
            self._record_update()
            rest = page.metadata.rest or ""
            if not rest:
                break
        await self._run_in_slices(self._end_list())
        self._version = page.metadata.resource_version

    async def _stream(self, place: ResourcePath) -> None:
        """Watch with a streamed list; never request it again if the server does not support it."""
        await self._run_in_slices(self._begin_list())
        try:
            await self._watch(place, listwatch.STREAMED_LIST_QUERY)
        except ApiError as error:
            if self._unlisted is not None and error.reason in _NO_STREAMS:
                self._streams = False
            raise

    async def _watch(self, place: ResourcePath, query: Query) -> None:
        """Apply events until the stream ends."""
        self._last = None
        try:
            query = {**query, **self.resource.query}
            async with self._server.stream(place.collection, query) as chunks:
                self._watching_since = self._environment.clock()
                self.problem = ""
                lines = LineSplitter(self._server.name)
                async for chunk in chunks:
                    await self._apply_chunk(lines, chunk)
                lines.end()
        finally:
            self._store_position()

    def _store_position(self) -> None:
        if self._last is not None:
            self._version = listwatch.metadata_of(self._last).resource_version

    async def _apply_chunk(self, lines: LineSplitter, chunk: bytes) -> None:
        try:
            complete_lines = lines.feed(chunk)
            await self._run_in_slices(self._apply_events(complete_lines))
        except ApiError:
            self._version, self._last = "", None
            raise
        if complete_lines:
            self._record_update()

    def _apply_events(self, lines: list[bytes]) -> Steps:
        for line in lines:
            event = yield from listwatch.decode_event(self._server.name, line)
            match event.type:
                case "ADDED" | "MODIFIED" | "DELETED":
                    self._apply(event.object, deleted=event.type == "DELETED")
                case "BOOKMARK":
                    yield from self._handle_bookmark(event.object)
                case "ERROR":
                    raise status_error(self._server.name, 0, event.object)
                case _:
                    raise protocol_error(self._server.name, "sent an event of an unknown type")
            if self._unlisted is None:
                self._last = event.object
            yield

    def _apply(self, data: msgspec.Raw, *, deleted: bool = False, whole: bool = True) -> None:
        store = self.resource.store
        thing: wire.NamedObject
        try:
            if not whole:
                raise ObjectSizeError(TOO_LARGE)
            thing = self.resource.decode(data)
        except DECODE_ERRORS as error:
            thing = self._read_name(data)
            self._report_skipped(error, thing)
            if self.resource.keeps_last and thing.name and not deleted:
                self._mark_listed(thing)
                return
            deleted = True  # it counts as absent: its old copy would be wrong
        if not thing.name:
            raise protocol_error(self._server.name, "sent an object without a name")
        self._mark_listed(thing)
        if deleted:
            store.remove(thing.namespace, thing.name)
            return
        try:
            store.put(thing)
        except NamespaceSizeError as error:
            self._report_skipped(error, thing)

    def _mark_listed(self, thing: wire.NamedObject) -> None:
        if self._unlisted is not None:
            self._unlisted.discard((thing.namespace, thing.name))

    def _report_skipped(self, error: Exception, thing: wire.NamedObject) -> None:
        self._environment.report_skipped(self.resource.kind, SkippedObject.of(error, thing))

    def _read_name(self, data: msgspec.Raw) -> wire.NamedObject:
        try:
            return decode_nested(_decode_named, data)
        except DECODE_ERRORS:
            raise protocol_error(self._server.name, "sent what is no object") from None

    def _store_page(self, body: bytes, *, whole: bool) -> Generator[None, None, listwatch.Page]:
        page = yield from listwatch.decode_page(self._server.name, body)
        yield
        for item in page.items or ():
            self._apply(item, whole=whole)
            yield
        return page

    def _handle_bookmark(self, bookmark: msgspec.Raw) -> Steps:
        """Complete a streamed list at the bookmark that ends it."""
        if self._unlisted is None:
            return
        if not listwatch.metadata_of(bookmark).ends_initial_list:  # the server ignored the option
            raise ApiError(self._server.name, "cannot stream a list", FailureReason.REFUSED)
        yield from self._end_list()

    def _begin_list(self) -> Steps:
        """Begin a list: every stored object may be gone until it arrives."""
        self._unlisted = set()
        for key in self.resource.store.iterate_keys():
            self._unlisted.add(key)
            yield

    def _end_list(self) -> Steps:
        """End a list: remove the objects that did not arrive."""
        for namespace, name in self._unlisted or ():
            self.resource.store.remove(namespace, name)
            yield
        self._unlisted = None
        self.synced.set()

    def _record_update(self) -> None:
        self._updated_at = self._environment.clock()
        self.problem = ""

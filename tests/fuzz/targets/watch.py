"""
What an API server sends: the lines of a watch, pages of a list, and single objects.

The first byte of the input is the size of the chunks in which it arrives. Expected: the lines are
those of the whole text, a line is an event or an ``ApiError`` without text of the line, and an
object has the name and the labels that Python's json module reads, whatever its kind.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from tests.fuzz.targets import expect
from tests.fuzz.targets.jsontext import AmbiguousError, member, read
from tests.fuzz.targets.vocabulary import foreign_words
from webhook.cluster import listwatch
from webhook.cluster.discovery import Resource, list_resources, locate_custom
from webhook.cluster.facts import Cluster
from webhook.cluster.listwatch import LineSplitter
from webhook.cluster.protocol import JSON, NO_QUERY, Query, Response, status_error
from webhook.cluster.quota import NamespaceQuota
from webhook.cluster.reflector import Reflector, ReflectorEnvironment
from webhook.cluster.timeslices import TimeSlicer
from webhook.errors import ApiError
from webhook.policy.model import GroupKind
from webhook.policy.nesting import finish

SERVER = "https://cluster"
CLUSTER_SOURCES = tuple(sorted((Path(__file__).parents[3] / "webhook/cluster").rglob("*.py")))

FOLLOWED = ("Service", "Node", "Rollout.argoproj.io", "Namespace", "ReplicaSet")
RESOURCES = tuple(list_resources(Cluster()))  # each input leaves their stores empty

TOKENS = (
    b'{"type":"ADDED","object":{', b'{"type":"MODIFIED","object":{',
    b'{"type":"DELETED","object":{', b'{"type":"BOOKMARK","object":{',
    b'{"type":"ERROR","object":{"kind":"Status","code":410}}',
    b'"metadata":{"name":"a","namespace":"shop","resourceVersion":"2"}', b'"labels":{"a":"b"}',
    b'"annotations":{"k8s.io/initial-events-end":"true"}', b'"spec":{"selector":{"a":"b"}}',
    b'"spec":{"selector":{"matchLabels":{"a":"b"}}}', b'"spec":{"taints":[{"key":"a"}]}',
    b'"unschedulable":true', b'{"kind":"List","metadata":{"resourceVersion":"1","continue":"x"},',
    b'"items":[{"metadata":{"name":"a"}}]}', b'"spec":{"workloadRef":{', b"null", b"\n", b"\r\n",
    b"[[[[[[[[", b'"\\ud800"', b"\xff", b"{}", b'""',
)  # fmt: skip


def check(data: bytes) -> None:
    """Follow a watch, and read the same bytes as a list and as a status."""
    size, text = 1 + (data[0] if data else 0), data[1:]
    lines = _split(text, size)
    for line in lines:
        _check_line(line)
    _check_page(text)
    _check_status(text)
    asyncio.run(_discover(text))
    asyncio.run(_follow(FOLLOWED[len(text) % len(FOLLOWED)], text, size))


def _split(text: bytes, size: int) -> list[bytes]:
    splitter = LineSplitter(SERVER)
    lines: list[bytes] = []
    for start in range(0, len(text), size):
        lines += splitter.feed(text[start : start + size])
    whole = [line for line in text.split(b"\n")[:-1] if line]
    expect(lines == whole, "the chunks decide where lines end")
    try:
        splitter.end()
    except ApiError as error:
        _check_silence(error)
        expect(not text.endswith(b"\n"), "a complete line counts as cut")
    return lines


def _check_silence(error: ApiError) -> None:
    foreign = foreign_words(str(error), CLUSTER_SOURCES)
    expect(not foreign, f"the error repeats the input: {foreign}")


def _check_line(line: bytes) -> None:
    try:
        event = finish(listwatch.decode_event(SERVER, line))
    except ApiError as error:
        _check_silence(error)
        return
    listwatch.metadata_of(event.object)
    for resource in RESOURCES:
        _check_object(resource, event.object)


def _check_object(resource: Resource, data: msgspec.Raw) -> None:
    try:
        found = resource.decode(data)
    except (msgspec.MsgspecError, UnicodeError):
        return
    value = _read(bytes(data))
    if value is not None:
        expect(found.name == (member(value, "metadata", "name") or ""), "another name")
        labels = {k: v or "" for k, v in (member(value, "metadata", "labels") or {}).items()}
        expect(getattr(found, "labels", labels) == labels, "other labels")
    resource.store.put(found)
    expect(len(resource.store) <= 1, "one object counts as several")
    resource.store.remove(found.namespace, found.name)
    expect(len(resource.store) == 0, "a removed object stays")


def _read(data: bytes) -> Any:
    try:
        return read(data)
    except (AmbiguousError, ValueError, RecursionError):
        return None


def _check_page(text: bytes) -> None:
    try:
        page = finish(listwatch.decode_page(SERVER, text))
    except ApiError as error:
        _check_silence(error)
        return
    value = _read(text)
    if value is not None:
        expect(len(page.items or ()) == len(member(value, "items") or ()), "other items")


def _check_status(text: bytes) -> None:
    error = status_error(SERVER, 0, text)
    expect(len(str(error)) < 400, "an error without a bound")


async def _discover(text: bytes) -> None:
    server = _Server(b"", 1, kinds=text)
    try:
        await locate_custom(server, GroupKind("argoproj.io", "Rollout"))
    except ApiError as error:
        _check_silence(error)


class _Server:
    """An API server that answers every list and every watch with the same bytes."""

    name = SERVER

    def __init__(self, text: bytes, size: int, kinds: bytes = b"") -> None:
        self._kinds = kinds
        self._text = text
        self._size = size

    async def send(
        self,
        method: str,
        path: str,
        query: Query = NO_QUERY,
        body: bytes = b"",
        content_type: str = JSON,
    ) -> Response:
        """Send a list, or the kinds of a group."""
        del method, body, content_type
        listed = b'{"metadata":{"resourceVersion":"1"},"items":[]}'
        if path == "/apis":
            listed = self._kinds or _GROUPS
        elif path.startswith("/apis/argoproj.io/") and "limit" not in query:
            listed = _KINDS
        return Response(200, listed)

    @asynccontextmanager
    async def stream(self, path: str, query: Query) -> AsyncGenerator[AsyncIterator[bytes]]:
        """Send the bytes in chunks."""
        del path, query
        yield self._chunks()

    async def _chunks(self) -> AsyncIterator[bytes]:
        for start in range(0, len(self._text), self._size):
            yield self._text[start : start + self._size]


_GROUPS = (
    b'{"groups":[{"name":"argoproj.io","preferredVersion":{"groupVersion":"argoproj.io/v1"}}]}'
)
_KINDS = b'{"resources":[{"name":"rollouts","kind":"Rollout"}]}'


class _EndError(Exception):
    """The reflector has followed the watch twice."""


async def _follow(kind: str, text: bytes, size: int) -> None:
    """Run a reflector until it has ended two watches."""
    cluster = Cluster(quota=NamespaceQuota())
    (resource,) = (listed for listed in list_resources(cluster) if listed.kind == kind)
    pauses = 0

    async def sleep(seconds: float) -> None:
        nonlocal pauses
        pauses += 1
        expect(seconds >= 0, "a pause into the past")
        if pauses == 2:
            raise _EndError

    environment = ReflectorEnvironment(
        source=_Server(text, size),
        slicer=TimeSlicer(lambda: 0.0),
        clock=lambda: 0.0,
        jitter=lambda: 1.0,
        sleep=sleep,
        report_restart=lambda _, reason, __: expect(reason, "a restart without a reason"),
        report_skipped=lambda _, skipped: expect(skipped.reason, "skipped without a reason"),
        streams=bool(len(text) % 2),
    )
    try:
        await Reflector(resource, environment).run()
    except _EndError:
        _check_store(resource, text)


def _check_store(resource: Resource, text: bytes) -> None:
    events = [read for line in text.split(b"\n")[:-1] if line for read in (_read(line),)]
    if any(member(event, "type") not in ("ADDED", "MODIFIED") for event in events):
        return
    names = {member(event, "object", "metadata", "name") for event in events}
    stored = {name for _, name in resource.store.iterate_keys()}
    expect(stored <= names, "an object that no event contained")

"""
Whatever happens on the way, a reflector ends with what the API server has.

The server is a model: objects with revisions, a history that is forgotten now and then, lists in
pages of one revision, watches from a revision on. Plans of changes and faults are drawn at random.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum

from hypothesis import given
from hypothesis import strategies as st

from tests.cluster.apiserver import Json, bookmark, event, failure, packed, service
from webhook.cluster.discovery import list_resources
from webhook.cluster.facts import Cluster
from webhook.cluster.protocol import JSON, NO_QUERY, FailureReason, Query, Response, status_error
from webhook.cluster.reflector import Reflector, ReflectorEnvironment
from webhook.cluster.timeslices import TimeSlicer
from webhook.errors import ApiError

NAME = "model"
PAGE = 2  # objects
MOST_TRIES = 200  # of one example; each step of a plan takes three at most


class Fault(StrEnum):
    """How a try ends."""

    END = "end"
    CUT = "cut"
    CUT_WITHIN = "cut within an event"
    EXPIRED = "410"
    ERROR = "500"
    TEXT = "text"
    HALF = "half an event"
    REFUSED = "status"
    FORGET = "history forgotten"


@dataclass(frozen=True)
class Step:
    """
    One try.

    Attributes:
        changes: Of objects, before it: names, and their new selectors; None deletes.
        sent: Events, or pages, that come before the fault.
        repeated: How many of the events before are sent once more.
        piece: Bytes that come at a time.
        marked: Whether a bookmark comes before the fault.
    """

    changes: list[tuple[str, str | None]]
    sent: int
    repeated: int
    piece: int
    marked: bool
    fault: Fault


names = st.sampled_from("abcdef")
steps = st.builds(
    Step,
    changes=st.lists(st.tuples(names, st.none() | st.sampled_from("xyz")), max_size=6),
    sent=st.integers(0, 6),
    repeated=st.integers(0, 3),
    piece=st.integers(1, 400),
    marked=st.booleans(),
    fault=st.sampled_from(Fault),
)


class Model:
    """The API server; implements ``webhook.cluster.protocol.Source``."""

    name = NAME

    def __init__(self, plan: list[Step]) -> None:
        self.revision = 1
        self.truth: dict[str, Json] = {}
        self.history: list[tuple[int, Json]] = []
        self.forgotten = 0  # revisions up to this one are
        self.settled = asyncio.Event()
        self.tries = 0
        self._plan = iter(plan)
        self._snapshot: list[Json] = []  # of the list that is being paged through
        self._listed = 0  # its revision

    async def send(
        self,
        method: str,
        path: str,
        query: Query = NO_QUERY,
        body: bytes = b"",
        content_type: str = JSON,
    ) -> Response:
        del method, body, content_type
        step = self._begin()
        await asyncio.sleep(0)
        start = int(query.get("continue", "0"))
        if step is not None and step.sent < 2:
            self._fail(step)
        if start == 0:
            self._snapshot, self._listed = list(self.truth.values()), self.revision
        page = self._snapshot[start : start + PAGE]
        rest = f"{start + PAGE}" if start + PAGE < len(self._snapshot) else ""
        metadata = {"resourceVersion": f"{self._listed}", "continue": rest}
        return Response(200, packed({"metadata": metadata, "items": page}))

    @asynccontextmanager
    async def stream(self, path: str, query: Query) -> AsyncGenerator[AsyncIterator[bytes]]:
        step = self._begin()
        await asyncio.sleep(0)
        if step is not None and step.fault is Fault.REFUSED:
            self._fail(step)
        if "sendInitialEvents" in query:
            lines = [event("ADDED", each) for each in self.truth.values()]
            lines.append(bookmark(self.revision, ends=True))
        else:
            version = int(query["resourceVersion"])
            if version < self.forgotten:
                lines = [event("ERROR", failure(410))]
            else:
                lines = [line for revision, line in self.history if revision > version]
        yield self._pieces(lines, step)

    async def _pieces(self, lines: list[Json], step: Step | None) -> AsyncIterator[bytes]:
        if step is None:
            for line in lines:
                yield packed(line) + b"\n"
            if lines[-1:] == [event("ERROR", failure(410))]:
                return
            self.settled.set()
            await asyncio.Event().wait()
            return
        sent = lines[: step.sent]
        sent = [*sent, *sent[len(sent) - min(step.repeated, len(sent)) :]]
        text = b"".join(packed(line) + b"\n" for line in sent) + self._ending(step, sent)
        for start in range(0, len(text), step.piece):
            await asyncio.sleep(0)
            yield text[start : start + step.piece]
        if step.fault in (Fault.CUT, Fault.CUT_WITHIN):
            raise ApiError(NAME, "cut", FailureReason.UNREACHABLE)

    def _ending(self, step: Step, sent: list[Json]) -> bytes:
        mark = b""
        if step.marked and sent and sent[-1]["type"] != "ERROR":
            version = sent[-1]["object"]["metadata"]["resourceVersion"]
            mark = packed(bookmark(int(version))) + b"\n"
        match step.fault:
            case Fault.CUT_WITHIN:
                return mark + b'{"type": "ADD'
            case Fault.EXPIRED:
                return mark + packed(event("ERROR", failure(410))) + b"\n"
            case Fault.ERROR:
                return mark + packed(event("ERROR", failure(500))) + b"\n"
            case Fault.TEXT:
                return mark + b"<html>\n"
            case Fault.HALF:
                return mark + b'{"type": "ADDED", "object": {\n'
            case _:
                return mark

    def _begin(self) -> Step | None:
        self.tries += 1
        assert self.tries < MOST_TRIES
        step = next(self._plan, None)
        if step is not None:
            for name, selector in step.changes:
                self._change(name, selector)
            if step.fault is Fault.FORGET:
                self.forgotten = self.revision
        return step

    def _change(self, name: str, selector: str | None) -> None:
        known = self.truth.pop(name, None)
        if known is None and selector is None:
            return
        self.revision += 1
        value = service(name, selector or "gone", self.revision)
        if selector is not None:
            self.truth[name] = value
        kind = "DELETED" if selector is None else "MODIFIED" if known else "ADDED"
        self.history.append((self.revision, event(kind, value)))

    def _fail(self, step: Step) -> None:
        match step.fault:
            case Fault.EXPIRED | Fault.FORGET:
                raise status_error(NAME, 410, b"")
            case Fault.REFUSED:
                raise status_error(NAME, (403, 429, 500)[step.sent % 3], b"")
            case Fault.CUT | Fault.CUT_WITHIN:
                raise ApiError(NAME, "cut", FailureReason.UNREACHABLE)
            case _:
                pass


def held(cluster: Cluster) -> dict[str, str]:
    return {
        name: each.selector["app"]
        for selector in "xyz"
        for each in cluster.services("shop", {"app": selector})
        for name in [each.name]
    }


def follow(plan: list[Step], *, streams: bool) -> tuple[Model, Cluster, Reflector]:
    """Follow a model through its plan, until it has nothing more to say."""

    async def run() -> tuple[Model, Cluster, Reflector]:
        model, cluster = Model(plan), Cluster()
        environment = ReflectorEnvironment(
            source=model,
            slicer=TimeSlicer(lambda: 0.0, slice_s=0.0),
            clock=lambda: 0.0,
            jitter=lambda: 0.0,
            sleep=asyncio.sleep,
            report_restart=lambda *_: None,
            report_skipped=lambda *_: None,
            streams=streams,
        )
        (resource,) = (each for each in list_resources(cluster) if each.kind == "Service")
        reflector = Reflector(resource, environment)
        task = asyncio.create_task(reflector.run())
        settled = asyncio.create_task(model.settled.wait())
        await asyncio.wait([task, settled], return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        return model, cluster, reflector

    return asyncio.run(run())


@given(st.lists(steps, max_size=12), st.booleans())
def test_a_reflector_ends_with_the_truth(plan: list[Step], streams: bool) -> None:
    model, cluster, reflector = follow(plan, streams=streams)

    truth = {name: each["spec"]["selector"]["app"] for name, each in model.truth.items()}
    assert held(cluster) == truth
    assert len(cluster.service_store) == len(truth)
    assert reflector.synced.is_set()
    assert reflector.problem == ""

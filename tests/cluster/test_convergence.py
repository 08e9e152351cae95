"""
Whatever happens on the way, a reflector ends with what the API server has.

Hypothesis draws plans of changes and faults, which the API server follows request by request.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

from hypothesis import given
from hypothesis import strategies as st

from tests.apiserver import (
    Answer,
    ApiServer,
    Fault,
    Json,
    Request,
    Stream,
    bookmark,
    encode,
    event,
    failure,
    path_of,
)
from tests.apiserver.store import parse_path
from tests.build import service
from webhook.cluster.discovery import list_resources
from webhook.cluster.facts import Cluster
from webhook.cluster.protocol import Response
from webhook.cluster.reflector import Reflector, ReflectorEnvironment
from webhook.cluster.timeslices import TimeSlicer

PAGE = 2  # objects
MOST_TRIES = 200  # of one example; each step of a plan takes three at most


class PlannedFault(StrEnum):
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
    fault: PlannedFault


names = st.sampled_from("abcdef")
steps = st.builds(
    Step,
    changes=st.lists(st.tuples(names, st.none() | st.sampled_from("xyz")), max_size=6),
    sent=st.integers(0, 6),
    repeated=st.integers(0, 3),
    piece=st.integers(1, 400),
    marked=st.booleans(),
    fault=st.sampled_from(PlannedFault),
)


class PlanningServer(ApiServer):
    """
    An API server that changes and fails by a plan, and is all right after it.

    Attributes:
        settled: Set when a watch has reported everything after the end of the plan.
    """

    def __init__(self, plan: list[Step]) -> None:
        super().__init__()
        self.page_size = PAGE
        self.settled = asyncio.Event()
        self._plan = iter(plan)
        self.faults.append(lambda _request: self._follow_plan)

    async def _follow_plan(self, request: Request) -> Answer:
        assert len(self.requests) < MOST_TRIES
        step = next(self._plan, None)
        if step is not None:
            for name, selector in step.changes:
                self._change(name, selector)
            if step.fault is PlannedFault.FORGET:
                self.compact()
        await asyncio.sleep(0)
        if "watch" not in request.query:
            return self._fail_list(step) if step is not None and step.sent < 2 else None
        if step is not None and step.fault is PlannedFault.REFUSED:
            return self._fail_list(step)
        place = parse_path(request.path)
        assert place is not None
        lines = self.pending_events(request.query, place)
        if step is None:
            return Stream(self._send_all(lines))
        cut = step.fault in (PlannedFault.CUT, PlannedFault.CUT_WITHIN)
        return Stream(self._send_some(lines, step), Fault.RESET if cut else None)

    def _change(self, name: str, selector: str | None) -> None:
        path = path_of(service(name))
        if selector is not None:
            self.put(path, service(name, selector))
        elif path in self.objects:
            self.delete(path)

    @staticmethod
    def _fail_list(step: Step) -> Answer:
        match step.fault:
            case PlannedFault.EXPIRED | PlannedFault.FORGET:
                return Response(410)
            case PlannedFault.REFUSED:
                return Response((403, 429, 500)[step.sent % 3])
            case PlannedFault.CUT | PlannedFault.CUT_WITHIN:
                return Fault.RESET
            case _:
                return None

    async def _send_all(self, lines: list[Json]) -> AsyncIterator[bytes]:
        for line in lines:
            yield encode(line) + b"\n"
        if not any(line["type"] == "ERROR" for line in lines):
            self.settled.set()
            await asyncio.Event().wait()

    async def _send_some(self, lines: list[Json], step: Step) -> AsyncIterator[bytes]:
        sent = lines[: step.sent]
        sent = [*sent, *sent[len(sent) - min(step.repeated, len(sent)) :]]
        text = b"".join(encode(line) + b"\n" for line in sent) + _last_lines(step, sent)
        for start in range(0, len(text), step.piece):
            await asyncio.sleep(0)
            yield text[start : start + step.piece]


_LAST_LINES = {
    PlannedFault.CUT_WITHIN: b'{"type": "ADD',
    PlannedFault.EXPIRED: encode(event("ERROR", failure(410))) + b"\n",
    PlannedFault.ERROR: encode(event("ERROR", failure(500))) + b"\n",
    PlannedFault.TEXT: b"<html>\n",
    PlannedFault.HALF: b'{"type": "ADDED", "object": {\n',
}


def _last_lines(step: Step, sent: list[Json]) -> bytes:
    """Build what follows the events: a bookmark, if planned, and the fault."""
    mark = b""
    if step.marked and sent and sent[-1]["type"] != "ERROR":
        version = sent[-1]["object"]["metadata"]["resourceVersion"]
        mark = encode(bookmark(int(version))) + b"\n"
    return mark + _LAST_LINES.get(step.fault, b"")


def held(cluster: Cluster) -> dict[str, str]:
    return {
        name: service.selector["app"]
        for selector in "xyz"
        for service in cluster.services("shop", {"app": selector})
        for name in [service.name]
    }


def follow(plan: list[Step], *, streams: bool) -> tuple[PlanningServer, Cluster, Reflector]:
    """Follow a server through its plan, until a watch has reported everything."""

    async def run() -> tuple[PlanningServer, Cluster, Reflector]:
        server, cluster = PlanningServer(plan), Cluster()
        environment = ReflectorEnvironment(
            source=server,
            slicer=TimeSlicer(lambda: 0.0, slice_s=0.0),
            clock=lambda: 0.0,
            jitter=lambda: 0.0,
            sleep=asyncio.sleep,
            report_restart=lambda *_: None,
            report_skipped=lambda *_: None,
            streams=streams,
        )
        (resource,) = (item for item in list_resources(cluster) if item.kind == "Service")
        reflector = Reflector(resource, environment)
        task = asyncio.create_task(reflector.run())
        settled = asyncio.create_task(server.settled.wait())
        await asyncio.wait([task, settled], return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        return server, cluster, reflector

    return asyncio.run(run())


@given(st.lists(steps, max_size=12), st.booleans())
def test_a_reflector_ends_with_the_truth(plan: list[Step], streams: bool) -> None:
    server, cluster, reflector = follow(plan, streams=streams)

    truth = {
        obj["metadata"]["name"]: obj["spec"]["selector"]["app"] for obj in server.objects.values()
    }
    assert held(cluster) == truth
    assert len(cluster.service_store) == len(truth)
    assert reflector.synced.is_set()
    assert reflector.problem == ""

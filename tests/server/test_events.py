"""Events on our own Deployment."""

import asyncio
import io
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from tests.apiserver import ApiServer
from tests.server.serving import logged, server_context, settled
from webhook.cluster.protocol import Response
from webhook.errors import ApiError
from webhook.server.events import EVENT_MESSAGE_CHARS, MOST_QUEUED, EventRecorder, TaskObservers

SILENCE = ApiError("https://api", "gave no answer in time", "silent")
EVENTS = "/api/v1/namespaces/ns/events"
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


async def recorded(
    server: ApiServer, record: Callable[[EventRecorder], None], count: int
) -> list[Any]:
    """Write Events until the server has received so many requests; returns the log."""
    stream = io.BytesIO()
    context = server_context(stream, namespace="ns", replica="pod-1")
    events = EventRecorder(server, replace(context, now=lambda: NOW))
    record(events)
    task = asyncio.create_task(events.run())
    await settled(lambda: len(server.requests) == count)
    await asyncio.sleep(0)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    return logged(stream)


async def test_an_event_is_about_the_deployment() -> None:
    server = ApiServer()

    lines = await recorded(server, lambda events: events.record("Invalid", "why", warning=True), 1)

    (request,) = server.requests
    body = request.content
    assert (request.method, request.path) == ("POST", EVENTS)
    assert body["involvedObject"] == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "namespace": "ns",
        "name": "evenspread",
    }
    assert (body["type"], body["reason"], body["message"]) == ("Warning", "Invalid", "why")
    assert body["lastTimestamp"] == "2026-01-02T03:04:05Z"
    assert body["source"] == {"component": "evenspread", "host": "pod-1"}
    assert lines == []


async def test_good_news_is_normal_and_long_messages_are_cut() -> None:
    server = ApiServer()

    await recorded(server, lambda events: events.record("Loaded", "x" * 2000, warning=False), 1)

    body = server.requests[0].content
    assert body["type"] == "Normal"
    assert body["message"] == "x" * 1021 + "..."


async def test_no_message_can_forge_a_line_or_command_a_terminal() -> None:
    server, hostile = ApiServer(), "a\x1b]0;b\x07\u202e\n\ud800"

    await recorded(server, lambda events: events.record("Drift", hostile, warning=True), 1)

    assert server.requests[0].content["message"] == r"a\x1b]0;b\a\u202e\n\ud800"


async def test_an_escaped_message_is_cut_to_the_limit() -> None:
    server = ApiServer()

    await recorded(server, lambda events: events.record("Drift", "\n" * 1000, warning=True), 1)

    assert len(server.requests[0].content["message"]) == EVENT_MESSAGE_CHARS


async def test_what_cannot_be_written_is_logged_once_for_each_reason() -> None:
    server, forbidden = ApiServer(), Response(403)
    server.script(EVENTS, forbidden, forbidden, SILENCE, None, forbidden)

    def record(events: EventRecorder) -> None:
        for number in range(5):
            events.record("Invalid", str(number), warning=True)

    lines = await recorded(server, record, 5)

    assert [line["message"].rpartition(": ")[2] for line in lines] == [
        "the API server answered 403",
        "gave no answer in time",
        "the API server answered 403",
    ]


async def test_a_burst_is_cut() -> None:
    server = ApiServer()

    def record(events: EventRecorder) -> None:
        for number in range(MOST_QUEUED + 3):
            events.record("Invalid", str(number), warning=True)

    await recorded(server, record, MOST_QUEUED)

    messages = [request.content["message"] for request in server.requests]
    assert messages == [str(i) for i in range(MOST_QUEUED)]


async def test_a_warning_of_a_task_is_logged_and_becomes_an_event() -> None:
    stream, server = io.BytesIO(), ApiServer()
    context = server_context(stream, namespace="ns")

    def warn(events: EventRecorder | None) -> None:
        TaskObservers(context.metrics, context.log, events).warn("audit", "AuditIncomplete", "why")

    await recorded(server, warn, 1)
    warn(None)

    (request,) = server.requests
    assert (request.content["type"], request.content["reason"]) == ("Warning", "AuditIncomplete")
    assert [(line["event"], line["message"]) for line in logged(stream)] == [("audit", "why")] * 2

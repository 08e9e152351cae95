"""Events on our own Deployment."""

import asyncio
import io
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from tests.server.serving import logged, server_context, settled
from webhook.cluster.protocol import JSON, NO_QUERY, Query, Response
from webhook.errors import ApiError
from webhook.server.events import MOST_QUEUED, EventRecorder

SILENCE = ApiError("https://api", "gave no answer in time", "silent")
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class Client:
    """Answers each call with the next status; an error is raised."""

    name = "the API server"

    def __init__(self, *answers: int | Exception) -> None:
        self.calls: list[tuple[str, str, Any]] = []
        self._answers = list(answers)

    async def send(
        self,
        method: str,
        path: str,
        query: Query = NO_QUERY,
        body: bytes = b"",
        content_type: str = JSON,
    ) -> Response:
        assert (query, content_type) == (NO_QUERY, JSON)
        self.calls.append((method, path, json.loads(body)))
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return Response(answer)


async def recorded(
    client: Client, record: Callable[[EventRecorder], None], calls: int
) -> list[Any]:
    """Write Events until the client has received ``calls`` calls; returns the log."""
    stream = io.BytesIO()
    context = server_context(stream, namespace="ns", replica="pod-1")
    events = EventRecorder(client, replace(context, now=lambda: NOW))
    record(events)
    task = asyncio.create_task(events.run())
    await settled(lambda: len(client.calls) == calls)
    await asyncio.sleep(0)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    return logged(stream)


async def test_an_event_is_about_the_deployment() -> None:
    client = Client(201)

    lines = await recorded(client, lambda events: events.record("Invalid", "why", warning=True), 1)

    ((method, path, body),) = client.calls
    assert (method, path) == ("POST", "/api/v1/namespaces/ns/events")
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
    client = Client(201)

    await recorded(client, lambda events: events.record("Loaded", "x" * 2000, warning=False), 1)

    body = client.calls[0][2]
    assert body["type"] == "Normal"
    assert body["message"] == "x" * 1021 + "..."


async def test_what_cannot_be_written_is_logged_once_for_each_reason() -> None:
    client = Client(403, 403, SILENCE, 201, 403)

    def record(events: EventRecorder) -> None:
        for number in range(5):
            events.record("Invalid", str(number), warning=True)

    lines = await recorded(client, record, 5)

    assert [line["says"].rpartition(": ")[2] for line in lines] == [
        "the API server answered 403",
        "gave no answer in time",
        "the API server answered 403",
    ]


async def test_a_burst_is_cut() -> None:
    client = Client(*[201] * MOST_QUEUED)

    def record(events: EventRecorder) -> None:
        for number in range(MOST_QUEUED + 3):
            events.record("Invalid", str(number), warning=True)

    await recorded(client, record, MOST_QUEUED)

    assert [body["message"] for _, _, body in client.calls] == [str(i) for i in range(MOST_QUEUED)]

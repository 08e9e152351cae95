"""
Kubernetes Events on the server's own Deployment, for users who look there and not into the log.

``EventRecorder`` is the entry point; ``TaskObservers`` adds metrics and the log, for background
tasks. Delivery is best effort: a problem is logged once, and its
Event is dropped.

Source: k8s.io/api core/v1 ``Event``; client-go tools/record for names and lengths.
"""

import asyncio
from http import HTTPStatus
from typing import Any, NamedTuple, NoReturn

import msgspec

from webhook.cluster.protocol import NO_QUERY, ApiClient
from webhook.errors import ApiError
from webhook.policy.escape import printable
from webhook.server.context import ServerContext
from webhook.telemetry.logs import Log
from webhook.telemetry.metrics import Metrics

EVENT_MESSAGE_CHARS = 1024  # pkg/apis/core/validation/events.go refuses longer messages
MOST_QUEUED = 8  # Events that wait to be written; further ones of a burst add nothing

COMPONENT = "evenspread"


class EventRecorder:
    """Writes Events one after the other."""

    def __init__(self, client: ApiClient, context: ServerContext) -> None:
        """Start with an empty queue."""
        self._client = client
        self._context = context
        self._path = f"/api/v1/namespaces/{context.namespace}/events"
        self._queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue(MOST_QUEUED)

    def record(self, reason: str, message: str, *, warning: bool) -> None:
        """
        Queue an Event; drop it if the queue is full.

        Args:
            reason: In CamelCase, for programs.
            message: For people; escaped, and shortened to ``EVENT_MESSAGE_CHARS``.
        """
        if not self._queue.full():
            self._queue.put_nowait(self._event(reason, message, "Warning" if warning else "Normal"))

    async def run(self) -> NoReturn:
        """Write queued Events until cancelled; log each new problem once."""
        last_problem = ""
        while True:
            problem = await self._write(await self._queue.get())
            if problem and problem != last_problem:
                self._context.log.warning(
                    "event", message=f"an Event could not be written: {problem}"
                )
            last_problem = problem

    def _event(self, reason: str, message: str, event_type: str) -> dict[str, Any]:
        name, namespace = self._context.settings.name, self._context.namespace
        replica = self._context.replica
        now = self._context.now().isoformat(timespec="seconds").replace("+00:00", "Z")
        message = printable(message)
        if len(message) > EVENT_MESSAGE_CHARS:
            message = f"{message[: EVENT_MESSAGE_CHARS - 3]}..."
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"generateName": f"{name}.", "namespace": namespace},
            "involvedObject": {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "namespace": namespace,
                "name": name,
            },
            "type": event_type,
            "reason": reason,
            "message": message,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "source": {"component": COMPONENT, "host": replica},
            "reportingComponent": COMPONENT,
            "reportingInstance": replica,
        }

    async def _write(self, event: dict[str, Any]) -> str:
        """Write one Event; returns the problem, empty if it was written."""
        try:
            body = msgspec.json.encode(event)
            response = await self._client.send("POST", self._path, NO_QUERY, body)
        except ApiError as error:
            return f"no answer: {error}"
        if response.status == HTTPStatus.CREATED:
            return ""
        return f"the API server answered {response.status}"


class TaskObservers(NamedTuple):
    """Where a background task reports: metrics, the log, and Events, of which there may be none."""

    metrics: Metrics
    log: Log
    events: EventRecorder | None = None

    def warn(self, line: str, reason: str, message: str) -> None:
        """
        Log a warning, and record an Event with the same message.

        Args:
            line: Name of the log line.
            reason: Reason of the Event.
        """
        self.log.warning(line, message=message)
        if self.events is not None:
            self.events.record(reason, message, warning=True)

"""
Kubernetes Events on our own Deployment, for whoever looks there and not into the log.

At best: an Event that cannot be written is told in the log, once, and forgotten.

Source: k8s.io/api core/v1 ``Event``; client-go tools/record for names and lengths.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime
from http import HTTPStatus
from typing import Any, NamedTuple, NoReturn

import msgspec

from webhook.cluster.protocol import NO_QUERY, ApiClient
from webhook.errors import ApiError
from webhook.telemetry.logs import Log

EVENT_MESSAGE_CHARS = 1024  # characters; pkg/apis/core/validation/events.go refuses longer ones
KEPT = 8  # Events that wait to be written; of a burst the last ones add nothing

COMPONENT = "evenspread"


class EventContext(NamedTuple):
    """
    What Events are about, and who writes them.

    Attributes:
        namespace: Of the Deployment.
        name: Of the Deployment.
        instance: The name of this replica.
    """

    namespace: str
    name: str
    instance: str


class EventRecorder:
    """Writes Events, one after the other."""

    def __init__(
        self, client: ApiClient, place: EventContext, clock: Callable[[], datetime], log: Log
    ) -> None:
        """
        Have nothing to write.

        Args:
            clock: The wall clock: aware, UTC.
        """
        self._client = client
        self._place = place
        self._clock = clock
        self._log = log
        self._waiting: asyncio.Queue[dict[str, Any]] = asyncio.Queue(KEPT)

    def tell(self, reason: str, says: str, *, warning: bool) -> None:
        """
        Have an Event written soon.

        Args:
            reason: In CamelCase, for programs.
            says: For people; cut if it is too long.
        """
        if not self._waiting.full():
            self._waiting.put_nowait(self._event(reason, says, "Warning" if warning else "Normal"))

    async def run(self) -> NoReturn:
        """Write what is told, until cancelled."""
        failed = ""
        while True:
            event = await self._waiting.get()
            problem = await self._write(event)
            if problem and problem != failed:
                self._log.warning("event", says=f"an Event could not be written: {problem}")
            failed = problem

    def _event(self, reason: str, says: str, of_type: str) -> dict[str, Any]:
        namespace, name, instance = self._place
        now = self._clock().isoformat(timespec="seconds").replace("+00:00", "Z")
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
            "type": of_type,
            "reason": reason,
            "message": says
            if len(says) <= EVENT_MESSAGE_CHARS
            else f"{says[: EVENT_MESSAGE_CHARS - 3]}...",
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "source": {"component": COMPONENT, "host": instance},
            "reportingComponent": COMPONENT,
            "reportingInstance": instance,
        }

    async def _write(self, event: dict[str, Any]) -> str:
        """Write one; returns why that failed."""
        path = f"/api/v1/namespaces/{self._place.namespace}/events"
        try:
            response = await self._client.send("POST", path, NO_QUERY, msgspec.json.encode(event))
        except ApiError as error:
            return f"no answer: {error}"
        if response.status == HTTPStatus.CREATED:
            return ""
        return f"the API server answered {response.status}"

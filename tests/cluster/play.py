"""A reflector that follows a scripted server to the end of its script."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.apiserver import (
    Answer,
    ApiServer,
    Behavior,
    Fault,
    Request,
    write_kubeconfig,
)
from tests.build import service
from webhook.cluster.client import Api, ApiAccess, Timeouts
from webhook.cluster.discovery import list_resources
from webhook.cluster.facts import Cluster
from webhook.cluster.protocol import MAX_BODY_BYTES
from webhook.cluster.reflector import Reflector, ReflectorEnvironment
from webhook.cluster.timeslices import TimeSlicer

SERVICES = "/api/v1/services"
PATIENCE_S = 600.0  # for any answer: no stall of the process is one of the server
SILENCE_S = 1.0  # for an answer that never comes
A, B, C = service("a"), service("b"), service("c")
FOLLOWS = [{"watch": "1", "allowWatchBookmarks": "true", "resourceVersion": "1"}]
"""The queries of a watch that goes on after version 1."""


@dataclass
class Play:
    """A reflector of Services that follows a scripted server, and what became of it."""

    server: ApiServer
    folder: Path
    streams: bool = False
    now: float = 0.0
    most_pauses: int = 50
    max_body: int = MAX_BODY_BYTES
    silence: float = PATIENCE_S  # of a watch, in seconds
    pauses: list[float] = field(default_factory=list)
    restarts: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    skipped: list[tuple[str, ...]] = field(default_factory=list)  # kind, namespace, name, reason
    cluster: Cluster = field(default_factory=Cluster)

    def __post_init__(self) -> None:
        self.reflector: Reflector
        self.ended = asyncio.Event()
        self.server.otherwise = self.end
        self.resources = {resource.kind: resource for resource in list_resources(self.cluster)}

    @property
    def held(self) -> str:
        return "".join(sorted(name for _, name in self.cluster.service_store.iterate_keys()))

    async def end(self, _request: Request) -> Answer:
        """Answer no request after the script."""
        self.ended.set()
        return Fault.SILENCE

    def end_at_watch(self, request: Request) -> Behavior:
        """End the test when a watch follows a complete list."""
        return self.end if "resourceVersion" in request.query else None

    async def sleep(self, seconds: float) -> None:
        if not self.ended.is_set():
            self.pauses.append(seconds)
        if len(self.pauses) == self.most_pauses:
            self.ended.set()
        await asyncio.sleep(0)

    def record_restart(self, _kind: str, reason: str, message: str) -> None:
        if not self.ended.is_set():
            self.restarts.append(reason)
            self.problems.append(message)

    async def run(self, kind: str = "Service") -> Reflector:
        """Follow the script to its end."""
        access = ApiAccess(kubeconfig=write_kubeconfig(self.folder, self.server.url))
        timeouts = Timeouts(connect=PATIENCE_S, answer=PATIENCE_S, silence=self.silence)
        async with Api(access, lambda: self.now, timeouts, self.max_body) as api:
            environment = ReflectorEnvironment(
                source=api,
                slicer=TimeSlicer(lambda: self.now),
                clock=lambda: self.now,
                jitter=lambda: 1.0,
                sleep=self.sleep,
                report_restart=self.record_restart,
                report_skipped=lambda kind, skipped: self.skipped.append((kind, *skipped[:3])),
                streams=self.streams,
            )
            self.reflector = Reflector(self.resources[kind], environment)
            task = asyncio.create_task(self.reflector.run())
            ended = asyncio.create_task(self.ended.wait())
            await asyncio.wait([task, ended], return_when=asyncio.FIRST_COMPLETED)
            if not ended.done():
                task.result()
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        return self.reflector

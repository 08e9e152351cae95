"""Caches and reflectors without a network, a clock and a supervisor."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from tests.apiserver import ApiServer
from tests.background import working
from webhook.cluster.caches import Caches, Start, Supervise
from webhook.cluster.reflector import ReflectorEnvironment
from webhook.cluster.timeslices import TimeSlicer

LISTS = (
    "/api/v1/namespaces",
    "/api/v1/nodes",
    "/api/v1/services",
    "/api/v1/replicationcontrollers",
    "/apis/apps/v1/replicasets",
    "/apis/apps/v1/statefulsets",
)
"""The paths of the collections that caches follow, without custom kinds."""


async def unsupervised(_name: str, start: Start) -> None:
    """Run a background task once, and raise its errors."""
    await start()


def reflector_environment(server: ApiServer) -> ReflectorEnvironment:
    """Build the environment of reflectors, with a clock that stands still."""
    return ReflectorEnvironment(
        source=server,
        slicer=TimeSlicer(lambda: 0.0),
        clock=lambda: 0.0,
        jitter=lambda: 1.0,
        sleep=lambda _: asyncio.Event().wait(),
        report_restart=lambda *_: None,
        report_skipped=lambda *_: None,
    )


@asynccontextmanager
async def following(caches: Caches, supervise: Supervise = unsupervised) -> AsyncGenerator[None]:
    """Let caches follow their server as long as the context lasts."""
    async with working(caches.run(supervise)):
        yield

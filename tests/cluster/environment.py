"""Caches and reflectors without a network, a clock and a supervisor."""

import asyncio

from tests.apiserver import ApiServer
from webhook.cluster.caches import Start
from webhook.cluster.reflector import ReflectorEnvironment
from webhook.cluster.timeslices import TimeSlicer


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

"""A caller that behaves, while others attack a server: its latencies, and that no call fails."""

import asyncio
import time
from http import HTTPStatus
from typing import Self

from tests.e2e.objects import LONG
from tests.e2e.sampler import withheld_ms
from tests.e2e.standalone import Standalone, eventually
from tests.server.serving import call, review

PAUSE_S = 0.02  # between two calls
MOST_P99_S = 1.0


class Bystander:
    """
    Calls on one connection as long as the context lasts.

    Attributes:
        latencies: Seconds of each call, without those in which server and test waited for a core.
        statuses: The statuses of all replies but those that ``busy`` counts.
        busy: How many replies requested another call, as an API server then does.
    """

    def __init__(self, server: Standalone) -> None:
        self._server = server
        self.latencies: list[float] = []
        self.statuses: set[int] = set()
        self.busy = 0

    async def __aenter__(self) -> Self:
        self._wire = await self._server.connect()
        await self._call()
        self.latencies.clear()  # the first call is the slowest one
        self._calling = asyncio.create_task(self._go_on())
        return self

    async def __aexit__(self, *_: object) -> None:
        await eventually(lambda: self.latencies)
        self._calling.cancel()
        await asyncio.wait([self._calling])
        await self._wire.close()

    @property
    def p99(self) -> float:
        """Seconds that 99 % of the calls do not exceed."""
        return sorted(self.latencies)[int(len(self.latencies) * 0.99)]

    def check(self, *, may_be_busy: bool = False) -> None:
        """All calls were answered; in the long form nearly all of them within a second."""
        assert self.statuses == {200}
        assert may_be_busy or not LONG or not self.busy
        assert not LONG or self.p99 < MOST_P99_S

    async def _go_on(self) -> None:
        while True:
            await self._call()
            await asyncio.sleep(PAUSE_S)

    async def _call(self) -> None:
        waited, began = self._waits_s(), time.monotonic()
        reply = await self._wire.ask(call(review(), "/mutate?timeout=30s"))
        took = time.monotonic() - began
        if reply.status == HTTPStatus.SERVICE_UNAVAILABLE and "retry-after" in reply.headers:
            self.busy += 1
            return
        self.latencies.append(max(0.0, took - (self._waits_s() - waited)))
        self.statuses.add(reply.status)

    def _waits_s(self) -> float:
        return withheld_ms(self._server.process.pid) / 1000

"""A run of the repair of ranks: a fake API server with pods, a cache, and a clock."""

import asyncio
import copy
import io
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from tests.apiserver import ApiServer
from tests.cluster.objects import labelled_pod
from tests.cluster.zones import Zones
from tests.server.serving import logged, server_context
from webhook.cluster.pods import PodStore
from webhook.cluster.wire import PodObject
from webhook.policy.scaledown.ranks import DELETION_COST, cost_of_rank
from webhook.server.election import Clocks
from webhook.server.events import EventRecorder, TaskObservers
from webhook.server.rankwriter import RankWriter
from webhook.server.repair import RankRepair

LONG_S = 60.0  # more than any workload needs to settle and to be corrected


def path_of(name: str, namespace: str = "shop") -> str:
    """Return the URL path of a pod."""
    return f"/api/v1/namespaces/{namespace}/pods/{name}"


class OverError(Exception):
    """The time of a run is over."""


class RepairRun:
    """
    A replica that corrects ranks, an API server with pods, and a clock that waits move.

    What the API server stores reaches the cache at the next wait.

    Attributes:
        later: What other clients do, by the time from which on they do it, the earliest first.
    """

    def __init__(
        self, most_remembered: int = 9, *, with_events: bool = False, **pods: tuple[str, int]
    ) -> None:
        self.server = ApiServer()
        self.zones = Zones()
        self.later: list[tuple[float, Callable[[], object]]] = []
        self.is_on = True
        self.now = 0.0
        self._end = 0.0
        self._stream = io.BytesIO()
        context = server_context(self._stream, namespace="evenspread")
        self.metrics, self.events = context.metrics, EventRecorder(self.server, context)
        for name, (node, rank) in pods.items():
            self.put(name, node, rank)
        events = self.events if with_events else None
        observers = TaskObservers(context.metrics, context.log, events)
        writer = RankWriter(self.server, observers, most_remembered)
        clocks = Clocks(lambda: self.now, lambda: datetime(2026, 1, 2, tzinfo=UTC), self.wait)
        self.repair = RankRepair(writer, self.find_pods, clocks, context.log)

    def find_pods(self) -> PodStore | None:
        return self.zones.pods if self.is_on else None

    def put(
        self,
        name: str,
        node: str = "a1",
        rank: int = 0,
        *,
        cost: str = "",
        controller: str = "u1",
        namespace: str = "shop",
    ) -> None:
        """Store a pod; ``cost`` is written by another client."""
        pod = labelled_pod(name, node, rank=rank, controller=controller, namespace=namespace)
        if cost:
            pod["metadata"]["annotations"][DELETION_COST] = cost
        self.server.put(path_of(name, namespace), pod)

    def annotate(self, name: str, annotations: dict[str, str]) -> None:
        """Change annotations of a pod, as another client does."""
        pod = copy.deepcopy(self.server.objects[path_of(name)])
        pod["metadata"]["annotations"] |= annotations
        self.server.put(path_of(name), pod)

    def delete(self, name: str) -> None:
        del self.server.objects[path_of(name)]
        self.zones.pods.remove("shop", name)

    @property
    def costs(self) -> dict[str, str | None]:
        return {
            obj["metadata"]["name"]: obj["metadata"]["annotations"].get(DELETION_COST)
            for obj in self.server.objects.values()
        }

    @property
    def patches(self) -> list[str]:
        """The names of the pods that were written, in order."""
        return [write.path.rpartition("/")[2] for write in self.server.writes]

    @property
    def log(self) -> list[dict[str, Any]]:
        return logged(self._stream)

    def count(self, reason: str) -> float:
        name = "evenspread_rank_repairs_total"
        return self.metrics.registry.get_sample_value(name, {"reason": reason}) or 0

    async def wait(self, seconds: float) -> None:
        self.now += seconds
        while self.later and self.later[0][0] <= self.now:
            self.later.pop(0)[1]()
        self.show()
        if self.now > self._end:
            raise OverError
        await asyncio.sleep(0)

    def show(self) -> None:
        """Let the cache see what the API server stores."""
        for obj in self.server.objects.values():
            self.zones.put(msgspec.convert(obj, PodObject))

    async def run(self, seconds: float = LONG_S) -> None:
        self.show()
        self._end = self.now + seconds
        with pytest.raises(OverError):
            await self.repair.work()


def costs(**ranks: int) -> dict[str, str | None]:
    return {name: str(cost_of_rank(rank)) for name, rank in ranks.items()}

"""Ranks are corrected once a workload has settled, and never against another client."""

import asyncio
import io
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from tests.apiserver import ApiServer, Behavior, Request, refuse, respond
from tests.background import working
from tests.cluster.objects import labelled_pod
from tests.cluster.zones import Zones
from tests.server.serving import logged, server_context, settled
from webhook.cluster.pods import PodStore
from webhook.cluster.protocol import FailureReason, Response
from webhook.cluster.wire import PodObject
from webhook.errors import ApiError
from webhook.policy.scaledown.corrections import CONTESTED
from webhook.policy.scaledown.ranks import DELETION_COST, cost_of_rank
from webhook.server import repair
from webhook.server.election import Clocks
from webhook.server.events import EventRecorder
from webhook.server.repair import RankRepair, RepairObservers

PODS = "/api/v1/namespaces/shop/pods"
LONG_S = 60.0  # more than any workload needs to settle and to be corrected


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
        self.repair = RankRepair(
            self.server,
            self.find_pods,
            Clocks(lambda: self.now, lambda: datetime(2026, 1, 2, tzinfo=UTC), self.wait),
            RepairObservers(context.metrics, context.log, self.events if with_events else None),
            most_remembered,
        )

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
    ) -> None:
        """Store a pod; ``cost`` is written by another client."""
        pod = labelled_pod(name, node, rank=rank, controller=controller)
        if cost:
            pod["metadata"]["annotations"][DELETION_COST] = cost
        self.server.put(f"{PODS}/{name}", pod)

    def delete(self, name: str) -> None:
        del self.server.objects[f"{PODS}/{name}"]
        self.zones.pods.remove("shop", name)

    @property
    def costs(self) -> dict[str, str | None]:
        return {
            obj["metadata"]["name"]: obj["metadata"]["annotations"].get(DELETION_COST)
            for obj in self.server.objects.values()
        }

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


async def test_ranks_are_corrected_with_preconditions() -> None:
    run = RepairRun(p=("a1", 1), q=("a2", 1), r=("a2", 6), s=("b1", 0))

    await run.run()

    assert run.costs == costs(p=1, q=2, r=3, s=1)
    metadata = [write.content["metadata"] for write in run.server.writes]
    assert {write.path for write in run.server.writes} == {f"{PODS}/{name}" for name in "qrs"}
    assert all(one["uid"] and one["resourceVersion"] for one in metadata)
    assert {reason: run.count(reason) for reason in ("duplicate", "gap", "unranked")} == {
        "duplicate": 1,
        "gap": 1,
        "unranked": 1,
    }


async def test_a_workload_that_changes_is_left_until_it_has_settled() -> None:
    run = RepairRun(p=("a1", 3))
    run.later = [(4, lambda: run.put("q", rank=7))]

    await run.run(repair.SETTLED_S + 1)
    assert not run.server.writes
    await run.run()
    assert run.costs == costs(p=1, q=2)


async def test_at_most_ten_are_written_a_second() -> None:
    run = RepairRun()
    for i in range(25):
        run.put(f"p{i:02}")
    times: list[float] = []

    def note(request: Request) -> None:
        if request.method == "PATCH":
            times.append(run.now)

    run.server.faults.append(note)
    await run.run()

    assert len(times) == 25
    assert all(late - early >= 0.99 for early, late in zip(times, times[10:], strict=False))


async def test_nothing_is_corrected_while_it_is_off() -> None:
    run = RepairRun(p=("a1", 3))
    run.is_on = False

    await run.run()
    assert not run.server.requests

    run.is_on = True
    await run.run()
    assert run.costs == costs(p=1)


async def test_a_cost_that_another_client_writes_twice_is_left_and_reported() -> None:
    run = RepairRun(p=("a1", 1), q=("a2", 2))
    run.later = [(time, lambda: run.put("q", "a2", cost="7")) for time in (2, 20, 40)]
    await run.run(30)

    assert run.costs == {**costs(p=1), "q": "7"}
    assert run.count("foreign-cost") == 1
    assert run.count(CONTESTED) == 1
    (line,) = run.log
    assert "another client writes the deletion cost of pod shop/q too" in line["message"]

    run.put("r", "a2", rank=9)
    await run.run()
    assert run.costs == {**costs(p=1, r=2), "q": "7"}
    assert run.count(CONTESTED) == 1


async def test_a_contested_pod_is_an_event() -> None:
    run = RepairRun(with_events=True, p=("a1", 2))
    run.later = [(time, lambda: run.put("p", cost="7")) for time in (20, 40)]
    await run.run()

    async with working(run.events.run()):
        await settled(lambda: run.server.requests[-1].path.endswith("/events"))
    assert run.server.requests[-1].content["reason"] == "RanksContested"


CHANGED = labelled_pod("p", "a1", rank=2)
CHANGED["metadata"] |= {"uid": "1", "resourceVersion": "9"}

# answers to the first requests, what is written then
REFUSALS: dict[str, tuple[tuple[Response | None, ...], bool]] = {
    "the pod has gone": ((refuse("no", 404),), False),
    "the pod has another rank by now": (
        (respond(CHANGED),),
        False,
    ),
    "the pod was changed meanwhile": ((None, refuse("conflict", 409)), True),
    "the pod was deleted meanwhile": ((None, refuse("no", 404)), True),
}


@pytest.mark.parametrize(("answers", "tried"), REFUSALS.values(), ids=REFUSALS)
async def test_a_pod_that_has_changed_is_left_alone(
    answers: tuple[Response | None, ...], tried: bool
) -> None:
    run = RepairRun(p=("a1", 3))
    run.server.script(f"{PODS}/p", *answers)

    await run.run(repair.SETTLED_S + 1)

    assert bool(run.server.writes) is tried
    assert run.costs == costs(p=3)
    assert not run.log


LATER = Response(429, b"", {"retry-after": ("20",)})
SILENT = ApiError("api", "gave no answer in time", FailureReason.SILENT)

# answers to the first requests for a pod, and the seconds after which it is tried again
FAILURES: dict[str, tuple[tuple[Behavior, ...], float]] = {
    "too many requests": ((LATER,), 20),
    "too many requests at the write": ((None, LATER), 20),
    "a timeout": ((SILENT,), repair.SETTLED_S),
    "a timeout of the write": ((None, SILENT), repair.SETTLED_S),
    "a server error": ((refuse("broken", 500),), repair.SETTLED_S),
    "an unavailable server": ((refuse("starting", 503),), repair.SETTLED_S),
    "a refusal": ((None, refuse("by a policy", 403)), repair.REFUSED_S),
}


@pytest.mark.parametrize(("answers", "seconds"), FAILURES.values(), ids=FAILURES)
async def test_a_failed_correction_is_tried_again(
    answers: tuple[Behavior, ...], seconds: float
) -> None:
    run = RepairRun(p=("a1", 3))
    run.server.script(f"{PODS}/p", *answers)

    await run.run(repair.SETTLED_S + seconds - 1)
    assert len(run.server.requests) == len(answers)
    await run.run(repair.ROUND_S)
    assert run.costs == costs(p=1)


@pytest.mark.parametrize(("answers", "_"), FAILURES.values(), ids=FAILURES)
async def test_other_workloads_are_corrected_after_a_failure(
    answers: tuple[Behavior, ...], _: float
) -> None:
    run = RepairRun(p=("a1", 3))
    run.put("q", rank=3, controller="u2")
    run.server.script(f"{PODS}/p", *answers * 2)

    await run.run(repair.SETTLED_S + 25)

    assert run.costs["q"] == str(cost_of_rank(1))


async def test_an_overloaded_server_is_left_alone() -> None:
    run = RepairRun(p=("a1", 3))
    run.put("q", rank=3, controller="u2")
    run.server.faults.append(lambda _request: LATER)

    await run.run(repair.SETTLED_S + 19)

    assert len(run.server.requests) == 1


async def test_failures_are_at_most_ten_a_second() -> None:
    run = RepairRun()
    for i in range(100):
        run.put(f"p{i:02}", rank=3, controller=f"u{i}")
    run.server.faults.append(lambda _request: refuse("forbidden", 403))

    await run.run(repair.SETTLED_S + 5)

    assert 40 <= len(run.server.requests) <= 51


async def test_a_workload_that_has_gone_is_not_tried_again() -> None:
    run = RepairRun(p=("a1", 3))
    run.server.faults.append(lambda _request: refuse("broken", 500))
    run.later = [(7, lambda: run.delete("p"))]

    await run.run()

    assert len(run.server.requests) == 1


async def test_a_lost_lease_ends_a_round_and_the_next_holder_continues() -> None:
    run = RepairRun(p=("a1", 3), q=("a1", 5), r=("a1", 7))
    lost = asyncio.Event()

    async def lose(_request: Request) -> None:
        lost.set()
        await asyncio.Event().wait()

    run.server.script(f"{PODS}/p", None, lose)
    async with working(run.run()):
        await lost.wait()
    assert run.costs == costs(p=3, q=5, r=7)

    await run.run(repair.ROUND_S)
    assert run.costs == costs(p=1, q=2, r=3)


PROBLEMS: dict[str, tuple[Response, str]] = {
    "a missing right": (refuse("forbidden", 403), "answered 403"),
    "no pod": (Response(200, b"1"), "answered with no pod"),
}


@pytest.mark.parametrize(("answer", "words"), PROBLEMS.values(), ids=PROBLEMS)
async def test_a_problem_is_reported_once(answer: Response, words: str) -> None:
    run = RepairRun(p=("a1", 3))
    run.put("q", rank=3, controller="u2")
    run.server.faults.append(lambda _request: answer)

    await run.run(2 * repair.REFUSED_S)

    (line,) = run.log
    assert line["message"].startswith("ranks cannot be corrected: ")
    assert words in line["message"]

    run.server.faults.clear()
    await run.run(2 * repair.REFUSED_S)
    assert run.costs == costs(p=1, q=1)
    assert len(run.log) == 1


async def test_a_problem_that_returns_is_reported_again() -> None:
    run = RepairRun(p=("a1", 3))
    run.server.script(f"{PODS}/p", refuse("broken", 500))
    run.later = [(20, lambda: run.put("p", rank=3))]
    await run.run()
    run.server.script(f"{PODS}/p", refuse("broken", 500))
    run.put("p", rank=3)
    await run.run()

    assert len(run.log) == 2


async def test_a_pod_that_replaced_a_contested_one_is_corrected() -> None:
    run = RepairRun(p=("a1", 3))
    run.later = [(time, lambda: run.put("p", cost="7")) for time in (20, 40)]
    await run.run()
    assert run.count(CONTESTED) == 1

    run.delete("p")
    run.put("p", rank=5)
    await run.run()
    assert run.costs == costs(p=1)


async def test_a_pod_that_replaced_a_corrected_one_is_not_contested() -> None:
    run = RepairRun(p=("a1", 3))
    run.later = [(20, lambda: run.delete("p")), (20, lambda: run.put("p", cost="7"))]

    await run.run()

    assert run.costs == costs(p=1)
    assert run.count(CONTESTED) == 0


async def test_the_oldest_corrections_are_forgotten() -> None:
    run = RepairRun(1, p=("a1", 0), q=("a2", 0))
    run.later = [(20, lambda: run.put("p", cost="7"))]

    await run.run()

    assert run.costs == costs(p=2, q=1)

"""Ranks are corrected once a workload has settled, and no pod or tenant delays the others."""

import asyncio

import pytest

from tests.apiserver import Behavior, Request, refuse
from tests.background import working
from tests.server.repairing import RepairRun, costs, path_of
from webhook.cluster.protocol import FailureReason, Response
from webhook.errors import ApiError
from webhook.policy.scaledown.ranks import cost_of_rank
from webhook.server import repair


async def test_ranks_are_corrected_with_preconditions() -> None:
    run = RepairRun(p=("a1", 1), q=("a2", 1), r=("a2", 6), s=("b1", 0))

    await run.run()

    assert run.costs == costs(p=1, q=2, r=3, s=1)
    metadata = [write.content["metadata"] for write in run.server.writes]
    assert {write.path for write in run.server.writes} == {path_of(name) for name in "qrs"}
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


WRITES: dict[str, Response | None] = {
    "stored": None,
    "a conflict": refuse("changed", 409),
    "no pod": refuse("no", 404),
}


@pytest.mark.parametrize("answer", WRITES.values(), ids=WRITES)
async def test_at_most_ten_are_written_a_second(answer: Response | None) -> None:
    run = RepairRun()
    for i in range(25):
        run.put(f"p{i:02}")
        run.server.answers[f"PATCH {path_of(f'p{i:02}')}"] = answer
    times: list[float] = []

    def note(request: Request) -> None:
        if request.method == "PATCH":
            times.append(run.now)

    run.server.faults.append(note)
    await run.run(repair.SETTLED_S + 4)

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
    run.server.script(path_of("p"), *answers)

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
    run.server.script(path_of("p"), *answers * 2)

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


async def test_a_pod_that_cannot_be_corrected_does_not_stop_those_of_its_workload() -> None:
    run = RepairRun()
    for i in range(9):
        run.put(f"p{i}")
    for i in (2, 5):
        run.server.answers[f"PATCH {path_of(f'p{i}')}"] = refuse("by a policy", 403)

    await run.run(3 * repair.REFUSED_S)

    assert [name for name, cost in run.costs.items() if cost is None] == ["p2", "p5"]


async def test_an_unreadable_pod_does_not_pause_other_workloads() -> None:
    run = RepairRun()
    for i in range(40):
        run.put(f"p{i}", rank=5, controller=f"u{i}")
        run.server.answers[f"GET {path_of(f'p{i}')}"] = Response(200, b"1")
    run.put("q", rank=5, controller="v")

    await run.run(repair.SETTLED_S + 6)

    assert run.costs["q"] == str(cost_of_rank(1))


async def test_a_workload_waits_for_one_correction_of_each_other_one() -> None:
    run = RepairRun(5_000)
    for i in range(1_000):
        run.put(f"p{i:03}", rank=i + 2)
    for i in range(20):
        run.put(f"q{i}", rank=5, controller=f"v{i}")

    await run.run(repair.SETTLED_S + 4)

    assert all(run.costs[f"q{i}"] == str(cost_of_rank(1)) for i in range(20))
    assert len(run.patches) >= 35


async def test_a_namespace_waits_for_one_correction_of_each_other_one() -> None:
    run = RepairRun(5_000)
    for i in range(1_000):
        run.put(f"p{i:03}", rank=5, controller=f"u{i}")
    run.put("q", rank=5, namespace="else")

    await run.run(repair.SETTLED_S + 2)

    assert run.costs["q"] == str(cost_of_rank(1))


async def test_a_workload_that_fails_again_is_left_for_longer() -> None:
    """An API server that gives no answer pauses all: one workload must not cause it again soon."""
    run = RepairRun(p=("a1", 3))
    run.server.answers[f"PATCH {path_of('p')}"] = refuse("webhook fails", 500)

    await run.run(2 * repair.SETTLED_S + repair.REFUSED_S - 1)

    assert len(run.patches) == 2


async def test_a_correction_that_conflicts_is_tried_again() -> None:
    run = RepairRun(p=("a1", 3))
    run.server.script(path_of("p"), None, refuse("changed", 409))

    await run.run()

    assert run.costs == costs(p=1)


async def test_a_lost_lease_ends_a_round_and_the_next_holder_continues() -> None:
    run = RepairRun(p=("a1", 3), q=("a1", 5), r=("a1", 7))
    lost = asyncio.Event()

    async def lose(_request: Request) -> None:
        lost.set()
        await asyncio.Event().wait()

    run.server.script(path_of("p"), None, lose)
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
    run.server.script(path_of("p"), refuse("broken", 500))
    run.later = [(20, lambda: run.put("p", rank=3))]
    await run.run()
    run.server.script(path_of("p"), refuse("broken", 500))
    run.put("p", rank=3)
    await run.run()

    assert len(run.log) == 2

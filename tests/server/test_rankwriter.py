"""Corrections of ranks are written with preconditions, and never twice against another client."""

import copy
import json

import pytest

from tests.apiserver import Request, refuse, respond
from tests.background import working
from tests.cluster.objects import labelled_pod
from tests.server.repairing import RepairRun, costs, path_of
from tests.server.serving import settled
from webhook.cluster.protocol import Response
from webhook.policy.scaledown.corrections import CONTESTED
from webhook.policy.scaledown.ranks import DELETION_COST, annotate_rank
from webhook.server import repair


@pytest.mark.parametrize("cost", ["7", "0", "1000", "-1000", "10000", "999000"])
async def test_a_cost_that_another_client_writes_twice_is_left_and_reported(cost: str) -> None:
    run = RepairRun(p=("a1", 1), q=("a2", 2))
    run.later = [
        (time, lambda: run.annotate("q", {DELETION_COST: cost})) for time in range(2, 400, 20)
    ]
    await run.run(400)

    assert run.costs == {**costs(p=1), "q": cost}
    assert run.patches == ["q"]
    assert run.count("foreign-cost") == 1
    assert run.count(CONTESTED) == 1
    (line,) = run.log
    assert "another client writes the deletion cost of pod shop/q too" in line["message"]

    run.put("r", "a2", rank=9)
    await run.run()
    assert run.costs == {**costs(p=1, r=2), "q": cost}
    assert run.count(CONTESTED) == 1


async def test_a_rank_that_another_client_writes_twice_is_left_and_reported() -> None:
    """It writes both annotations, so that the cost looks like one of ours."""
    run = RepairRun(p=("a1", 1), q=("a2", 2))
    forged = annotate_rank(500)
    run.later = [(time, lambda: run.annotate("q", forged)) for time in range(2, 400, 20)]

    await run.run(400)

    assert run.costs == costs(p=1, q=500)
    assert run.patches == ["q"]

    run.put("r", "a2", rank=9)
    await run.run()
    assert run.costs == costs(p=1, q=500, r=2)
    assert (run.count(CONTESTED), len(run.log)) == (1, 1)


async def test_a_removed_cost_is_contested_too() -> None:
    run = RepairRun(p=("a1", 2))
    run.later = [(20, lambda: run.put("p"))]
    await run.run()

    assert (run.costs, run.count(CONTESTED)) == ({"p": None}, 1)


async def test_a_rank_that_changes_twice_is_corrected_twice() -> None:
    """Pods that go change the ranks of others: that is no contest."""
    run = RepairRun(p=("a1", 2), q=("a1", 4), r=("a1", 6))
    run.later = [(20, lambda: run.delete("p")), (40, lambda: run.delete("q"))]

    await run.run(80)

    assert run.costs == costs(r=1)
    assert (run.patches, run.count(CONTESTED)) == (["p", "q", "r", "q", "r", "r"], 0)


@pytest.mark.parametrize("stored", [False, True], ids=["lost", "stored"])
async def test_a_write_without_a_response_is_no_contest(stored: bool) -> None:
    run = RepairRun(p=("a1", 2), q=("a1", 4))
    patch = f"PATCH {path_of('q')}"

    async def fail(request: Request) -> Response:
        if stored:
            run.server.respond(request)
        return refuse("broken", 500)

    run.later = [
        (20, lambda: run.server.answers.update({patch: fail})),
        (20, lambda: run.delete("p")),
        (27, run.server.answers.clear),
        (40, lambda: run.put("o", rank=0)),
        (60, lambda: run.delete("o")),
    ]
    await run.run(100)

    assert (run.costs, run.count(CONTESTED)) == (costs(q=1), 0)


async def test_what_another_replica_writes_meanwhile_is_no_contest() -> None:
    run = RepairRun(p=("a1", 2))
    await run.run()
    run.annotate("p", annotate_rank(7))  # with other pods, which have gone
    await run.run()

    assert (run.costs, run.count(CONTESTED)) == (costs(p=1), 0)


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
    run.server.script(path_of("p"), *answers)

    await run.run(repair.SETTLED_S + 1)

    assert bool(run.server.writes) is tried
    assert run.costs == costs(p=3)
    assert not run.log


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


async def test_a_pod_of_any_depth_is_corrected() -> None:
    run = RepairRun(p=("a1", 3))
    pod = copy.deepcopy(run.server.objects[path_of("p")])
    pod["metadata"]["managedFields"] = ["HERE"]
    nested = '{"f:a":' * 9_000 + "1" + "}" * 9_000
    body = json.dumps(pod).replace('"HERE"', nested).encode()
    run.server.answers[f"GET {path_of('p')}"] = Response(200, body)

    await run.run(repair.SETTLED_S + 1)

    assert run.costs == costs(p=1)


PROBLEMS: dict[str, tuple[Response, str]] = {
    "no pod": (Response(200, b"{}"), "answered with no pod"),
    "a missing right": (refuse("forbidden", 403), "answered 403"),
}


@pytest.mark.parametrize(("answer", "words"), PROBLEMS.values(), ids=PROBLEMS)
async def test_a_pod_that_cannot_be_read_is_reported(answer: Response, words: str) -> None:
    run = RepairRun(p=("a1", 3))
    run.server.answers[f"GET {path_of('p')}"] = answer

    await run.run()

    assert words in run.log[0]["message"]
    assert not run.server.writes


async def test_the_oldest_corrections_are_forgotten() -> None:
    run = RepairRun(1, p=("a1", 0), q=("a2", 0))
    run.later = [(20, lambda: run.put("p", cost="7"))]

    await run.run()

    assert run.costs == costs(p=2, q=1)

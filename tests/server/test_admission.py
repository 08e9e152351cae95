"""The admission server, called as API servers call it."""

import asyncio
import base64
import inspect
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import jsonpatch
import pytest
from aiohttp import web

from tests.server.serving import (
    JSON,
    RECORDED,
    UID,
    Gate,
    broken_review,
    call,
    client_tls,
    only_connection,
    review,
    serving,
    settled,
)
from tests.server.test_clients import GOOD, MISNAMED, client, guarding
from webhook.policy.facts import Facts, NoFacts
from webhook.policy.request import AdmissionRequest, AnyHook
from webhook.policy.verdict import Verdict
from webhook.server.admission import HOOK_PATHS
from webhook.server.http.limits import Limits
from webhook.telemetry.metrics import Metrics


async def test_a_review_is_answered_with_its_uid_on_a_connection_that_stays() -> None:
    async with serving() as server:
        wire = await server.connect()

        first = await wire.ask(call(review("one")))
        second = await wire.ask(call(review("two"), "/validate?timeout=30s"))

    assert (first.status, first.response["uid"]) == (200, "one")
    assert (second.status, second.response["uid"]) == (200, "two")
    assert second.response["allowed"] is True
    assert second.headers["content-type"] == "application/json"
    assert not first.closes


async def test_a_denial_is_an_answer_and_a_line_in_the_log() -> None:
    async with serving() as server:
        wire = await server.connect()

        reply = await wire.ask(call(broken_review()))

    assert reply.status == 200
    assert reply.response["allowed"] is False
    assert reply.response["status"]["code"] == 422
    (line,) = server.lines
    assert (line["event"], line["uid"], line["level"]) == ("denied", UID, "info")
    labels = {"hook": "mutate", "kind": "Pod", "operation": "CREATE", "verdict": "deny"}
    labels["dry_run"] = "false"
    assert server.value("admission_requests_total", **labels) == 1


async def test_an_allowed_review_is_not_logged() -> None:
    async with serving() as server:
        wire = await server.connect()

        await wire.ask(call(review()))

    assert server.lines == []


@pytest.mark.parametrize("target", HOOK_PATHS)
@pytest.mark.parametrize("text", RECORDED.values(), ids=RECORDED)
async def test_a_recorded_review_is_answered(text: bytes, target: str) -> None:
    recorded = json.loads(text)
    body = json.dumps(recorded["review"], separators=(",", ":")).encode()
    headers = {**recorded["http"]["headers"], **JSON}
    async with serving() as server:
        wire = await server.connect()

        reply = await wire.ask(call(body, f"{target}?timeout=10s", headers=headers))
        response = reply.response
        request = recorded["review"]["request"]
        if "patch" in response:
            patch = jsonpatch.JsonPatch.from_string(base64.b64decode(response["patch"]).decode())
            request["object"] = patch.apply(request["object"])
        again = await wire.ask(call(json.dumps(recorded["review"]).encode(), target))

    assert reply.status == 200
    assert response["uid"] == request["uid"]
    assert response["allowed"] or response["status"]["code"] == 422
    assert response["allowed"] or response["status"]["details"]["causes"]
    assert response["allowed"] or "patch" not in response
    assert target == "/mutate" or "patch" not in response
    assert "patch" not in again.response


def test_all_reviews_were_recorded() -> None:
    assert len(RECORDED) == 38


async def test_reviews_that_are_sent_ahead_are_answered_in_order() -> None:
    async with serving() as server:
        wire = await server.connect()
        wire.send(b"".join(call(review(f"n{i}")) for i in range(100)))

        replies = [await wire.reply() for _ in range(100)]

    assert [reply.response["uid"] for reply in replies] == [f"n{i}" for i in range(100)]


async def test_a_probe_is_answered_with_the_name_of_the_replica_alone_and_counted() -> None:
    pod = json.loads(broken_review())["request"]["object"]
    pod["metadata"]["labels"] = {"evenspread.io/probe": "true"}
    async with serving() as server:
        wire = await server.connect()

        reply = await wire.ask(call(review(object=pod, dryRun=True)))
        real = await wire.ask(call(review(object=pod, dryRun=False)))

    assert reply.response == {
        "uid": UID,
        "allowed": True,
        "warnings": ["evenspread 0.1.0 replica-1 answered"],
    }
    assert not real.response["allowed"]
    about = {"hook": "mutate", "kind": "Pod", "operation": "CREATE"}
    dry, stored = {**about, "dry_run": "true"}, {**about, "dry_run": "false"}
    assert server.value("admission_requests_total", **dry, verdict="allow") == 1
    assert server.value("admission_requests_total", **stored, verdict="deny") == 1


async def test_http_1_0_is_answered_and_closed() -> None:
    async with serving() as server:
        wire = await server.connect()

        reply = await wire.ask(call(review(), version="1.0"))
        rest = await wire.ended()

    assert reply.status == 200
    assert rest == b""


async def test_a_connection_is_closed_at_the_request_of_the_caller() -> None:
    async with serving() as server:
        wire = await server.connect()

        reply = await wire.ask(call(review(), headers={**JSON, "Connection": "close"}))
        rest = await wire.ended()

    assert reply.closes
    assert rest == b""


async def test_a_draining_server_ends_connections_with_their_next_reply() -> None:
    async with serving() as server:
        wire = await server.connect()
        await wire.ask(call(review()))
        server.admission.draining = True

        reply = await wire.ask(call(review()))
        rest = await wire.ended()

    assert reply.status == 200
    assert reply.closes
    assert rest == b""


def broken_clock() -> datetime:
    raise LookupError("canary")


class BrokenMetrics(Metrics):
    """Cannot count."""

    def count_review(
        self, request: AdmissionRequest, hook: AnyHook, verdict: Verdict, seconds: float
    ) -> None:
        raise LookupError("canary")


async def test_a_verdict_that_cannot_be_logged_is_answered() -> None:
    async with serving(wall=broken_clock) as server:
        wire = await server.connect()

        reply = await wire.ask(call(broken_review()))

    assert (reply.status, reply.response["allowed"]) == (200, False)
    assert server.value("telemetry_failures_total") == 1
    assert [(line["event"], line["uid"]) for line in server.lines] == [("bug", UID)]
    assert server.rejected("bug") == 0


async def test_a_verdict_that_cannot_be_counted_is_answered() -> None:
    limits = Limits(refusals_logged=2)
    async with serving(limits, metrics=BrokenMetrics()) as server:
        wire = await server.connect()

        replies = [await wire.ask(call(review())) for _ in range(20)]

    assert {reply.status for reply in replies} == {200}
    assert server.value("telemetry_failures_total") == 20
    assert 0 < len(server.lines) < 20


async def test_a_bug_is_a_500_and_its_uid_is_in_the_log_alone() -> None:
    def fail(*_: object) -> None:
        raise LookupError("canary from the body")

    async with serving(fetch=fail) as server:
        wire = await server.connect()

        reply = await wire.ask(call(review()))
        after = await wire.ask(call(review()))

    assert reply.status == after.status == 500
    assert b"Traceback" not in reply.body
    assert b"canary" not in reply.body
    assert "canary" not in server.log_text
    bugs = [line for line in server.lines if line["event"] == "bug"]
    assert [bug["uid"] for bug in bugs] == [UID, UID]
    assert bugs[0]["error"] == "LookupError"
    assert bugs[0]["at"][-1].endswith(" fail")
    assert server.rejected("bug") == 2


async def test_no_reply_names_a_version() -> None:
    targets = {"/mutate": review(), "/nothing": b"", "/validate": b"{"}
    async with serving() as server:
        replies = []
        for target, body in targets.items():
            wire = await server.connect()
            replies.append(await wire.ask(call(body, target)))
        broken = await server.connect()
        replies.append(await broken.ask(b"BROKEN\r\n\r\n"))

    assert [reply.headers["server"] for reply in replies] == ["evenspread"] * 4
    assert [reply.status for reply in replies] == [200, 404, 400, 400]


async def test_the_grounds_can_be_replaced_between_two_calls() -> None:
    async with serving() as server:
        wire = await server.connect()
        before = await wire.ask(call(broken_review()))
        policy = server.admission.context.policy
        relaxed = type(policy)(gates=policy.gates, mode=type(policy.mode)("recommend"))
        server.admission.context = server.admission.context._replace(policy=relaxed)

        after = await wire.ask(call(broken_review()))

    assert before.response["allowed"] is False
    assert after.response["allowed"] is True


async def test_a_client_that_goes_in_the_middle_of_a_body_leaves_nothing_behind() -> None:
    async with serving() as server:
        wire = await server.connect(client_tls())
        wire.send(call(review())[:-10])
        await settled(lambda: server.value("body_bytes") > 0)

        wire.writer.transport.abort()
        await settled(lambda: server.rejected("disconnected") == 1)

    assert "Traceback" not in server.log_text


async def test_a_client_that_goes_before_its_answer_leaves_nothing_behind() -> None:
    gone = asyncio.Event()

    async def wait(*_: object) -> Facts:
        await gone.wait()
        return NoFacts()

    async with serving(fetch=wait) as server:
        wire = await server.connect()
        wire.send(call(review()))
        await settled(lambda: server.admission.in_flight == 1)

        wire.writer.transport.abort()
        await settled(lambda: len(server.admission.callers) == 0)
        gone.set()
        await settled(lambda: server.admission.in_flight == 0)

    assert "Traceback" not in server.log_text
    assert server.rejected("bug") == 0


async def test_a_fault_outside_of_a_review_is_a_500_too() -> None:
    async with serving() as server:
        server.admission.request_handler = fail
        wire = await server.connect()

        reply = await wire.ask(call(review(), "/elsewhere"))
        rest = await wire.ended()

    assert (reply.status, reply.body) == (500, b"a fault in the server\n")
    assert rest == b""
    assert [line["event"] for line in server.lines] == ["rejected", "bug"]
    assert "canary" not in server.log_text


async def fail(_request: web.BaseRequest) -> web.StreamResponse:
    raise LookupError("canary")


@pytest.mark.parametrize("is_coroutine", [True, False])
async def test_a_client_that_leaves_at_once_leaves_no_wait_behind(is_coroutine: bool) -> None:
    future = asyncio.get_running_loop().create_future()
    gate, waits = Gate(), list[Any]()

    def fetch(*_: object) -> Any:
        waits.append(gate.wait() if is_coroutine else future)
        return waits[-1]

    async with serving(fetch=fetch) as server:
        wire = await server.connect()
        await wire.ask(call(b""))
        connection = only_connection(server)

        connection.data_received(call(review()))
        connection.connection_lost(None)
        closed = is_coroutine and inspect.getcoroutinestate(waits[0])
        gate.opened.set()
        future.set_result(NoFacts())

    assert closed == (inspect.CORO_CLOSED if is_coroutine else False)


async def test_bodies_are_never_logged() -> None:
    canary = "canary-7f3a"
    bodies = [
        review(object={"kind": "Pod", "spec": {"containers": [{"env": [{"value": canary}]}]}}),
        canary.encode(),
        b'{"kind": "' + canary.encode() + b'"}',
        review(object=canary),
    ]
    async with serving() as server:
        wire = await server.connect()
        replies = [await wire.ask(call(body)) for body in bodies]
        broken = await wire.ask(canary.encode() + b"\r\n\r\n")

    assert canary not in server.log_text
    assert all(canary.encode() not in reply.body for reply in (*replies, broken))


async def test_a_long_review_is_judged_in_the_thread() -> None:
    body = broken_review() + b" " * Limits().long_review
    async with serving() as server:
        wire = await server.connect()

        reply = await wire.ask(call(body))

    assert reply.response["allowed"] is False


async def test_a_client_with_a_required_name_is_served(tmp_path: Path) -> None:
    async with guarding() as (server, _):
        wire = await server.connect(client(tmp_path, GOOD))

        reply = await wire.ask(call(review()))

    assert reply.status == 200


async def test_a_client_without_a_required_name_is_refused(tmp_path: Path) -> None:
    async with guarding() as (server, _):
        wire = await server.connect(client(tmp_path, MISNAMED))

        reply = await wire.ask(call(review()))

    assert (reply.status, reply.closes) == (403, True)


async def test_a_connection_that_never_became_a_request_is_counted() -> None:
    async with serving() as server:
        wire = await server.plain()

        await wire.send(call(review())).ended()

    assert server.rejected("handshake") == 1

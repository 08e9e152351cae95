"""Requests that are answered when they are read, and those that have to wait for a task."""

import asyncio
import json
from functools import partial
from typing import Any

import pytest

from tests.server.serving import (
    CHUNKED,
    JSON,
    RECORDED,
    Gate,
    Reply,
    Running,
    Wire,
    broken_review,
    call,
    head,
    only_connection,
    padded,
    review,
    serving,
    settled,
)
from webhook.policy.facts import NoFacts
from webhook.server.health import Health
from webhook.server.http.endpoint import HttpConnection
from webhook.server.http.limits import Limits
from webhook.server.http.listener import bind, listening
from webhook.telemetry.metrics import Metrics


def by_tasks(server: Running) -> int:
    """How many requests a task of aiohttp has answered."""
    return server.admission.requests_count


async def send_in_parts(server: Running, wire: Wire, *parts: bytes) -> None:
    """Send data so that the server reads each part for itself."""
    connection = only_connection(server)
    for part in parts:
        before = connection.received
        wire.send(part)
        await settled(partial(_has_received, connection, before))


def _has_received(connection: HttpConnection, since: float) -> bool:
    return connection.received > since


def shown(reply: Reply) -> tuple[int, dict[str, str], bytes]:
    return reply.status, {**reply.headers, "date": "", "etag": ""}, reply.body


BODIES = {
    "allowed": review(),
    "denied": broken_review(),
    **{name: json.dumps(json.loads(text)["review"]).encode() for name, text in RECORDED.items()},
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
@pytest.mark.parametrize("path", ["/mutate", "/validate"])
async def test_a_task_gives_the_same_answer(path: str, body: bytes) -> None:
    data = call(body, path)
    async with serving() as server:
        wire = await server.connect()

        at_once = await wire.ask(data)
        tasks = by_tasks(server)
        await send_in_parts(server, wire, data[:-1], data[-1:])
        awaited = await wire.reply()
        all_tasks = by_tasks(server)

    assert (tasks, all_tasks) == (0, 1)
    assert shown(at_once) == shown(awaited)


async def test_requests_may_be_cut_anywhere() -> None:
    data = call(review()) + call(b"{") + call(broken_review(), "/validate")
    async with serving() as server:
        wire = await server.connect()
        await wire.ask(call(review()))  # the server has finished the handshake
        answers = set[tuple[tuple[int, bytes], ...]]()

        for cut in range(1, len(data), 7):
            await send_in_parts(server, wire, data[:cut], data[cut:])
            replies = [await wire.reply() for _ in range(3)]
            answers.add(tuple((reply.status, reply.body) for reply in replies))

    (found,) = answers
    assert [status for status, _ in found] == [200, 400, 200]


async def test_several_requests_in_one_piece_are_answered_in_their_order() -> None:
    uids = [f"{number:08}" for number in range(20)]
    async with serving() as server:
        wire = await server.connect()
        wire.send(b"".join(call(review(uid)) for uid in uids))

        replies = [await wire.reply() for _ in uids]

    assert [reply.response["uid"] for reply in replies] == uids


STRAYS = {
    "closes": ({**JSON, "Connection": "close"}, "1.1", 200),
    "old": (JSON, "1.0", 200),
    "upgrade": ({**JSON, "Connection": "upgrade", "Upgrade": "websocket"}, "1.1", 200),
    "broken framing": ({**JSON, "Transfer-Encoding": "chunked"}, "1.1", 400),
    "encoded": ({**JSON, "Content-Encoding": "gzip"}, "1.1", 415),
}


@pytest.mark.parametrize(("headers", "version", "status"), STRAYS.values(), ids=STRAYS)
async def test_other_requests_are_left_to_a_task(
    headers: dict[str, str], version: str, status: int
) -> None:
    async with serving() as server:
        wire = await server.connect()

        reply = await wire.ask(call(review(), headers=headers, version=version))
        tasks = by_tasks(server)

    assert (reply.status, tasks) == (status, 1)


async def test_a_broken_request_is_reported_once() -> None:
    async with serving() as server:
        wire = await server.connect()

        replies = [await wire.ask(call(body)) for body in (b"{", review())]

    assert [reply.status for reply in replies] == [400, 200]
    assert server.rejected("malformed") == 1
    assert [line["event"] for line in server.lines].count("rejected") == 1


@pytest.mark.parametrize("awaitable", ["coroutine", "future"])
async def test_a_review_whose_facts_are_missing_waits_in_a_task(awaitable: str) -> None:
    gate = Gate()
    future = asyncio.get_running_loop().create_future()
    fetch = gate.wait if awaitable == "coroutine" else lambda *_: future
    async with serving(fetch=fetch) as server:
        wire, other = await server.connect(), await server.connect()
        wire.send(call(review()))
        refused = await other.ask(call(b"{"))
        waiting = server.admission.in_flight
        gate.opened.set()
        future.set_result(NoFacts())

        reply = await wire.reply()

    assert (refused.status, waiting, reply.status) == (400, 1, 200)


async def test_a_wait_begins_once_and_ends_with_the_answer() -> None:
    calls = list[float]()

    async def wait(_request: object, _policy: object, seconds: float) -> NoFacts:
        calls.append(seconds)
        return NoFacts()

    def fetch(*arguments: Any) -> Any:
        calls.append(0.0)
        return wait(*arguments)

    async with serving(fetch=fetch) as server:
        wire = await server.connect()

        replies = [await wire.ask(call(review(), "/mutate?timeout=4s")) for _ in range(2)]

    assert [reply.status for reply in replies] == [200, 200]
    assert calls == [0.0, 4.0] * 2


@pytest.mark.parametrize("number", [4096, 4097, 4098])
async def test_a_request_after_one_in_many_chunks_is_answered(number: int) -> None:
    body = padded(number)
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n"
    async with serving(Limits(body_read=5.0)) as server:
        wire = await server.connect()

        replies = [await wire.ask(head(headers=CHUNKED) + chunks)]
        replies += [await wire.ask(call(review())) for _ in range(2)]

    assert [reply.status for reply in replies] == [200, 200, 200]


async def test_a_connection_stays_open_as_long_as_answers_are_sent() -> None:
    async with serving(Limits(keep_alive=1.0)) as server:
        wire = await server.connect()
        loop = asyncio.get_running_loop()
        end, replies = loop.time() + 1.5, list[int]()

        while loop.time() < end:
            replies.append((await wire.ask(call(review()))).status)
        tasks, rest = by_tasks(server), await wire.ended()

    assert set(replies) == {200}
    assert (tasks, rest) == (0, b"")


async def test_a_client_that_does_not_read_is_not_answered_at_once() -> None:
    async with serving() as server:
        wire = await server.connect()
        await wire.ask(call(review()))
        connection = only_connection(server)
        connection.pause_writing()  # as the transport does when its buffer is full

        wire.send(call(review()))
        await settled(lambda: by_tasks(server) == 1)
        connection.resume_writing()
        reply = await wire.reply()

    assert reply.status == 200


async def test_requests_of_one_turn_have_waited_since_its_start() -> None:
    async with serving(Limits(queued=0.5)) as server:
        wires = [await server.connect() for _ in range(2)]
        for wire in wires:
            await wire.ask(call(review()))
        now = [server.admission.clock() + 10.0]
        server.admission.clock = lambda: now[0]
        busy = list[bool]()

        for _ in range(8):
            await asyncio.sleep(0)  # a new turn
            for connection in server.admission.connections:
                connection.data_received(call(review()))
                now[0] += 0.15  # the next one has waited for more than a quarter
            busy.append(server.admission.overload.busy)

    assert not busy[0]
    assert any(busy)


async def test_a_turn_starts_with_what_is_read_first() -> None:
    async with serving() as server:
        times = iter([1.0, 2.0])
        server.admission.clock = lambda: next(times)

        starts = [server.admission.turn_start() for _ in range(2)]
        await asyncio.sleep(0)
        starts.append(server.admission.turn_start())

    assert starts == [1.0, 1.0, 2.0]


async def test_a_stopping_server_closes_with_its_answer() -> None:
    async with serving() as server:
        wire = await server.connect()
        await wire.ask(call(review()))
        server.admission.draining = True

        reply, rest = await wire.ask(call(review())), await wire.ended()

    assert (reply.status, reply.closes, rest) == (200, True, b"")


async def test_a_body_that_is_too_large_for_an_answer_at_once_is_refused_by_a_task() -> None:
    body = review()
    async with serving(Limits(body=len(body) - 1)) as server:
        wire = await server.connect()

        reply = await wire.ask(call(body))

    assert reply.status == 413
    assert server.rejected("large-body") == 1


async def test_a_request_without_a_body_is_refused() -> None:
    async with serving() as server:
        wire = await server.connect()

        reply = await wire.ask(head(headers={**JSON, "Content-Length": "0"}))

    assert reply.status == 400


async def test_an_endpoint_may_leave_all_requests_to_tasks() -> None:
    health = Health(dict, Metrics(), Limits())
    sockets = bind("127.0.0.1", 0)
    async with listening(health, sockets):
        reader, writer = await asyncio.open_connection(*sockets[0].getsockname())
        wire = Wire(reader, writer)

        replies = [await wire.ask(call(b"", path, "GET", {})) for path in ("/livez", "/elsewhere")]
        await wire.close()

    assert [reply.status for reply in replies] == [200, 404]
    assert health.requests_count == 2

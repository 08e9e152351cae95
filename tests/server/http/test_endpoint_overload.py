"""How an overloaded server refuses requests, and which it serves."""

import asyncio
from functools import partial

import pytest

from tests.server.serving import JSON, Running, call, head, only_connection, review, serving
from webhook.server.http.limits import Limits


def busy(server: Running) -> None:
    """Let the server believe that all requests have waited for too long lately; stop its clock."""
    now = server.admission.clock() + 10.0
    for ago in (0.8, 0.4, 0.0):
        server.admission.overload.is_late(60.0, now - ago)
    server.admission.clock = lambda: now


async def test_an_overloaded_server_refuses_at_once_and_keeps_the_connection() -> None:
    async with serving(Limits(burst=0.0)) as server:
        wire = await server.connect()
        await wire.ask(call(review()))
        clock = server.admission.clock
        busy(server)
        refused = [await wire.ask(call(review())) for _ in range(3)]
        server.admission.clock = lambda: clock() + 20.0

        served = await wire.ask(call(review()))

    assert [reply.status for reply in refused] == [503] * 3
    assert {reply.headers["retry-after"] for reply in refused} == {"1"}
    assert {reply.body for reply in refused} == {b"busy (queued): call again in a second\n"}
    assert {reply.closes for reply in refused} == {False}
    assert served.status == 200
    assert server.rejected("queued") == 3


async def test_an_overloaded_server_refuses_a_request_that_comes_right_after_an_answer() -> None:
    async with serving(Limits(burst=0.0)) as server:
        wire = await server.connect()
        await wire.ask(call(review()))
        connection = only_connection(server)
        connection.data_received(call(review())[:-1])  # so that a task answers it
        connection.data_received(call(review())[-1:])
        connection.received = 0.0
        for _ in range(4):
            if not connection.received:  # set at the end of the answer
                await asyncio.sleep(0)
        busy(server)

        connection.data_received(call(review()))
        at_once = server.rejected("queued")

    assert at_once == 1


async def test_the_rest_of_a_refused_body_is_no_request_for_an_overloaded_server() -> None:
    rest = call(review())
    async with serving(Limits(burst=0.0, body=len(rest), discarded=0.3)) as server:
        wire = await server.connect()
        headers = {**JSON, "Content-Length": str(2 * len(rest))}
        refused = await wire.ask(head(headers=headers))
        busy(server)
        wire.send(rest)

        after = await wire.ended()

    assert (refused.status, after) == (413, b"")
    assert server.rejected("queued") == 0


async def test_an_overloaded_server_does_not_wait_for_the_rest_of_a_body() -> None:
    async with serving(Limits(burst=0.0, discarded=0.01)) as server:
        wire = await server.connect()
        await wire.ask(call(review()))
        busy(server)

        refused = await wire.ask(call(review())[:-1])
        rest = await wire.ended()

    assert (refused.status, refused.headers["retry-after"], rest) == (503, "1", b"")


INVALID = {
    "another path": call(review(), "/nowhere"),
    "another media type": call(review(), headers={"Content-Type": "text/plain"}),
    "no POST": call(review(), method="GET"),
    "no header": b"POST / HTTP/1.1\r\nContent-Length: 0\r\nHost : x\r\n\r\n",
}
PARTS = {"head": b"POST /mutate HT", "body": call(review())[:-1]}


def admit_one(server: Running) -> None:
    """Let the server believe that an answer takes so long that it takes one request at a time."""
    busy(server)
    for _ in range(100):
        now = server.admission.clock() + 0.1
        server.admission.clock = partial(float, now)
        server.admission.overload.is_late(60.0, now)


@pytest.mark.parametrize("data", INVALID.values(), ids=INVALID)
async def test_under_overload_an_invalid_request_takes_no_place(data: bytes) -> None:
    async with serving() as server:
        wire = await server.connect()
        others = [await server.connect() for _ in range(3)]
        await wire.ask(call(review()))
        admit_one(server)
        refused = [await other.ask(data) for other in others]

        served = await wire.ask(call(review()))

    assert {reply.status for reply in refused} <= {400, 404, 405, 415}
    assert served.status == 200


@pytest.mark.parametrize("data", PARTS.values(), ids=PARTS)
async def test_under_overload_a_part_of_a_request_takes_no_place(data: bytes) -> None:
    async with serving() as server:
        wire = await server.connect()
        others = [await server.connect() for _ in range(3)]
        await wire.ask(call(review()))
        admit_one(server)
        for other in others:
            other.send(data)
            await asyncio.sleep(0)

        served = await wire.ask(call(review()))

    assert served.status == 200


async def test_an_overloaded_server_that_drains_ends_connections() -> None:
    async with serving(Limits(burst=0.0)) as server:
        wire = await server.connect()
        await wire.ask(call(review()))
        busy(server)
        server.admission.draining = True

        refused = await wire.ask(call(review()))
        rest = await wire.ended()

    assert (refused.status, refused.closes, rest) == (503, True, b"")


async def test_a_connection_that_is_only_refused_stays() -> None:
    async with serving(Limits(burst=0.0, keep_alive=0.3)) as server:
        wire = await server.connect()
        await wire.ask(call(review()))
        busy(server)
        loop = asyncio.get_running_loop()
        end = loop.time() + 0.6

        replies = []
        while loop.time() < end:
            replies.append((await wire.ask(call(review()))).status)

    assert set(replies) == {503}

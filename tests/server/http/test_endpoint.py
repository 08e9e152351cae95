"""Sockets, and what aiohttp must not do."""

import asyncio
import gc

import pytest

from tests.server.serving import (
    CHUNKED,
    JSON,
    PATIENCE,
    Gate,
    Wire,
    call,
    head,
    only_connection,
    padded,
    review,
    serving,
    settled,
)
from webhook.policy.facts import Facts, NoFacts
from webhook.server.http.connections import Activity
from webhook.server.http.endpoint import HttpConnection
from webhook.server.http.limits import Limits


async def test_a_connection_whose_reading_was_paused_is_read_to_the_end() -> None:
    async with serving(Limits(read_buffer=100)) as server:
        wire = await server.connect()

        replies = [await wire.ask(call(padded(200_000))) for _ in range(2)]

    assert [reply.status for reply in replies] == [200, 200]


async def test_a_closed_connection_leaves_nothing_to_the_garbage_collector() -> None:
    def connections() -> int:
        return sum(isinstance(tracked, HttpConnection) for tracked in gc.get_objects())

    gc.collect()  # what other tests have left
    gc.disable()
    try:
        async with serving() as server:
            wire = await server.connect()
            await wire.ask(call(review()))
            before = connections()
            await wire.close()
            await settled(lambda: len(server.admission.callers) == 0)
            await settled(lambda: connections() == before - 1)
    finally:
        gc.enable()


@pytest.mark.parametrize("pipelined", [1, 3, 100])
async def test_requests_in_one_piece_are_answered_after_many_in_pieces(pipelined: int) -> None:
    """aiohttp counts a body that ends after its request was taken as one that waits, for good."""
    request, answered = call(review()), 0
    async with serving() as server:
        wire = await server.connect()

        for _ in range(60):
            wire.send(request[:-10])
            await settled(lambda: server.value("body_bytes") > 0)
            answered += (await wire.ask(request[-10:])).status == 200
        wire.send(request * pipelined)
        for _ in range(pipelined):
            answered += (await wire.reply()).status == 200

    assert answered == 60 + pipelined


async def test_what_is_in_flight_is_finished_when_the_server_stops() -> None:
    opened = asyncio.Event()

    async def wait(*_: object) -> Facts:
        await opened.wait()
        return NoFacts()

    async with serving(fetch=wait) as server:
        wire = await server.connect()
        wire.send(call(review()))
        await settled(lambda: server.admission.in_flight == 1)

        stopping = asyncio.create_task(server.admission.finish())
        await settled(lambda: server.admission.draining)
        opened.set()
        reply = await wire.reply()
        rest = await wire.ended()
        await stopping

    assert reply.status == 200
    assert reply.closes
    assert rest == b""


async def test_what_is_not_finished_in_time_is_cut() -> None:
    async def wait(*_: object) -> Facts:
        await asyncio.Event().wait()
        raise AssertionError

    async with serving(Limits(finish=0.01), fetch=wait) as server:
        wire = await server.connect()
        wire.send(call(review()))
        await settled(lambda: server.admission.in_flight == 1)

        await server.admission.finish()
        rest = await wire.ended()

    assert rest == b""


async def test_nothing_is_lost_when_a_server_stops_under_load() -> None:
    """Clients as Go's: they keep connections, and never send a request again once it was sent."""
    callers, calls_after = 8, 50
    sent = answered = 0
    patient = Limits(queued=PATIENCE)  # a machine that stands still must not be taken for overload
    async with serving(patient) as server:

        async def hammer() -> None:
            nonlocal sent, answered
            wire, left = await server.connect(), calls_after
            while left:  # until its endpoints have forgotten the server
                sent += 1
                reply = await wire.ask(call(review(str(sent))))
                answered += reply.status == 200
                left -= server.admission.draining
                if reply.closes:
                    wire = await server.connect()

        async with asyncio.TaskGroup() as group:
            for _ in range(callers):
                group.create_task(hammer())
            await settled(lambda: answered > 100)
            server.admission.draining = True
        await server.admission.finish()

    assert answered == sent
    assert answered >= 100 + callers * (calls_after - 1)


async def test_a_handshake_that_does_not_end_is_ended() -> None:
    async with serving(Limits(handshake=0.05)) as server:
        wire = await server.plain()

        rest = await wire.send(b"\x16\x03\x01\x02\x00").ended()
        await settled(lambda: server.rejected("handshake") == 1)

    assert rest == b""


async def test_plain_http_on_the_tls_port_is_ended() -> None:
    async with serving() as server:
        wire = await server.plain()

        rest = await wire.send(call(review())).ended()

    assert b"HTTP" not in rest
    assert server.rejected("handshake") == 1
    assert [(line["reason"], line["peer"]) for line in server.lines] == [("handshake", "127.0.0.1")]
    assert "Traceback" not in server.log_text


async def test_a_silent_connection_is_closed_after_the_keep_alive_time() -> None:
    async with serving(Limits(keep_alive=0.05)) as server:
        wire = await server.connect()

        rest = await wire.ended()

    assert rest == b""


async def test_an_idle_connection_is_closed_after_the_keep_alive_time() -> None:
    async with serving(Limits(keep_alive=0.05)) as server:
        wire = await server.connect()
        reply = await wire.ask(call(review()))

        rest = await wire.ended()

    assert reply.status == 200
    assert not reply.closes
    assert rest == b""


BROKEN = {
    "no HTTP": (b"hello\r\n\r\n", 400),
    "TLS in TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
    "a preface of HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    "two lengths": (head(headers={**JSON, "Content-Length": "1, 2"}) + b"a", 400),
    "a signed length": (head(headers={**JSON, "Content-Length": "+3"}) + b"abc", 400),
    "a length and chunks": (head(headers={**CHUNKED, "Content-Length": "3"}) + b"abc", 400),
    "chunks of no size": (head(headers=CHUNKED) + b"z\r\nabc\r\n0\r\n\r\n", 400),
    "a header of 9000 bytes": (call(review(), headers={**JSON, "X-Long": "a" * 9000}), 400),
    "200 headers": (call(review(), headers=JSON | {f"X-{i}": "a" for i in range(200)}), 400),
    "a header folded": (head(headers={**JSON, "X": "a\r\n b"}), 400),
    "a target of 9000 bytes": (call(review(), "/mutate?" + "a" * 9000), 400),
}


@pytest.mark.parametrize(("sent", "status"), BROKEN.values(), ids=BROKEN)
async def test_broken_http_is_refused_and_the_connection_closed(sent: bytes, status: int) -> None:
    async with serving() as server:
        wire = await server.connect()

        reply = await wire.ask(sent)
        await wire.ended()

    assert reply.status == status
    assert reply.body == b"the request is broken HTTP\n"
    assert "Traceback" not in server.log_text
    assert server.rejected("malformed") >= 1


async def test_a_body_longer_than_its_length_is_broken_http() -> None:
    async with serving() as server:
        wire = await server.connect()

        reply = await wire.ask(call(review()) + b"surplus\r\n\r\n")
        rest = await wire.ended()

    assert reply.status == 400
    assert rest == b""


async def test_a_client_that_reads_no_replies_is_cut() -> None:
    async with serving() as server:
        wire = await server.connect()
        await wire.ask(call(review()))
        many = b"".join(call(review()) for _ in range(1000))

        async def flood(wire: Wire) -> None:
            while True:
                wire.send(many)
                await wire.writer.drain()
                await asyncio.sleep(0)  # drain() returns at once after a failed write

        flooding = asyncio.create_task(flood(wire))
        (caller,) = server.admission.connections
        await settled(lambda: caller.writing_paused)
        server.admission.cut_stalled()
        still_open = len(server.admission.callers)
        server.admission.cut_stalled()
        await settled(lambda: len(server.admission.callers) == 0)
        flooding.cancel()
        await asyncio.wait([flooding])

    assert still_open == 1
    assert server.rejected("stalled-reply") == 1


async def test_only_new_bytes_count_as_received() -> None:
    async with serving() as server:
        wire = await server.connect()
        await wire.ask(call(review()))
        connection = only_connection(server)
        connection.received = 1.0

        connection.data_received(b"")  # as aiohttp does once it has room for what it kept

    assert connection.received == 1.0


async def test_a_client_that_does_not_read_its_reply_is_not_answered() -> None:
    gate = Gate()
    async with serving(fetch=gate.wait) as server:
        wire = await server.connect()
        await wire.ask(call(b""))
        connection = only_connection(server)
        idle = connection.activity
        connection.data_received(call(review()))
        answering = connection.activity
        connection.pause_writing()  # as the transport does when its buffer is full

        stalled = connection.activity
        connection.resume_writing()
        gate.opened.set()

    assert (idle, answering, stalled) == (Activity.IDLE, Activity.ANSWERING, Activity.RECEIVING)

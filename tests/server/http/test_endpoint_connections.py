"""Which clients are served when there are too many connections."""

import asyncio
import time

import pytest

from tests.server.serving import Running, Wire, call, open_from, review, serving, settled
from webhook.policy.facts import Facts, NoFacts
from webhook.server.http.limits import Limits


async def test_strangers_make_room_for_newcomers_and_callers_stay() -> None:
    async with serving(Limits(connections=3)) as server:
        caller = await server.connect()
        await caller.ask(call(review()))
        strangers = [await server.connect() for _ in range(2)]

        newcomer = await server.connect()
        served = await newcomer.ask(call(review("new")))
        rest = await strangers[0].ended()
        still = await caller.ask(call(review("old")))

    assert rest == b""
    assert served.response["uid"] == "new"
    assert still.response["uid"] == "old"
    assert server.rejected("evicted") == 1


async def test_a_stranger_in_its_handshake_makes_room_too() -> None:
    async with serving(Limits(connections=1)) as server:
        stranger = await server.plain()
        await settled(lambda: len(server.admission.callers) == 1)

        newcomer = await server.connect()
        reply = await newcomer.ask(call(review()))
        rest = await stranger.ended()

    assert reply.status == 200
    assert rest == b""


async def test_a_newcomer_is_refused_when_all_others_are_callers() -> None:
    async with serving(Limits(connections=2)) as server:
        callers = [await server.connect() for _ in range(2)]
        for caller in callers:
            await caller.ask(call(review()))

        newcomer = await server.plain()
        rest = await newcomer.ended()
        replies = [await caller.ask(call(review())) for caller in callers]

    assert rest == b""
    assert [reply.status for reply in replies] == [200, 200]
    assert server.rejected("connections") == 1
    (line,) = [line for line in server.lines if line["event"] == "rejected"]
    assert (line["reason"], line["peer"]) == ("connections", "127.0.0.1")


async def test_callers_that_are_idle_for_long_make_room() -> None:
    async with serving(Limits(connections=2, idle=0)) as server:
        first, second = [await server.connect() for _ in range(2)]
        await first.ask(call(review()))
        await second.ask(call(review()))

        newcomer = await server.connect()
        reply = await newcomer.ask(call(review()))
        rest = await first.ended()

    assert reply.status == 200
    assert rest == b""


async def test_a_malformed_review_proves_nothing() -> None:
    async with serving(Limits(connections=1)) as server:
        stranger = await server.connect()
        malformed = await stranger.ask(call(b"{}"))

        newcomer = await server.connect()
        reply = await newcomer.ask(call(review()))
        rest = await stranger.ended()

    assert malformed.status == 400
    assert reply.status == 200
    assert rest == b""


async def test_five_hundred_hostile_connections_shut_no_client_out() -> None:
    began = time.monotonic()
    async with serving(Limits(connections=16)) as server:
        caller = await server.connect()
        await caller.ask(call(review()))
        hostile = [await server.plain() for _ in range(500)]
        await settled(lambda: server.rejected("evicted") >= 500 - 15)

        newcomer = await server.connect()
        replies = [await wire.ask(call(review())) for wire in (caller, newcomer)]

    assert [reply.status for reply in replies] == [200, 200]
    assert len(hostile) == 500
    seconds = time.monotonic() - began
    assert len(server.lines) <= (seconds + 2) * Limits().refusals_logged


async def occupy(server: Running, source: str) -> Wire:
    """Open a connection from an address of loopback, and send a valid review."""
    wire = await open_from(server, source)
    reply = await wire.ask(call(review()))
    assert reply.status == 200
    return wire


async def test_an_address_that_fills_all_places_shuts_no_client_out() -> None:
    async with serving(Limits(connections=16)) as server:
        caller = await occupy(server, "127.0.0.2")
        hostile = [await occupy(server, "127.0.0.3") for _ in range(15)]

        newcomers = [await occupy(server, f"127.0.0.{last}") for last in range(4, 8)]
        replies = [await wire.ask(call(review())) for wire in (caller, *newcomers)]
        for wire in (caller, *newcomers, *hostile):
            await wire.close()

    assert [reply.status for reply in replies] == [200] * 5
    assert server.rejected("connections") == 0
    assert server.rejected("evicted") == 4


async def test_newcomers_of_one_address_do_not_displace_each_other() -> None:
    async with serving(Limits(connections=2)) as server:
        callers = [await occupy(server, "127.0.0.3") for _ in range(2)]
        with pytest.raises(ConnectionError):
            await open_from(server, "127.0.0.3")
        for wire in callers:
            await wire.close()

    assert server.rejected("connections") == 1


async def test_connections_that_send_half_a_request_make_room_after_idle_ones() -> None:
    half = call(review())[:-1]
    async with serving(Limits(connections=3)) as server:
        hostile = [await occupy(server, "127.0.0.3") for _ in range(3)]
        for wire in hostile[:2]:
            wire.send(half)
        await settled(lambda: server.value("body_bytes") > len(half))

        newcomers = [await occupy(server, f"127.0.0.{last}") for last in (4, 5)]
        served = await hostile[1].ask(call(review())[-1:])
        ends = [await hostile[0].ended(), await hostile[2].ended()]
        for wire in (*hostile, *newcomers):
            await wire.close()

    assert served.status == 200
    assert ends == [b"", b""]
    assert server.rejected("evicted") == 2


async def test_a_connection_that_is_answering_is_closed_after_its_answer() -> None:
    gate = asyncio.Event()

    async def wait(*_: object) -> Facts:
        await gate.wait()
        return NoFacts()

    async with serving(Limits(connections=8), fetch=wait) as server:
        hostile = [await open_from(server, "127.0.0.3") for _ in range(8)]
        for wire in hostile:
            wire.send(call(review()) * 2)
        await settled(lambda: server.value("admission_in_flight") == 8)
        newcomer = await open_from(server, "127.0.0.4")
        await settled(lambda: server.rejected("evicted") == 1)

        gate.set()
        replies = [await wire.reply() for wire in (*hostile, newcomer.send(call(review())))]
        rest = await hostile[0].ended()
        for wire in (*hostile, newcomer):
            await wire.close()

    assert [reply.status for reply in replies] == [200] * 9
    assert rest == b""

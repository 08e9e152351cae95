"""Each bound of the server, met by a real client on a real socket."""

import asyncio
import re
from collections.abc import Callable
from dataclasses import fields

import pytest

from tests.server.serving import JSON, UID, Wire, call, head, review, serving, settled
from webhook.policy.facts import Facts, NoFacts
from webhook.server.http.limits import MIB, Limits, limit_rows

SPECIFIED = {
    "body": 32 * MIB,
    "body_read": 10,
    "bodies": 64 * MIB,
    "handshake": 5,
    "keep_alive": 120,
    "connections": 512,
    "idle": 90,
    "constraints": 1000,
    "in_flight": 256,
    "retry_after": 1,
    "request": 5,
    "request_share": 0.8,
    "drain_least": 10,
    "drain_quiet": 5,
    "drain_most": 45,
}


def test_the_bounds_are_those_that_were_agreed() -> None:
    values = {row.name: row.value for row in limit_rows()}

    assert {name: values[name] for name in SPECIFIED} == SPECIFIED


def test_every_bound_has_a_unit_and_a_reason() -> None:
    rows = list(limit_rows())

    assert len(rows) == len(fields(Limits)) + 1
    assert all(row.unit and row.reason for row in rows)


CHUNKED = {**JSON, "Transfer-Encoding": "chunked"}


def in_chunks(body: bytes, size: int) -> bytes:
    parts = (body[at : at + size] for at in range(0, len(body), size))
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def padded(size: int) -> bytes:
    """A review of exactly that many bytes."""
    body = review()
    return body + b" " * (size - len(body))


SIZES = {
    "the largest body": (lambda: call(padded(32 * MIB)), 200),
    "one byte more": (lambda: call(padded(32 * MIB + 1)), 413),
    "a length beyond all bounds, and no body": (
        lambda: head(headers={**JSON, "Content-Length": str(1 << 50)}),
        413,
    ),
    "the largest body in chunks": (
        lambda: head(headers=CHUNKED) + in_chunks(padded(32 * MIB), 100_000),
        200,
    ),
    "one byte more in chunks": (
        lambda: head(headers=CHUNKED) + in_chunks(padded(32 * MIB + 1), 100_000),
        413,
    ),
    "a body in chunks of one byte": (
        lambda: head(headers=CHUNKED) + in_chunks(review(), 1),
        200,
    ),
}


@pytest.mark.parametrize(("request_", "status"), SIZES.values(), ids=SIZES)
async def test_bodies_are_bounded(request_: Callable[[], bytes], status: int) -> None:
    async with serving(Limits(discarded=0.01)) as server:
        wire = await server.connect()

        reply = await wire.ask(request_())

    assert reply.status == status
    assert status == 200 or b"32 MiB" in reply.body
    assert server.rejected("large-body") == (status == 413)


async def test_a_small_body_beyond_the_bound_is_refused_as_well() -> None:
    async with serving(Limits(body=100)) as server:
        wire = await server.connect()

        reply = await wire.ask(call(review()))

    assert (reply.status, b"100 bytes" in reply.body) == (413, True)


SLOW = {
    "the server's patience": (Limits(body_read=0.01, discarded=0.01), "/mutate?timeout=30s"),
    "the caller's patience": (Limits(discarded=0.01), "/mutate?timeout=10ms"),
}


@pytest.mark.parametrize(("limits", "target"), SLOW.values(), ids=SLOW)
async def test_a_body_that_does_not_come_ends_the_connection(limits: Limits, target: str) -> None:
    async with serving(limits) as server:
        wire = await server.connect()

        reply = await wire.ask(call(review(), target)[:-1])
        rest = await wire.ended()

    assert reply.status == 408
    assert rest == b""
    assert server.rejected("slow-body") == 1


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


async def test_five_hundred_hostile_connections_shut_nobody_out() -> None:
    async with serving(Limits(connections=16)) as server:
        caller = await server.connect()
        await caller.ask(call(review()))
        hostile = [await server.plain() for _ in range(500)]
        await settled(lambda: server.rejected("evicted") >= 500 - 15)

        newcomer = await server.connect()
        replies = [await wire.ask(call(review())) for wire in (caller, newcomer)]

    assert [reply.status for reply in replies] == [200, 200]
    assert len(hostile) == 500
    assert len(server.lines) <= 2 * Limits().refusals_logged


async def test_bodies_together_are_bounded() -> None:
    limits = Limits(bodies=200_000, discarded=0.01)
    whole = call(padded(150_000))
    async with serving(limits) as server:
        first, second = await server.connect(), await server.connect()
        first.send(whole[:-1])
        await settled(lambda: server.value("body_bytes") > 140_000)

        refused = await second.ask(whole)
        served = await first.send(whole[-1:]).reply()

    assert refused.status == 503
    assert refused.headers["retry-after"] == "1"
    assert served.status == 200
    assert server.rejected("bodies") == 1


MEDIA = {
    "no Content-Type": {},
    "another Content-Type": {"Content-Type": "text/plain"},
    "YAML": {"Content-Type": "application/yaml"},
    "gzip": {**JSON, "Content-Encoding": "gzip"},
    "an encoding that changes nothing": {**JSON, "Content-Encoding": "identity"},
}


@pytest.mark.parametrize("headers", MEDIA.values(), ids=MEDIA)
async def test_other_media_are_refused(headers: dict[str, str]) -> None:
    async with serving() as server:
        wire = await server.connect()

        reply = await wire.ask(call(review(), headers=headers))
        after = await wire.ask(call(review()))

    assert reply.status == 415
    assert after.status == 200
    assert server.rejected("media-type") == 1


@pytest.mark.parametrize("media_type", ["application/json; charset=utf-8", "Application/JSON"])
async def test_json_may_be_spelled_differently(media_type: str) -> None:
    async with serving() as server:
        wire = await server.connect()

        reply = await wire.ask(call(review(), headers={"Content-Type": media_type}))

    assert reply.status == 200


class Gate:
    """Holds reviews in flight until it is opened."""

    def __init__(self) -> None:
        self.opened = asyncio.Event()

    async def wait(self, *_: object) -> Facts:
        await self.opened.wait()
        return NoFacts()


async def test_requests_in_flight_are_bounded() -> None:
    gate = Gate()
    async with serving(Limits(in_flight=2), fetch=gate.wait) as server:
        held = [await server.connect() for _ in range(2)]
        for wire in held:
            wire.send(call(review()))
        await settled(lambda: server.value("admission_in_flight") == 2)

        newcomer = await server.connect()
        refused = await newcomer.ask(call(review()))
        gate.opened.set()
        served = [await wire.reply() for wire in held]
        later = await newcomer.ask(call(review()))

    assert refused.status == 503
    assert refused.headers["retry-after"] == "1"
    assert [reply.status for reply in served] == [200, 200]
    assert later.status == 200
    assert server.rejected("in-flight") == 1


async def test_a_body_that_is_not_complete_is_not_in_flight() -> None:
    async with serving(Limits(in_flight=1)) as server:
        slow, quick = await server.connect(), await server.connect()
        slow.send(call(review())[:-1])
        await settled(lambda: server.value("body_bytes") > 0)

        reply = await quick.ask(call(review()))

    assert reply.status == 200


LATE = {
    "80 % of the caller's timeout": (Limits(), "/mutate?timeout=20ms"),
    "the server's own bound": (Limits(request=0.01), "/mutate?timeout=30s"),
    "the bound for calls without a timeout": (Limits(default_timeout=0.02), "/mutate"),
    "a timeout that is over with the body": (Limits(), "/mutate?timeout=0.001ms"),
}


@pytest.mark.parametrize(("limits", "target"), LATE.values(), ids=LATE)
async def test_a_request_is_answered_before_the_caller_gives_up(
    limits: Limits, target: str
) -> None:
    async with serving(limits, fetch=Gate().wait) as server:
        wire = await server.connect()

        reply = await wire.ask(call(review(), target))

    assert reply.status == 504
    assert server.rejected("late") == 1


MALFORMED = {
    "nothing": b"",
    "no JSON": b"hello",
    "half a review": review()[:-1],
    "no review": b"{}",
    "a list": b"[]",
    "two reviews": review() * 2,
    "trailing bytes": review() + b"x",
    "a byte order mark": b"\xef\xbb\xbf" + review(),
    "invalid UTF-8": review(UID).replace(b"shop", b"sh\xffp"),
    "UTF-16": review().decode().encode("utf-16"),
    "a lone surrogate": review().replace(b"shop", rb"\ud800"),
    "NaN": review().replace(b'"shop"', b"NaN"),
    "Infinity": review().replace(b'"shop"', b"Infinity"),
    "deep nesting": review(userInfo="deep").replace(b'"deep"', b"[" * 100_000 + b"]" * 100_000),
    "deep objects": review(userInfo="deep").replace(
        b'"deep"', b'{"a":' * 10_100 + b"1" + b"}" * 10_100
    ),
    "another version": review().replace(b"admission.k8s.io/v1", b"admission.k8s.io/v1beta1"),
    "another kind": review().replace(b"AdmissionReview", b"TokenReview"),
    "no uid": review(""),
    "a uid of control characters": review("a\r\nSet-Cookie: b"),
    "an endless uid": review("a" * 10_000),
}


@pytest.mark.parametrize("body", MALFORMED.values(), ids=MALFORMED)
async def test_malformed_bodies_are_refused_in_a_text_reply(body: bytes) -> None:
    async with serving() as server:
        wire = await server.connect()

        reply = await wire.ask(call(body))
        after = await wire.ask(call(review()))

    assert reply.status == 400
    assert re.fullmatch(rb"[ -~]{10,200}\n", reply.body)
    assert after.status == 200
    (line,) = server.lines
    assert line["event"] == "rejected"
    assert line["reason"] == "malformed"


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


OTHERS = {
    "another path": ("/", "POST", 404),
    "a longer path": ("/mutate/", "POST", 404),
    "a health page": ("/readyz", "GET", 404),
    "metrics": ("/metrics", "GET", 404),
    "a path that climbs": ("/../mutate", "POST", 404),
    "a whole URL": ("https://evenspread/mutate", "POST", 404),
    "reading": ("/mutate", "GET", 405),
    "replacing": ("/validate", "PUT", 405),
    "asking for options": ("/validate", "OPTIONS", 405),
}


@pytest.mark.parametrize(("target", "method", "status"), OTHERS.values(), ids=OTHERS)
async def test_nothing_else_is_served(target: str, method: str, status: int) -> None:
    async with serving() as server:
        wire = await server.connect()

        reply = await wire.ask(call(review(), target, method))

    assert reply.status == status
    assert (reply.headers.get("allow") == "POST") == (status == 405)


async def test_a_body_shorter_than_it_says_ends_with_its_connection() -> None:
    async with serving() as server:
        wire = await server.connect()
        wire.send(call(review())[:-1])
        await settled(lambda: server.value("body_bytes") > 0)

        await wire.close()
        await settled(lambda: server.rejected("disconnected") == 1)


async def test_a_body_that_breaks_its_framing_halfway_ends_with_its_time() -> None:
    async with serving(Limits(body_read=0.05)) as server:
        wire = await server.connect()
        wire.send(head(headers=CHUNKED) + b"5\r\nhello\r\n")
        await settled(lambda: server.value("body_bytes") == 5)

        reply = await wire.ask(b"hello\r\n")
        await wire.ended()

    assert reply.status == 408


async def test_a_body_longer_than_it_says_is_broken_http() -> None:
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


async def test_refusals_do_not_fill_the_log() -> None:
    async with serving(Limits(refusals_logged=3)) as server:
        wire = await server.connect()

        for _ in range(100):
            await wire.ask(call(b"{}"))

    assert server.rejected("malformed") == 100
    assert len(server.lines) <= 6


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

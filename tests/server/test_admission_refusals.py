"""Which calls the admission server refuses, and which are served all the same."""

import asyncio
import re
from itertools import chain, repeat

import pytest

from tests.server.serving import JSON, UID, Gate, call, padded, review, serving, settled
from webhook.cluster.latepods import MOST_WAITS
from webhook.policy.facts import Facts, NoFacts
from webhook.server.admission import LOGGED_PATH_CHARACTERS
from webhook.server.http.limits import Limits

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


async def test_short_reviews_that_wait_and_large_bodies_stay_within_one_bound() -> None:
    short, waiting = 32_768, 4
    waits = (waiting + MOST_WAITS) * short
    limits = Limits(bodies=waits + 270_000, in_flight=waiting, long_review=short, discarded=0.01)
    gate = Gate()
    async with serving(limits, fetch=gate.wait) as server:
        held = [await server.connect() for _ in range(waiting)]
        for wire in held:
            wire.send(call(padded(short)))
        await settled(lambda: server.value("admission_in_flight") == waiting)
        one_too_many = await (await server.connect()).ask(call(padded(short)))
        left = limits.bodies - waits
        large = await server.connect()
        large.send(call(padded(left))[:-1])
        await settled(lambda: server.value("body_bytes") == left - 1)

        refused = await (await server.connect()).ask(call(padded(left))[:short])
        gate.opened.set()
        served = [await wire.reply() for wire in held]

    assert (one_too_many.status, refused.status) == (503, 503)
    assert [reply.status for reply in served] == [200] * waiting
    assert (server.rejected("in-flight"), server.rejected("bodies")) == (1, 1)


async def test_a_body_that_is_not_complete_is_not_in_flight() -> None:
    async with serving(Limits(in_flight=1)) as server:
        slow, quick = await server.connect(), await server.connect()
        slow.send(call(review())[:-1])
        await settled(lambda: server.value("body_bytes") > 0)

        reply = await quick.ask(call(review()))

    assert reply.status == 200


async def test_under_overload_a_request_whose_turn_comes_too_late_is_refused() -> None:
    async with serving() as server:
        wire = await server.connect()
        wire.send(call(review())[:-1])
        await settled(lambda: server.value("body_bytes") > 0)
        received = server.admission.clock()
        turn = received + 1.0
        for ago in (0.9, 0.5, 0.1):
            server.admission.overload.is_late(60.0, turn - ago)
        ticks = chain([received], repeat(turn))
        server.admission.clock = lambda: next(ticks)

        refused = await wire.ask(call(review())[-1:])

    assert (refused.status, refused.headers["retry-after"]) == (503, "1")
    assert refused.body == b"busy (queued): call again in a second\n"
    assert server.rejected("queued") == 1


async def test_under_overload_a_request_that_comes_in_parts_is_refused() -> None:
    async with serving(Limits(burst=0.0, discarded=0.01)) as server:
        wire = await server.connect()
        now = server.admission.clock() + 1.0
        for ago in (0.8, 0.4, 0.0):
            server.admission.overload.is_late(60.0, now - ago)
        server.admission.clock = lambda: now

        refused = await wire.ask(call(review())[:-1])

    assert refused.body == b"busy (queued): call again in a second\n"
    assert server.rejected("queued") == 1


async def test_requests_sent_ahead_wait_for_each_other_and_not_for_the_server() -> None:
    async with serving(Limits(queued=0.1), fetch=short_wait) as server:
        wire, other = await server.connect(), await server.connect()
        wire.send(b"".join(call(review(f"n{i}")) for i in range(20)))
        await wire.reply()

        reply = await other.ask(call(review()))
        rest = [await wire.reply() for _ in range(19)]

    assert reply.status == 200
    assert {reply.status for reply in rest} == {200}


async def test_a_request_that_comes_meanwhile_has_not_waited_for_the_server_either() -> None:
    async with serving(Limits(queued=0.01), fetch=short_wait) as server:
        wire, other = await server.connect(), await server.connect()
        for _ in range(10):
            wire.send(call(review()))
            await settled(lambda: server.admission.in_flight == 1)
            wire.send(call(review()))
            await wire.reply()
            await wire.reply()

        reply = await other.ask(call(review()))

    assert reply.status == 200
    assert server.rejected("queued") == 0


async def short_wait(*_: object) -> Facts:
    await asyncio.sleep(0.02)
    return NoFacts()


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
    assert (line["peer"], line["path"], line["status"]) == ("127.0.0.1", "/mutate", 400)
    assert f"{line['problem']}\n".encode() == reply.body


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
    (line,) = server.lines
    assert (line["peer"], line["path"], line["status"]) == ("127.0.0.1", target, status)


async def test_the_path_of_a_refused_request_is_cut_in_the_log() -> None:
    async with serving() as server:
        wire = await server.connect()

        await wire.ask(call(review(), "/" + "a" * 5000))

    (line,) = server.lines
    assert line["path"] == "/" + "a" * (LOGGED_PATH_CHARACTERS - 1)


async def test_refusals_do_not_fill_the_log() -> None:
    async with serving(Limits(refusals_logged=3)) as server:
        wire = await server.connect()

        for _ in range(100):
            await wire.ask(call(b"{}"))

    assert server.rejected("malformed") == 100
    assert len(server.lines) <= 6

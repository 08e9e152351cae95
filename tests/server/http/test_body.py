"""Request targets and bodies."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.server.serving import (
    CHUNKED,
    JSON,
    Gate,
    Running,
    Wire,
    call,
    head,
    open_from,
    padded,
    review,
    serving,
    settled,
)
from webhook.cluster.latepods import MOST_WAITS
from webhook.server.http.body import LONGEST_HEAD, CallTarget, is_whole, read_target
from webhook.server.http.limits import MIB, Limits

TARGETS = {
    "seconds, as kube-apiserver writes them": ("/mutate?timeout=10s", CallTarget("/mutate", 10.0)),
    "several units": ("/mutate?timeout=1m30s", CallTarget("/mutate", 90.0)),
    "milliseconds": ("/validate?timeout=500ms", CallTarget("/validate", 0.5)),
    "a fraction": ("/validate?timeout=0.5s", CallTarget("/validate", 0.5)),
    "beside another parameter": ("/mutate?a=b&timeout=3s", CallTarget("/mutate", 3.0)),
    "escaped": ("/mutate?timeout=%33s", CallTarget("/mutate", 3.0)),
    "absent": ("/mutate", CallTarget("/mutate", None)),
    "empty": ("/mutate?timeout=", CallTarget("/mutate", None)),
    "without a unit": ("/mutate?timeout=10", CallTarget("/mutate", None)),
    "not a number": ("/mutate?timeout=soon", CallTarget("/mutate", None)),
    "zero": ("/mutate?timeout=0s", CallTarget("/mutate", None)),
    "negative": ("/mutate?timeout=-3s", CallTarget("/mutate", None)),
    "among too many parameters": (f"/mutate?{'a=b&' * 9}timeout=3s", CallTarget("/mutate", None)),
}


@pytest.mark.parametrize(("target", "read"), TARGETS.values(), ids=TARGETS)
def test_read_target(target: str, read: CallTarget) -> None:
    assert read_target(target) == read


@given(st.text())
def test_any_target_can_be_read(target: str) -> None:
    path, timeout = read_target(target)

    assert target.startswith(path)
    assert timeout is None or timeout > 0


WHOLE = {
    "as an API server writes it": (call(review(), "/mutate?timeout=3s"), True),
    "without a body": (call(b""), True),
    "in small letters": (call(b"{}").lower().replace(b"post", b"POST"), True),
    "nothing": (b"", False),
    "a part of a head": (head()[:-1], False),
    "a part of a body": (call(review())[:-1], False),
    "two requests": (call(review()) * 2, False),
    "another method": (call(b"{}", method="PUT"), False),
    "an older HTTP": (call(b"{}", version="1.0"), False),
    "no length": (head(), False),
    "a length that is no number": (head(headers={"Content-Length": "+0"}), False),
    "chunks": (head(headers={**CHUNKED, "Content-Length": "0"}), False),
    "a long head": (call(b"", headers={"X": "a" * LONGEST_HEAD}), False),
}


@pytest.mark.parametrize(("data", "whole"), WHOLE.values(), ids=WHOLE)
def test_is_whole(data: bytes, whole: bool) -> None:
    assert is_whole(data) == whole


@given(st.binary(), st.binary())
def test_any_bytes_can_be_checked(before: bytes, after: bytes) -> None:
    assert not is_whole(before + call(b"{}", method="GET") + after)


HALF = review()[: len(review()) // 2]


@pytest.mark.parametrize(("limit", "size"), [(64, "64 bytes"), (2**20, "1 MiB")])
async def test_a_body_beyond_the_limit_is_refused_by_its_length(limit: int, size: str) -> None:
    async with serving(Limits(body=limit)) as server:
        wire = await server.connect()

        reply = await wire.ask(call(bytes(limit + 1)))

    assert (reply.status, reply.body) == (413, f"the body is larger than {size}\n".encode())


async def test_a_chunked_body_beyond_the_limit_is_refused_while_it_is_read() -> None:
    async with serving(Limits(body=64)) as server:
        wire = await server.connect()
        wire.send(head(headers={**JSON, "Transfer-Encoding": "chunked"}))

        reply = await wire.ask(b"50\r\n" + bytes(80) + b"\r\n")

    assert reply.status == 413


async def test_a_body_that_does_not_arrive_in_time_is_refused() -> None:
    async with serving(Limits(body_read=0.05)) as server:
        wire = await server.connect()

        reply = await wire.ask(head(headers={**JSON, "Content-Length": "100"}) + HALF[:50])

    assert (reply.status, reply.body) == (408, b"the body did not arrive in time\n")


def limit_bodies(most: int) -> Limits:
    """Limit all bodies together, without those of reviews that wait for facts: one byte each."""
    waiting = 1 + MOST_WAITS
    return Limits(bodies=most + waiting, long_review=1, in_flight=1, discarded=0.01)


async def test_bodies_are_limited_together() -> None:
    async with serving(limit_bodies(64)) as server:
        first, second = await server.connect(), await server.connect()
        length = {**JSON, "Content-Length": "100"}
        first.send(head(headers=length) + HALF[:50])
        await settled(lambda: server.value("body_bytes") == 50)

        reply = await second.ask(head(headers=length) + HALF[:50])

    assert reply.status == 503
    assert server.rejected("bodies") == 1


async def test_a_body_that_arrives_in_two_pieces_is_read_whole() -> None:
    body = review()
    async with serving() as server:
        wire = await server.connect()
        wire.send(head(headers={**JSON, "Content-Length": str(len(body))}) + HALF)
        await settled(lambda: server.value("body_bytes") == len(HALF))

        reply = await wire.ask(body[len(HALF) :])

    assert reply.status == 200


@pytest.mark.parametrize("way", ["answered", "too late"])
async def test_a_large_body_counts_until_it_is_answered(way: str) -> None:
    gate, body = Gate(), review()
    async with serving(Limits(long_review=64), fetch=gate.wait) as server:
        wire = await server.connect()
        wire.send(call(body, "/mutate?timeout=100ms" if way == "too late" else "/mutate"))
        await settled(lambda: server.value("admission_in_flight") == 1)
        held = server.value("body_bytes")

        if way == "answered":
            gate.opened.set()
        assert (await wire.reply()).status == (200 if way == "answered" else 504)

        assert held == len(body)
        await settled(lambda: server.value("body_bytes") == 0)


def in_chunks(body: bytes, size: int) -> bytes:
    parts = (body[at : at + size] for at in range(0, len(body), size))
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


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


async def test_bodies_together_are_bounded() -> None:
    limits = limit_bodies(200_000)
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


async def test_a_body_shorter_than_its_length_ends_with_its_connection() -> None:
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


async def hold(server: Running, source: str, size: int, *, length: int = 100_000) -> Wire:
    """Send the first bytes of a body from an address of loopback, and nothing more."""
    before = server.value("body_bytes")
    wire = await open_from(server, source)
    wire.send(head(headers={**JSON, "Content-Length": str(length)}) + bytes(size))
    await settled(lambda: server.value("body_bytes") == before + size)
    return wire


FULL = limit_bodies(100_000)


async def test_the_largest_unfinished_body_makes_room_for_a_small_one() -> None:
    body = padded(20_000)
    async with serving(FULL) as server:
        small = await hold(server, "127.0.0.1", 40_000)
        large = await hold(server, "127.0.0.1", 55_000)

        served = await (await server.connect()).ask(call(body))
        refused = await large.reply()
        left = server.value("body_bytes")
        for wire in (small, large):
            await wire.close()

    assert (served.status, refused.status, left) == (200, 503, 40_000)
    assert refused.headers["retry-after"] == "1"
    assert server.rejected("bodies") == 1


async def test_many_unfinished_bodies_of_one_address_make_room_for_a_large_one() -> None:
    body = padded(40_000)
    async with serving(FULL) as server:
        hostile = [await hold(server, "127.0.0.2", 12_000) for _ in range(8)]

        served = await (await server.connect()).ask(call(body))
        replies = [await wire.reply() for wire in hostile[:3]]
        for wire in hostile:
            await wire.close()

    assert served.status == 200
    assert [reply.status for reply in replies] == [503] * 3
    assert server.rejected("bodies") == 3


async def test_a_body_that_has_just_begun_refuses_none_of_its_size() -> None:
    whole = padded(70_000)
    async with serving(FULL) as server:
        first = await open_from(server, "127.0.0.1")
        first.send(call(whole)[:-1])
        await settled(lambda: server.value("body_bytes") == len(whole) - 1)

        refused = await (await server.connect()).ask(call(whole))
        served = await first.ask(whole[-1:])
        await first.close()

    assert (refused.status, served.status) == (503, 200)

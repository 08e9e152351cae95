"""POST /bind as API servers call it."""

import asyncio
import base64
import json
from dataclasses import replace
from itertools import count

from tests.build import UID, binding_body, pod, review_body
from tests.cluster.objects import cached_pod
from tests.cluster.zones import Zones
from tests.server.serving import PATIENT, call, review, serving
from webhook.cluster.latepods import LATE_S, MOST_WAITS, LatePods
from webhook.policy.scaledown.ranks import annotate_rank


async def test_a_binding_is_answered_with_a_rank_and_counted() -> None:
    zones = Zones()
    zones.put(cached_pod("web-1"))
    async with serving(find_ranks=lambda: zones.pods) as server:
        wire = await server.connect()

        first = await wire.ask(call(binding_body(node="a1"), "/bind?timeout=2s"))
        unknown = await wire.ask(call(binding_body("web-2", "a1"), "/bind"))

    assert (first.status, first.response["uid"], first.response["allowed"]) == (200, UID, True)
    (step,) = json.loads(base64.b64decode(first.response["patch"]))
    assert step["value"] == annotate_rank(1)
    assert unknown.response == {"uid": UID, "allowed": True}
    assert server.value("bindings_total", result="ranked") == 1
    assert server.value("bindings_total", result="unknown-pod") == 1
    about = {"hook": "bind", "kind": "Binding", "operation": "CREATE", "dry_run": "false"}
    assert server.value("admission_requests_total", verdict="patch", **about) == 1
    assert server.value("admission_requests_total", verdict="allow", **about) == 1
    assert server.value("admission_duration_seconds_count", hook="bind") == 2
    assert server.lines == []


async def test_bindings_that_wait_for_their_pods_take_no_place_of_other_reviews() -> None:
    zones = Zones()
    limits = replace(PATIENT, in_flight=1)
    async with serving(limits, find_ranks=lambda: zones.pods) as server:
        wires = [await server.connect() for _ in range(3)]
        for number, wire in enumerate(wires):
            wire.send(call(binding_body(f"web-{number}", "a1"), "/bind"))
        reviewed = await (await server.connect()).ask(call(review()))
        zones.put(cached_pod("web-1"))
        bound = [await wire.reply() for wire in wires]

    assert reviewed.status == 200
    assert ["patch" in reply.response for reply in bound] == [False, True, False]
    assert server.rejected("in-flight") == 0


async def keep_waiting(late: LatePods, namespace: str, over: asyncio.Event) -> None:
    """Wait for the pods of other Bindings without a gap, also on a machine that stands still."""
    for number in count():
        if over.is_set():
            return
        waiting = late.wait(namespace, f"of{number}-1", LATE_S)
        assert waiting is not None
        await waiting


async def test_beyond_a_limit_bindings_wait_for_no_pod() -> None:
    zones = Zones()
    late, over = zones.pods.late, asyncio.Event()
    async with serving(find_ranks=lambda: zones.pods) as server, asyncio.TaskGroup() as group:
        wire = await server.connect()
        for number in range(MOST_WAITS):
            group.create_task(keep_waiting(late, f"of-{number}", over))
        reply = await wire.ask(call(binding_body("web-1", "a1"), "/bind"))
        may_appear = late.may_appear("shop", "web-1")
        over.set()

    assert reply.response == {"uid": UID, "allowed": True}
    assert server.value("bindings_total", result="unknown-pod") == 1
    assert may_appear, "it was not waited for"


async def test_a_long_binding_is_ranked_by_the_event_loop() -> None:
    """The thread of long reviews must not change ranks."""
    zones = Zones()
    zones.put(cached_pod("web-1"))
    async with serving(replace(PATIENT, long_review=100), find_ranks=lambda: zones.pods) as server:
        wire = await server.connect()

        reply = await wire.ask(call(binding_body(node="a1"), "/bind"))

    assert "patch" in reply.response


async def test_without_ranks_every_binding_is_allowed() -> None:
    async with serving() as server:
        wire = await server.connect()

        reply = await wire.ask(call(binding_body(), "/bind"))
        other = await wire.ask(call(review_body(pod()), "/bind"))

    assert reply.response == other.response == {"uid": UID, "allowed": True}
    assert server.value("bindings_total", result="off") == 1


async def test_what_is_no_review_of_a_binding_is_refused() -> None:
    async with serving() as server:
        wire = await server.connect()

        text = await wire.ask(call(b"{", "/bind"))
        shape = await wire.ask(call(binding_body().replace(b'"n1"', b"1"), "/bind"))

    assert (text.status, shape.status) == (400, 400)
    assert shape.body.startswith(b"the Binding cannot be read")

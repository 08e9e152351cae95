import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.apiserver import (
    Answer,
    Behavior,
    Fault,
    Json,
    Stream,
    bookmark,
    encode,
    event,
    failure,
    listening,
    page,
    refuse,
    respond,
    watch,
)
from tests.build import service
from tests.cluster.play import SERVICES, Play
from webhook.cluster.discovery import list_resources
from webhook.cluster.facts import Cluster
from webhook.cluster.protocol import Response
from webhook.cluster.quota import OBJECT_BYTES, NamespaceQuota, selector_size
from webhook.cluster.reflector import LASTING_S


@pytest.fixture
async def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Play]:
    monkeypatch.setenv("SSL_CERT_FILE", os.devnull)  # the system's CAs take long to read
    async with listening() as server:
        yield Play(server, tmp_path)


HTML = Response(200, b"<html>")
A, B, C = service("a"), service("b"), service("c")
FOLLOWS = [{"watch": "1", "allowWatchBookmarks": "true", "resourceVersion": "1"}]


async def test_listed_objects_are_stored_and_watched(play: Play) -> None:
    play.server.script(SERVICES, page(A, B, version=7))

    reflector = await play.run()

    assert play.held == "ab"
    assert reflector.synced.is_set()
    assert [query.get("resourceVersion") for query in play.server.queries(SERVICES)] == [None, "7"]
    assert play.pauses == []


async def test_a_list_is_complete_after_its_last_page(play: Play) -> None:
    play.server.script(
        SERVICES, page(A, version=7, rest="x"), page(B, version=7, rest="y"), page(C, version=7)
    )

    await play.run()

    assert play.held == "abc"
    assert play.server.queries(SERVICES)[:3] == [
        {"limit": "500"},
        {"limit": "500", "continue": "x"},
        {"limit": "500", "continue": "y"},
    ]


async def test_events_are_applied(play: Play) -> None:
    changes = (event("ADDED", C), event("MODIFIED", service("a", "b", 8)), event("DELETED", B))
    play.server.script(SERVICES, page(A, B), watch(*changes))

    await play.run()

    assert play.held == "ac"
    assert [found.name for found in play.cluster.services("shop", {"app": "b"})] == ["a"]


async def test_nothing_is_synced_before_the_last_page(play: Play) -> None:
    play.server.script(SERVICES, page(A, rest="x"))

    reflector = await play.run()

    assert play.held == "a"
    assert not reflector.synced.is_set()


VERSIONS = {
    "an event": ([event("ADDED", service("c", version=8))], "8"),
    "a bookmark": ([event("ADDED", service("c", version=8)), bookmark(11)], "11"),
    "a deletion": ([event("DELETED", service("a", version=12))], "12"),
    "nothing": ([], "1"),
}


@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize(("lines", "version"), VERSIONS.values(), ids=VERSIONS.keys())
async def test_a_watch_that_ends_goes_on_after_its_last(
    play: Play, lines: list[dict[str, object]], version: str, cut: bool
) -> None:
    play.server.script(SERVICES, page(A), watch(*lines, end=Fault.RESET if cut else None))

    await play.run()

    assert play.server.queries(SERVICES)[-1]["resourceVersion"] == version
    assert play.restarts == ["unreachable" if cut else "ended"]


RELISTS: dict[str, tuple[Answer, str]] = {
    "410 as status": (refuse("odd", 410), "expired"),
    "410 as event": (watch(event("ERROR", failure(410))), "expired"),
    "an ERROR event": (watch(event("ERROR", failure(500))), "server-error"),
    "another status": (refuse("Too large resource version", 504), "server-error"),
    "a version that is none": (refuse("odd", 400), "refused"),
    "text": (watch(b"too many requests\n"), "garbage"),
    "a page of HTML": (watch(b"<!DOCTYPE html>\n<html>\n"), "garbage"),
    "half an event": (watch(b'{"type": "ADDED", "object": {"met\n'), "garbage"),
    "an unknown type": (watch(event("CHANGED", A)), "garbage"),
    "an object without a name": (watch(event("ADDED", {"metadata": {}})), "garbage"),
    "no object": (watch(b'{"type": "ADDED", "object": 7}\n'), "garbage"),
    "a huge line": (watch(b"x" * (16 * 1024 * 1024 + 1)), "oversized"),
}


@pytest.mark.parametrize(("answer", "reason"), RELISTS.values(), ids=RELISTS.keys())
async def test_all_is_listed_again_after(play: Play, answer: Behavior, reason: str) -> None:
    play.server.script(SERVICES, page(A, B), answer, page(B, C, version=9))

    await play.run()

    assert play.restarts == [reason]
    assert play.held == "bc"
    assert [query.get("limit") for query in play.server.queries(SERVICES)] == [
        "500",
        None,
        "500",
        None,
    ]
    assert play.pauses == [0.8]


RESUMES: dict[str, tuple[Answer, str]] = {
    "a cut in the middle of an event": (watch(b'{"type": "ADD', end=Fault.RESET), "unreachable"),
    "an end in the middle of an event": (watch(b'{"type": "ADD'), "unreachable"),
    "silence": (watch(end=Fault.SILENCE), "silent"),
    "a server that is starting": (Response(503, b"starting"), "server-error"),
    "a server that has too much to do": (Response(429, b"later"), "refused"),
    "a lost permission": (refuse("odd", 403), "forbidden"),
}


@pytest.mark.parametrize(("answer", "reason"), RESUMES.values(), ids=RESUMES.keys())
async def test_the_watch_goes_on_where_it_was_after(
    play: Play, answer: Behavior, reason: str
) -> None:
    more = watch(event("ADDED", C), event("DELETED", A))
    play.server.script(SERVICES, page(A, B), answer, more)

    await play.run()

    assert play.restarts == [reason, "ended"]
    assert play.held == "bc"
    assert play.server.queries(SERVICES)[1:3] == FOLLOWS * 2


@pytest.mark.parametrize(
    "answer",
    [
        Response(500),
        Response(200, b"<html>"),
        refuse("odd", 403),
        refuse("odd", 410),
        Response(429),
    ],
)
async def test_while_no_list_can_be_had_the_old_copy_serves(play: Play, answer: Behavior) -> None:
    play.server.script(SERVICES, page(A, B), watch(b"text\n"), answer, answer)

    reflector = await play.run()

    assert play.held == "ab"
    assert reflector.synced.is_set()
    assert reflector.problem == play.problems[-1]
    assert play.pauses == [0.8, 1.6, 3.2]


async def test_a_list_whose_next_page_has_expired_starts_over(play: Play) -> None:
    play.server.script(SERVICES, page(A, rest="x"), refuse("odd", 410), page(B, C, version=5))

    await play.run()

    assert play.held == "bc"
    assert play.server.queries(SERVICES)[2] == {"limit": "500"}


async def test_a_problem_ends_with_the_next_good_response(play: Play) -> None:
    play.server.script(SERVICES, refuse("services is forbidden", 403), page(A))

    reflector = await play.run()

    assert play.problems == [f"{play.server.url}: answered 403: services is forbidden"]
    assert reflector.problem == ""


async def test_pauses_grow_and_start_over_after_a_watch_that_lasted(play: Play) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        yield encode(event("ADDED", B)) + b"\n"
        while play.held != "ab":  # noqa: ASYNC110  # the store sends no event
            await asyncio.sleep(0)
        play.now += LASTING_S

    play.server.script(SERVICES, page(A), watch(), watch(), Stream(chunks()), watch())

    await play.run()

    assert play.pauses == [0.8, 1.6, 0.8]  # and none after the one that lasted


async def test_age_is_that_of_the_last_good_answer(play: Play) -> None:
    play.server.script(SERVICES, page(A), watch(b"text\n"))

    reflector = await play.run()

    play.now += 12.0
    assert reflector.age == 12.0


async def test_age_is_unknown_before_the_first_answer(play: Play) -> None:
    play.server.script(SERVICES, Response(500))

    assert (await play.run()).age is None


async def test_an_object_that_cannot_be_read_counts_as_absent(play: Play) -> None:
    odd = {"metadata": {"name": "a", "namespace": "shop"}, "spec": {"selector": "app=a"}}
    play.server.script(SERVICES, page(A, B), watch(event("MODIFIED", odd), event("ADDED", C)))

    await play.run()

    assert play.held == "bc"
    assert play.restarts == ["ended"]
    assert play.skipped == [("Service", "shop", "a", "shape")]


async def test_a_selector_that_is_too_large_is_not_kept(play: Play) -> None:
    huge = {**B, "spec": {"selector": {f"{i:05d}": "x" for i in range(1000)}}}
    play.server.script(SERVICES, page(A, huge), watch(event("MODIFIED", huge)))

    await play.run()

    assert play.held == "a"
    assert play.skipped == [("Service", "shop", "b", "selector-size")] * 2


async def test_big_objects_come_in_smaller_pages(play: Play) -> None:
    big = {**A, "status": "x" * 10 * 1024 * 1024}
    play.server.script(SERVICES, page(big, rest="x"))

    await play.run()

    assert [query["limit"] for query in play.server.queries(SERVICES)] == ["500", "99"]


@pytest.mark.parametrize("streams", [False, True])
async def test_a_list_of_objects_near_and_above_the_bound_is_complete(
    play: Play, streams: bool
) -> None:
    play.streams, play.max_body = streams, 10_000
    play.server.otherwise = None
    for name, size in {"a": 6000, "b": 6000, "c": 20_000, "d": 10}.items():
        play.server.add({**service(name), "status": "x" * size})
    if streams:
        play.server.script(SERVICES, watch(b"x" * (16 * 1024 * 1024 + 1)))
    play.server.faults.append(play.end_at_watch)

    reflector = await play.run()

    assert reflector.synced.is_set()
    assert play.held == "abd"
    assert play.skipped == [("Service", "shop", "c", "object-size")]


STREAM = {
    "watch": "1",
    "allowWatchBookmarks": "true",
    "sendInitialEvents": "true",
    "resourceVersionMatch": "NotOlderThan",
}


async def test_a_streamed_list_goes_over_into_the_watch(play: Play) -> None:
    play.streams = True
    initial = (event("ADDED", A), event("ADDED", B), bookmark(7, ends=True))
    play.server.script(SERVICES, watch(*initial, event("DELETED", service("a", version=9))))

    reflector = await play.run()

    assert reflector.synced.is_set()
    assert play.held == "b"
    assert play.server.queries(SERVICES) == [STREAM, {**FOLLOWS[0], "resourceVersion": "9"}]


async def test_a_streamed_list_that_is_cut_counts_for_nothing(play: Play) -> None:
    play.streams = True
    play.server.script(
        SERVICES,
        watch(event("ADDED", A), event("ADDED", B), bookmark(7, ends=True), b"text\n"),
        watch(event("ADDED", C), end=Fault.RESET),
    )

    await play.run()

    assert play.held == "abc"
    assert play.server.queries(SERVICES) == [STREAM] * 3


async def test_objects_absent_from_a_streamed_list_are_removed_at_its_end(play: Play) -> None:
    play.streams = True
    play.server.script(
        SERVICES,
        watch(event("ADDED", A), event("ADDED", B), bookmark(7, ends=True), b"text\n"),
        watch(event("ADDED", B), event("ADDED", C), bookmark(9, ends=True)),
    )

    await play.run()

    assert play.held == "bc"


NO_STREAMS: dict[str, Answer] = {
    "the gate is off": refuse("sendInitialEvents is forbidden", 422),
    "the option is unknown": refuse("odd", 400),
    "the option is ignored, and an ordinary bookmark comes": watch(event("ADDED", A), bookmark(7)),
    "the option is ignored, and nothing comes": watch(end=Fault.SILENCE),
}


@pytest.mark.parametrize("answer", NO_STREAMS.values(), ids=NO_STREAMS.keys())
async def test_pages_replace_a_streamed_list_that_the_server_does_not_support(
    play: Play, answer: Behavior
) -> None:
    play.streams = True
    play.server.script(SERVICES, answer, page(B), watch(b"text\n"), page(C))

    await play.run()

    assert play.held == "c"
    assert [query.get("sendInitialEvents") for query in play.server.queries(SERVICES)] == [
        "true", None, None, None, None
    ]  # fmt: skip


ROLLOUTS = "/apis/argoproj.io/v1alpha1/rollouts"
GROUPS = {
    "groups": [
        {"name": "apps", "preferredVersion": {"groupVersion": "apps/v1"}},
        {"name": "argoproj.io", "preferredVersion": {"groupVersion": "argoproj.io/v1alpha1"}},
    ]
}
KINDS = {
    "resources": [
        {"name": "rollouts/status", "kind": "Rollout"},
        {"name": "rollouts", "kind": "Rollout"},
    ]
}


async def test_a_custom_kind_is_looked_for_first(play: Play) -> None:
    rollout = {
        "metadata": {"name": "a", "namespace": "shop"},
        "spec": {"selector": {"matchLabels": {"app": "a"}}},
    }
    play.server.script("/apis", respond(GROUPS))
    play.server.script("/apis/argoproj.io/v1alpha1", respond(KINDS))
    play.server.script(ROLLOUTS, page(rollout))

    reflector = await play.run("Rollout.argoproj.io")

    assert list(reflector.resource.store.iterate_keys()) == [("shop", "a")]
    assert reflector.place is not None
    assert reflector.place.collection == ROLLOUTS


ABSENT: dict[str, tuple[Answer, Answer]] = {
    "no such group": (respond({"groups": GROUPS["groups"][:1]}), Response(404)),
    "no such kind": (respond(GROUPS), respond({"resources": []})),
}


@pytest.mark.parametrize(("groups", "kinds"), ABSENT.values(), ids=ABSENT.keys())
async def test_a_custom_kind_that_is_not_installed_has_no_objects(
    play: Play, groups: Behavior, kinds: Behavior
) -> None:
    play.server.script("/apis", groups)
    play.server.script("/apis/argoproj.io/v1alpha1", kinds)

    reflector = await play.run("Rollout.argoproj.io")

    assert reflector.synced.is_set()
    assert reflector.place is None
    assert (play.restarts, play.pauses) == ([], [0.8])


@pytest.mark.parametrize(
    "answer", [Response(404), Response(200, b"<html>"), respond({"kind": "x"})]
)
async def test_a_custom_kind_is_not_believed_absent_without_proof(
    play: Play, answer: Behavior
) -> None:
    play.server.script("/apis", answer)

    reflector = await play.run("Rollout.argoproj.io")

    assert not reflector.synced.is_set()
    assert len(play.restarts) == 1


async def test_a_lost_server_is_retried_with_pauses(tmp_path: Path) -> None:
    async with listening() as server:
        play = Play(server, tmp_path)
        server.port = 1  # where no server listens
        play.most_pauses = 8
        await play.run()

    assert set(play.restarts) == {"unreachable"}
    assert play.pauses == [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0]


DEEP = b'{"a":' * 9000 + b"1" + b"}" * 9000


def deepened(value: Json) -> bytes:
    """Write JSON whose first object with a name has managedFields of 9 000 levels."""
    return encode(value).replace(b'"name":', b'"managedFields":[%b],"name":' % DEEP, 1)


async def test_deep_objects_are_listed_and_watched_as_any_other(play: Play) -> None:
    listed = deepened({"metadata": {"resourceVersion": "1"}, "items": [A, B]})
    changed = deepened(event("ADDED", C)) + b"\n"
    play.server.script(SERVICES, Response(200, listed), watch(changed, event("DELETED", B)))

    await play.run()

    assert play.held == "ac"
    assert play.restarts == ["ended"]
    assert play.skipped == []


async def test_an_object_beyond_the_quota_of_its_namespace_is_skipped(play: Play) -> None:
    play.cluster = Cluster(quota=NamespaceQuota(OBJECT_BYTES + selector_size({"app": "a"})))
    play.resources = {resource.kind: resource for resource in list_resources(play.cluster)}
    play.server.script(SERVICES, page(A, B))

    await play.run()

    assert play.held == "a"
    assert play.skipped == [("Service", "shop", "b", "namespace-size")]

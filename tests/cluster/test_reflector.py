import asyncio
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
from tests.cluster.play import FOLLOWS, PATIENCE_S, SERVICES, SILENCE_S, A, B, C, Play
from webhook.cluster.discovery import list_resources
from webhook.cluster.facts import Cluster
from webhook.cluster.protocol import Response
from webhook.cluster.quota import OBJECT_BYTES, NamespaceQuota, selector_size
from webhook.cluster.reflector import LASTING_S


async def test_listed_objects_are_stored_and_watched(play: Play) -> None:
    play.server.script(SERVICES, page(A, B, version=7))

    reflector = await play.run()

    assert play.held == "ab"
    assert reflector.synced.is_set()
    assert [query.get("resourceVersion") for query in play.server.queries(SERVICES)] == [None, "7"]
    assert play.pauses == []


async def test_events_are_applied(play: Play) -> None:
    changes = (event("ADDED", C), event("MODIFIED", service("a", "b", 8)), event("DELETED", B))
    play.server.script(SERVICES, page(A, B), watch(*changes))

    await play.run()

    assert play.held == "ac"
    assert [found.name for found in play.cluster.services("shop", {"app": "b"})] == ["a"]


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
    play.silence = SILENCE_S if reason == "silent" else PATIENCE_S

    await play.run()

    assert play.restarts == [reason, "ended"]
    assert play.held == "bc"
    assert play.server.queries(SERVICES)[1:3] == FOLLOWS * 2


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

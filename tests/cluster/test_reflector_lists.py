"""Lists: in pages, and as the beginning of a watch."""

import pytest

from tests.apiserver import Answer, Behavior, Fault, bookmark, event, page, refuse, watch
from tests.build import service
from tests.cluster.objects import labelled_pod
from tests.cluster.play import FOLLOWS, PATIENCE_S, SERVICES, SILENCE_S, A, B, C, Play
from webhook.cluster.facts import Cluster
from webhook.cluster.listwatch import STREAMED_LIST_QUERY
from webhook.cluster.protocol import Response

PODS = "/api/v1/pods"


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


async def test_nothing_is_synced_before_the_last_page(play: Play) -> None:
    play.server.script(SERVICES, page(A, rest="x"))

    reflector = await play.run()

    assert play.held == "a"
    assert not reflector.synced.is_set()


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


SILENT = watch(end=Fault.SILENCE)
NO_STREAMS: dict[str, Answer] = {
    "the gate is off": refuse("sendInitialEvents is forbidden", 422),
    "the option is unknown": refuse("odd", 400),
    "the option is ignored, and an ordinary bookmark comes": watch(event("ADDED", A), bookmark(7)),
    "the option is ignored, and nothing comes": SILENT,
}


@pytest.mark.parametrize("answer", NO_STREAMS.values(), ids=NO_STREAMS.keys())
async def test_pages_replace_a_streamed_list_that_the_server_does_not_support(
    play: Play, answer: Behavior
) -> None:
    play.streams = True
    play.silence = SILENCE_S if answer is SILENT else PATIENCE_S
    play.server.script(SERVICES, answer, page(B), watch(b"text\n"), page(C))

    await play.run()

    assert play.held == "c"
    assert [query.get("sendInitialEvents") for query in play.server.queries(SERVICES)] == [
        "true", None, None, None, None
    ]  # fmt: skip


LABELLED = {"labelSelector": "evenspread.io/scale-down=keep-spread"}


async def test_pods_are_listed_and_watched_by_their_label(play: Play) -> None:
    ranked = Play(play.server, play.folder, cluster=Cluster(pod_clock=lambda: 0.0))
    play.server.script(PODS, page(labelled_pod("w1"), rest="x"), page(labelled_pod("w2")), watch())

    await ranked.run("Pod")

    assert set(ranked.resources["Pod"].store.iterate_keys()) == {("shop", "w1"), ("shop", "w2")}
    assert play.server.queries(PODS)[:3] == [
        {**LABELLED, "limit": "500"},
        {**LABELLED, "limit": "500", "continue": "x"},
        {**LABELLED, **FOLLOWS[0]},
    ]


async def test_pods_are_streamed_by_their_label(play: Play) -> None:
    ranked = Play(play.server, play.folder, streams=True, cluster=Cluster(pod_clock=lambda: 0.0))
    play.server.script(PODS, watch(event("ADDED", labelled_pod("w1")), bookmark(5, ends=True)))

    await ranked.run("Pod")

    assert list(ranked.resources["Pod"].store.iterate_keys()) == [("shop", "w1")]
    assert play.server.queries(PODS)[0] == {**LABELLED, **STREAMED_LIST_QUERY}

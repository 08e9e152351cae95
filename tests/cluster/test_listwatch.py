import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.cluster import listwatch
from webhook.cluster.listwatch import LineSplitter
from webhook.errors import ApiError
from webhook.policy.nesting import finish

MIB = 1024 * 1024


def raw(value: Any) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(value).encode())


def read_page(body: bytes) -> listwatch.Page:
    return finish(listwatch.decode_page("here", body))


LIMITS: dict[str, tuple[int, int, int]] = {
    "small objects": (500, 100_000, 500),
    "just as much as is aimed at": (500, 2 * MIB, 500),
    "objects of 20 KiB": (500, 10 * MIB, 100),
    "objects of 1 MiB": (100, 100 * MIB, 20),
    "small objects after big ones": (20, 20_000, 500),
    "an empty page": (500, 0, 500),
    "objects of 4 MiB, of which few fit into an answer": (3, 12 * MIB, 3),
    "one object of 12 MiB": (1, 12 * MIB, 1),
    "small objects after one of 12 MiB": (1, 4000, 500),
}


@pytest.mark.parametrize(("limit", "size", "following"), LIMITS.values(), ids=LIMITS.keys())
def test_pages_have_about_the_same_size(limit: int, size: int, following: int) -> None:
    assert listwatch.next_limit(limit, size) == following


def test_a_page_has_the_token_of_the_next_page() -> None:
    page = read_page(
        b'{"metadata": {"resourceVersion": "7", "continue": "x"}, "items": [{"a": 1}]}'
    )

    assert (page.metadata.resource_version, page.metadata.rest) == ("7", "x")
    assert [bytes(item) for item in page.items or ()] == [b'{"a": 1}']
    assert listwatch.page_query(500, "x") == {"limit": "500", "continue": "x"}
    assert listwatch.page_query(20, "") == {"limit": "20"}


NO_PAGES = {
    "text": b"<html>",
    "nothing": b"",
    "a status": b'{"kind": "Status", "metadata": {}, "code": 200}',
    "cut off": b'{"metadata": {"resourceVersion": "7"}, "items": [{',
    "no version": b'{"metadata": {}, "items": []}',
    "an empty version": b'{"metadata": {"resourceVersion": ""}, "items": []}',
    "no UTF-8": b'{"metadata": {"resourceVersion": "\xff"}, "items": []}',
    "too deep": b'{"metadata": {"resourceVersion": "7"}, "x": %s' % (b"[" * 100_000),
    "no items": b'{"metadata": {"resourceVersion": "7"}}',
}


@pytest.mark.parametrize("body", NO_PAGES.values(), ids=NO_PAGES.keys())
def test_a_body_that_is_no_list_is_refused(body: bytes) -> None:
    with pytest.raises(ApiError, match="here: answered with") as caught:
        read_page(body)
    assert caught.value.reason == "garbage"


def test_a_list_of_nothing_may_be_null() -> None:
    page = read_page(b'{"metadata": {"resourceVersion": "7"}, "items": null}')

    assert page.items is None


@pytest.mark.parametrize(
    "line", [b"too many requests", b'{"type": "ADDED"', b'{"type": 1}', b"[]", b'{"type": "\xff"}']
)
def test_a_line_that_is_no_event_is_refused(line: bytes) -> None:
    with pytest.raises(ApiError, match="here: sent text that is no event"):
        finish(listwatch.decode_event("here", line))


VERSIONS: dict[str, tuple[Any, str, bool]] = {
    "an object": ({"metadata": {"resourceVersion": "7"}}, "7", False),
    "the end of a streamed list": (
        {
            "metadata": {
                "resourceVersion": "8",
                "annotations": {"k8s.io/initial-events-end": "true"},
            }
        },
        "8",
        True,
    ),
    "other annotations": ({"metadata": {"resourceVersion": "8", "annotations": {}}}, "8", False),
    "no version": ({"metadata": {}}, "", False),
    "no metadata": ({}, "", False),
    "a version that is a number": ({"metadata": {"resourceVersion": 7}}, "", False),
}


@pytest.mark.parametrize(("value", "version", "ends"), VERSIONS.values(), ids=VERSIONS.keys())
def test_versions(value: Any, version: str, ends: bool) -> None:
    metadata = listwatch.metadata_of(raw(value))

    assert metadata.resource_version == version
    assert metadata.ends_initial_list == ends


def test_a_watch_resumes_at_a_version_and_requests_bookmarks() -> None:
    assert listwatch.watch_query("7") == {
        "watch": "1",
        "allowWatchBookmarks": "true",
        "resourceVersion": "7",
    }


# chunks, their lines, incomplete last line
CASES: dict[str, tuple[list[bytes], list[bytes], bytes]] = {
    "a chunk is a line": ([b"a\n"], [b"a"], b""),
    "a chunk is several lines": ([b"a\nb\nc\n"], [b"a", b"b", b"c"], b""),
    "a line is several chunks": ([b"a", b"b", b"c\n"], [b"abc"], b""),
    "a line ends in the chunk where another begins": ([b"a\nb", b"c\n"], [b"a", b"bc"], b""),
    "a line break is a chunk": ([b"a", b"\n", b"b"], [b"a"], b"b"),
    "empty lines are left out": ([b"\n\n", b"a\n\n"], [b"a"], b""),
    "a chunk is empty": ([b"", b"a\n", b""], [b"a"], b""),
    "a line has no end": ([b"abc"], [], b"abc"),
}


@pytest.mark.parametrize(("chunks", "lines", "rest"), CASES.values(), ids=CASES.keys())
def test_chunks_are_split_into_lines(chunks: list[bytes], lines: list[bytes], rest: bytes) -> None:
    splitter = LineSplitter("here")

    assert [line for chunk in chunks for line in splitter.feed(chunk)] == lines
    assert splitter.feed(b".\n") == [rest + b"."]


@given(st.binary(), st.lists(st.integers(0, 20)))
def test_the_lines_do_not_depend_on_the_chunks(text: bytes, sizes: list[int]) -> None:
    splitter, lines, rest = LineSplitter("here"), list[bytes](), text
    for size in sizes:
        lines += splitter.feed(rest[:size])
        rest = rest[size:]
    lines += splitter.feed(rest)
    lines += splitter.feed(b"\n")

    assert lines == [line for line in text.split(b"\n") if line]


@pytest.mark.parametrize(
    "chunks", [[b"12345678\n"], [b"1234", b"5678"], [b"1\n12345678\n2\n"], [b"1234", b"5678\n"]]
)
def test_a_line_that_is_too_long_is_refused(chunks: list[bytes]) -> None:
    splitter = LineSplitter("here", max_bytes=7)
    for chunk in chunks[:-1]:
        splitter.feed(chunk)

    with pytest.raises(ApiError, match="here: sent an event of more than 7 bytes") as caught:
        splitter.feed(chunks[-1])

    assert caught.value.reason == "oversized"


def test_a_stream_may_end_after_a_line() -> None:
    splitter = LineSplitter("here")
    splitter.feed(b"a\n")

    splitter.end()


def test_a_stream_that_ends_within_a_line_is_refused() -> None:
    splitter = LineSplitter("here")
    splitter.feed(b"a\nb")

    with pytest.raises(ApiError, match="here: ended in the middle of an event"):
        splitter.end()

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.cluster.lines import LineSplitter
from webhook.errors import ApiError

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

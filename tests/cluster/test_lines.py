import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.cluster.lines import LineSplitter
from webhook.errors import ApiError

CASES: dict[str, tuple[list[bytes], list[bytes], int]] = {
    "a piece is a line": ([b"a\n"], [b"a"], 0),
    "a piece is several lines": ([b"a\nb\nc\n"], [b"a", b"b", b"c"], 0),
    "a line is several pieces": ([b"a", b"b", b"c\n"], [b"abc"], 0),
    "a line ends where another begins": ([b"a\nb", b"c\n"], [b"a", b"bc"], 0),
    "a break comes alone": ([b"a", b"\n", b"b"], [b"a"], 1),
    "empty lines are no lines": ([b"\n\n", b"a\n\n"], [b"a"], 0),
    "a piece is empty": ([b"", b"a\n", b""], [b"a"], 0),
    "a line has no end": ([b"abc"], [], 3),
}


@pytest.mark.parametrize(("pieces", "lines", "pending"), CASES.values(), ids=CASES.keys())
def test_lines(pieces: list[bytes], lines: list[bytes], pending: int) -> None:
    splitter = LineSplitter("here")

    assert [line for piece in pieces for line in splitter.feed(piece)] == lines
    assert splitter.pending == pending


@given(st.binary(), st.lists(st.integers(0, 20)))
def test_how_a_text_is_cut_does_not_matter(text: bytes, sizes: list[int]) -> None:
    splitter, lines, rest = LineSplitter("here"), list[bytes](), text
    for size in sizes:
        lines += splitter.feed(rest[:size])
        rest = rest[size:]
    lines += splitter.feed(rest)

    *whole, last = text.split(b"\n")
    assert lines == [line for line in whole if line]
    assert splitter.pending == len(last)


@pytest.mark.parametrize(
    "pieces", [[b"12345678\n"], [b"1234", b"5678"], [b"1\n12345678\n2\n"], [b"1234", b"5678\n"]]
)
def test_a_line_that_is_too_long_is_refused(pieces: list[bytes]) -> None:
    splitter = LineSplitter("here", longest=7)
    for piece in pieces[:-1]:
        splitter.feed(piece)

    with pytest.raises(ApiError, match="here: sent an event of more than 7 bytes") as caught:
        splitter.feed(pieces[-1])

    assert caught.value.reason == "oversized"


def test_a_stream_may_end_after_a_line() -> None:
    splitter = LineSplitter("here")
    splitter.feed(b"a\n")

    splitter.end()


def test_a_stream_that_ends_within_a_line_was_cut() -> None:
    splitter = LineSplitter("here")
    splitter.feed(b"a\nb")

    with pytest.raises(ApiError, match="here: ended in the middle of an event"):
        splitter.end()

"""Output of log lines: slow, closed and full readers cost lines, and nothing else."""

import io
import os
import resource
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import zip_longest
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.telemetry.line_writer import LAST_S, MOST_PENDING, OUTPUT_RETRY_S, PIECE, LineWriter

LINE = b"x" * 99  # with its end 100 bytes


class Timers:
    """``call_soon`` and ``call_later``, turned by hand."""

    def __init__(self) -> None:
        self.soon: list[Callable[[], None]] = []
        self.later: list[tuple[float, Callable[[], None]]] = []

    def lines(self, stream: BinaryIO) -> LineWriter:
        return LineWriter(stream, self._note_soon, self._note)

    def _note_soon(self, write: Callable[[], None]) -> None:
        self.soon.append(write)

    def _note(self, after: float, write: Callable[[], None]) -> None:
        self.later.append((after, write))

    def turn(self) -> None:
        """One turn of the loop, in which no timer is due."""
        soon, self.soon = self.soon, []
        for write in soon:
            write()

    def wait(self) -> None:
        """Let all timers come due."""
        later, self.later = self.later, []
        for _, write in later:
            write()


class Pipe:
    """A pipe, whose reader reads only when a test calls it."""

    def __init__(self) -> None:
        self.read_end, write_end = os.pipe()
        os.set_blocking(self.read_end, False)
        self.stream = os.fdopen(write_end, "wb", buffering=0)

    def read(self, most: int = MOST_PENDING) -> bytes:
        with suppress(BlockingIOError):
            return os.read(self.read_end, most)
        return b""

    def close_reader(self) -> None:
        os.close(self.read_end)
        self.read_end = -1


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    pipe = Pipe()
    yield pipe
    pipe.stream.close()
    if pipe.read_end >= 0:
        pipe.close_reader()


@pytest.fixture
def timers() -> Timers:
    return Timers()


def test_lines_of_one_turn_are_written_together(timers: Timers, pipe: Pipe) -> None:
    lines = timers.lines(pipe.stream)

    lines.take(b"a")
    lines.take(b"")
    assert pipe.read() == b""
    assert len(timers.soon) == 1
    timers.turn()

    assert pipe.read() == b"a\n\n"
    assert timers.later == []


def test_a_pipe_without_a_reader_is_not_waited_for(timers: Timers, pipe: Pipe) -> None:
    lines = timers.lines(pipe.stream)

    for _ in range(2000):  # three pipes full
        lines.take(LINE)
    timers.turn()
    held = pipe.read()

    assert timers.soon == []
    assert [after for after, _ in timers.later] == [OUTPUT_RETRY_S]
    assert 0 < len(held) < 200_000
    assert lines.lost == 0


def test_what_a_slow_reader_has_left_is_written_later(timers: Timers, pipe: Pipe) -> None:
    lines = timers.lines(pipe.stream)
    for _ in range(2000):
        lines.take(LINE)
    timers.turn()

    held = b""
    while timers.later:
        lines.take(LINE)
        held += pipe.read(PIECE)
        timers.wait()
        assert timers.soon == []  # a writer that waits for the reader does not try at each line
    held += pipe.read()

    assert set(held.splitlines()) == {LINE}
    assert held.count(b"\n") > 2000
    assert lines.lost == 0


def test_what_waits_is_bounded_and_whole_lines_are_lost(timers: Timers, pipe: Pipe) -> None:
    lines = timers.lines(pipe.stream)

    taken = 3 * MOST_PENDING // 100
    for number in range(taken):
        lines.take(b"%099d" % number)
        timers.turn()
    held = b""
    while timers.later:
        held += pipe.read()
        timers.wait()
    held += pipe.read()

    numbers = list(map(int, held.splitlines()))
    assert numbers == list(range(len(numbers)))  # none of the first ones is missing
    assert 0 < lines.lost == taken - len(numbers)
    assert len(held) <= MOST_PENDING + 2**16


def test_a_line_longer_than_the_bound_is_lost(timers: Timers) -> None:
    stream = io.BytesIO()
    lines = timers.lines(stream)

    lines.take(b"x" * MOST_PENDING)
    lines.take(b"a")
    timers.turn()

    assert stream.getvalue() == b"a\n"
    assert lines.lost == 1


def test_lines_without_a_reader_are_lost_and_leave_nothing_to_do(
    timers: Timers, pipe: Pipe
) -> None:
    lines = timers.lines(pipe.stream)
    pipe.close_reader()

    for _ in range(3):
        lines.take(LINE)
        lines.take(LINE)
        timers.turn()

    assert lines.lost == 6
    assert (timers.soon, timers.later) == ([], [])


def test_a_full_disk_loses_lines(timers: Timers) -> None:
    with Path("/dev/full").open("wb", buffering=0) as full:
        lines = timers.lines(full)
        lines.take(LINE)
        timers.turn()

    assert lines.lost == 1


def test_a_descriptor_that_was_closed_loses_lines(timers: Timers, pipe: Pipe) -> None:
    lines = timers.lines(pipe.stream)
    pipe.stream.close()

    lines.take(LINE)
    timers.turn()

    assert lines.lost == 1


def test_a_closed_stream_loses_lines(timers: Timers) -> None:
    stream = io.BytesIO()
    lines = timers.lines(stream)
    stream.close()

    lines.take(LINE)
    timers.turn()

    assert lines.lost == 1


def test_a_file_takes_everything_at_once(timers: Timers, tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as file:
        lines = timers.lines(file)
        for _ in range(5000):
            lines.take(LINE)
        timers.turn()

    assert (tmp_path / "log").read_bytes() == (LINE + b"\n") * 5000
    assert (lines.lost, timers.later) == (0, [])


def test_after_a_torn_line_comes_a_new_one(timers: Timers, tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as file:
        lines = timers.lines(file)
        lines.take(b"a" * 10)
        timers.turn()
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (15, hard))
        try:
            lines.take(b"b" * 10)
            lines.take(b"c" * 10)
            timers.turn()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        lines.take(b"d" * 10)
        timers.turn()

    assert (tmp_path / "log").read_text().split("\n") == ["a" * 10, "b" * 4, "d" * 10, ""]
    assert lines.lost == 2


def test_a_terminal_that_is_stopped_is_not_waited_for(timers: Timers) -> None:
    keyboard, terminal = os.openpty()
    with os.fdopen(terminal, "wb", buffering=0) as stream:
        lines = timers.lines(stream)
        for length in range(1, 500):
            lines.take(b"x" * length)
            timers.turn()
        assert timers.later  # it has no reader
    os.close(keyboard)


def test_a_terminal_that_cannot_be_opened_again_is_written_as_it_is(timers: Timers) -> None:
    keyboard, terminal = os.openpty()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with os.fdopen(terminal, "wb", buffering=0) as stream:
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))  # no file can be opened
        try:
            lines = timers.lines(stream)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        lines.take(b"x")
        timers.turn()
        with os.fdopen(keyboard, "rb") as reader:
            assert reader.readline() == b"x\r\n"  # it may come in two pieces


def test_the_last_lines_are_written_within_a_bound(timers: Timers, pipe: Pipe) -> None:
    lines = timers.lines(pipe.stream)
    for _ in range(2000):
        lines.take(LINE)
    clock = iter((0.0, LAST_S + 0.1))

    lines.finish(lambda: next(clock))

    assert lines.lost + pipe.read().count(b"\n") == 2000


def test_the_last_lines_wait_for_a_reader_that_reads(timers: Timers, pipe: Pipe) -> None:
    lines = timers.lines(pipe.stream)
    for _ in range(2000):
        lines.take(LINE)
    held = []

    def read_a_little() -> float:
        held.append(pipe.read(8 * PIECE))
        return 0.0

    lines.finish(read_a_little)

    assert lines.lost == 0
    assert (b"".join(held) + pipe.read()).count(b"\n") == 2000


class Moody(io.BytesIO):
    """Takes so many bytes at a time; 0: none now, -1: it fails."""

    def __init__(self, moods: Iterator[int]) -> None:
        super().__init__()
        self._moods = moods

    def write(self, data: Any, /) -> int:
        mood = next(self._moods, len(data))
        if mood < 0:
            raise OSError
        if mood == 0:
            raise BlockingIOError
        return super().write(data[:mood])


@given(
    lengths=st.lists(st.integers(0, 30), max_size=30),
    moods=st.lists(st.integers(-1, 40), max_size=60),
    turns=st.lists(st.booleans(), max_size=30),
)
def test_whole_lines_in_order_are_written_or_counted(
    lengths: list[int], moods: list[int], turns: list[bool]
) -> None:
    timers, stream = Timers(), Moody(iter(moods))
    lines = timers.lines(stream)
    taken = [b"<%d%s>" % (number, b"x" * length) for number, length in enumerate(lengths)]

    for line, turn in zip_longest(taken, turns[: len(taken)]):
        lines.take(line)
        if turn:
            timers.turn()
            timers.wait()
    lines.finish(lambda: 0.0)

    written = stream.getvalue().split(b"\n")
    whole = [line for line in written if line.endswith(b">")]
    torn = [line for line in written if line and not line.endswith(b">")]
    assert whole == [line for line in taken if line in whole]
    assert len(whole) + lines.lost == len(taken)
    assert all(any(line.startswith(part) for line in taken) for part in torn)
    assert len(torn) <= moods.count(-1)

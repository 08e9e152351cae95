"""
Bounded, non-blocking output of log lines that never raises.

``LineWriter`` collects the lines of one turn of the event loop and writes them in one piece. If the
reader is slow, gone or stopped (a full pipe, a full disk, Ctrl-S), lines are dropped and counted.
This module must not log, because it is what the log writes to.
"""

import os
import select
import stat
from collections.abc import Callable
from typing import BinaryIO, TypeAlias

PIECE = select.PIPE_BUF
"""Bytes of one write (4096 on Linux): a pipe that polls writable takes them without blocking."""

MOST_PENDING = 2**20
"""
The most bytes that wait for a slow reader; further lines are lost.

These are about 3 000 lines, enough for a restart of the log collector in a calm minute, and little
compared with the 192 MiB of a replica.
"""

OUTPUT_RETRY_S = 0.05
"""
Seconds between two tries with a reader that takes nothing.

Short enough to carry 1 MiB/s through a pipe of 64 KiB, with at most 20 system calls per second.
"""

LAST_S = 1.0  # seconds that the end of the process waits for a reader; a pod has 60 s to end

_NEWLINE = b"\n"

Soon: TypeAlias = Callable[[Callable[[], None]], object]
Later: TypeAlias = Callable[[float, Callable[[], None]], object]


class LineWriter:
    """
    Writes log lines without blocking.

    One system call per line would take longer than the verdict on a review, so the lines of one
    turn of the event loop are written together.

    Attributes:
        lost: The number of lines that were not written, or only in part.
    """

    def __init__(self, stream: BinaryIO, soon: Soon, later: Later | None = None) -> None:
        """
        Start without a line.

        Args:
            stream: With or without a file descriptor; a stream without one must not block.
            soon: ``call_soon`` of the event loop.
            later: ``call_later`` of the event loop, to try again when the reader takes nothing;
                if None, only the next line tries again.
        """
        self._output = open_output(stream)
        self._soon = soon
        self._later = later
        self._scheduled = False
        self._queue: list[bytes] = []
        self._size = 0  # bytes in the queue
        self._rest = b""  # taken from the queue and not written yet; may begin inside a line
        self._line_begins = True  # whether the next byte written begins a line
        self.lost = 0

    def take(self, line: bytes) -> None:
        """Queue a line without its newline; if ``MOST_PENDING`` bytes already wait, it is lost."""
        size = self._size + len(line) + len(_NEWLINE)
        if size + len(self._rest) > MOST_PENDING:
            self.lost += 1
            return
        self._size = size
        self._queue.append(line)
        if not self._scheduled:
            self._scheduled = True
            self._soon(self.write)

    debug = info = warning = error = critical = take  # the methods that structlog calls, by level

    def write(self) -> None:
        """Write as much as the output takes now; try the rest again after ``OUTPUT_RETRY_S``."""
        self._scheduled = False
        self._write()
        if self._rest and self._later is not None:
            self._scheduled = True
            self._later(OUTPUT_RETRY_S, self.write)

    def finish(self, clock: Callable[[], float]) -> None:
        """
        Write the last lines within ``LAST_S``; lines that remain then are lost.

        Args:
            clock: Seconds; never goes back.
        """
        end = clock() + LAST_S
        self._write()
        while self._rest and (left := end - clock()) > 0:
            self._output.ready(left)
            self._write()
        self._drop()

    def _write(self) -> None:
        self._gather()
        data, output, done = self._rest, self._output, 0
        try:
            while done < len(data) and output.ready(0):
                done += output.write(data[done : done + output.piece])
        except BlockingIOError:  # another process has made the shared descriptor non-blocking
            self._advance(done)
        except (OSError, ValueError):
            self._advance(done)
            self._drop()
        else:
            self._advance(done)

    def _gather(self) -> None:
        if self._queue:
            # If half a line was written and the rest lost, end it before the next line begins.
            torn = not self._rest and not self._line_begins
            start = _NEWLINE if torn else self._rest
            self._rest = start + _NEWLINE.join((*self._queue, b""))
            self._queue, self._size = [], 0

    def _advance(self, done: int) -> None:
        if done:
            self._line_begins = self._rest.endswith(_NEWLINE, 0, done)
            self._rest = self._rest[done:]

    def _drop(self) -> None:
        # A newline that comes first ends a line that was written whole or has been counted.
        ends = self._rest.startswith(_NEWLINE) and not self._line_begins
        self.lost += self._rest.count(_NEWLINE) - ends
        self._rest = b""


class _Stream:
    """
    A Python stream without a file descriptor.

    Attributes:
        piece: The most bytes for one ``write``.
    """

    piece = MOST_PENDING + 1  # everything at once, with the newline of a torn line

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def ready(self, wait_s: float) -> bool:  # noqa: ARG002  # memory is always ready
        """Wait at most ``wait_s`` seconds until ``write`` takes a piece; whether it does."""
        return True

    def write(self, data: bytes) -> int:
        """Write a piece and return its bytes; OSError: no reader or space, ValueError: closed."""
        taken = self._stream.write(data)
        self._stream.flush()
        return taken


class _File(_Stream):
    """A regular file, which poll(2) always reports as writable."""

    def write(self, data: bytes) -> int:
        return os.write(self._stream.fileno(), data)


class _Descriptor:
    """A pipe, a socket, a terminal or another device."""

    piece = PIECE

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLOUT)

    def ready(self, wait_s: float) -> bool:
        return bool(self._poll.poll(wait_s * 1000))  # also for errors, which the write then raises

    def write(self, data: bytes) -> int:
        return os.write(self._descriptor, data)


def open_output(stream: BinaryIO) -> _Stream | _Descriptor:
    """Choose the output for a stream that writes without blocking."""
    try:
        descriptor = stream.fileno()
        mode = os.fstat(descriptor).st_mode
    except (OSError, ValueError):  # io.UnsupportedOperation is both
        return _Stream(stream)
    if stat.S_ISREG(mode):
        return _File(stream)
    return _Descriptor(_reopened(descriptor) if os.isatty(descriptor) else descriptor)


def _reopened(terminal: int) -> int:
    """
    Open a terminal for this process alone, so that it can be non-blocking.

    A terminal that polls writable may take less than a piece. Setting the mode on the descriptor
    itself would change it for the shell, which shares the descriptor.
    """
    flags = os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        return os.open(os.ttyname(terminal), flags)
    except OSError:
        return terminal

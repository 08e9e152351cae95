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
from typing import BinaryIO, Protocol, TypeAlias

PIECE = select.PIPE_BUF
"""Bytes of one write (4096 on Linux): a pipe that polls writable takes so many without waiting."""

MOST_PENDING = 2**20
"""
Bytes that wait for a slow reader; lines beyond are lost.

About 3 000 lines: a restart of the log collector loses none of a calm minute, and the memory is
small beside a replica's 192 MiB.
"""

RETRY_S = 0.05
"""
Between two looks at a reader that takes nothing.

Short enough for a pipe of 64 KiB to carry 1 MiB/s, and no more than 20 system calls a second.
"""

LAST_S = 1.0
"""How long the end of the process waits for a reader; a grace period has 60 s in all."""

_NEWLINE = b"\n"

Soon: TypeAlias = Callable[[Callable[[], None]], object]
Later: TypeAlias = Callable[[float, Callable[[], None]], object]


class LogOutput(Protocol):
    """
    Where bytes go.

    Attributes:
        piece: The most bytes that one ``write`` takes.
    """

    piece: int

    def ready(self, wait_s: float) -> bool:
        """Tell whether ``write`` takes a piece now; wait so long for that."""
        ...

    def write(self, data: bytes) -> int:
        """
        Write a piece and return how many of its bytes were taken.

        Raises:
            OSError: The reader is gone, or the disk is full.
            ValueError: The stream is closed.
        """
        ...


class LineWriter:
    """
    Log lines on their way out.

    A system call a line would cost more than judging a review, so the lines of a turn are written
    together.

    Attributes:
        lost: Lines that were not written, or only in part.
    """

    def __init__(self, stream: BinaryIO, soon: Soon, later: Later | None = None) -> None:
        """
        Start without a line.

        Args:
            stream: With or without a file descriptor; one without must not block.
            soon: ``call_soon`` of the event loop.
            later: ``call_later`` of the event loop, for a reader that takes nothing now; None:
                only the next line tries again.
        """
        self._output = open_output(stream)
        self._soon = soon
        self._later = later
        self._scheduled = False
        self._kept: list[bytes] = []
        self._size = 0  # of what is kept, in bytes
        self._rest = b""  # taken from what was kept and not written yet; may begin inside a line
        self._line_begins = True  # whatever is written next
        self.lost = 0

    def take(self, line: bytes) -> None:
        """Keep a line, which has no end of its own; beyond ``MOST_PENDING`` it is lost."""
        size = self._size + len(line) + len(_NEWLINE)
        if size + len(self._rest) > MOST_PENDING:
            self.lost += 1
            return
        self._size = size
        self._kept.append(line)
        if not self._scheduled:
            self._scheduled = True
            self._soon(self.write)

    debug = info = warning = error = critical = take  # what structlog calls, by level

    def write(self) -> None:
        """Write what is taken without waiting; the rest is tried again after ``RETRY_S``."""
        self._scheduled = False
        self._write()
        if self._rest and self._later is not None:
            self._scheduled = True
            self._later(RETRY_S, self.write)

    def finish(self, clock: Callable[[], float]) -> None:
        """
        Write the last lines, within ``LAST_S``; what cannot be written then is lost.

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
        except BlockingIOError:  # somebody has made the descriptor a non-blocking one
            self._advance(done)
        except (OSError, ValueError):
            self._advance(done)
            self._drop()
        else:
            self._advance(done)

    def _gather(self) -> None:
        if self._kept:
            # The rest of a line that was lost half-written must not be glued to another one.
            torn = not self._rest and not self._line_begins
            start = _NEWLINE if torn else self._rest
            self._rest = start + _NEWLINE.join((*self._kept, b""))
            self._kept, self._size = [], 0

    def _advance(self, done: int) -> None:
        if done:
            self._line_begins = self._rest.endswith(_NEWLINE, 0, done)
            self._rest = self._rest[done:]

    def _drop(self) -> None:
        # Inside a line, an end that comes first makes that line whole or belongs to one counted.
        ends = self._rest.startswith(_NEWLINE) and not self._line_begins
        self.lost += self._rest.count(_NEWLINE) - ends
        self._rest = b""


class _Stream:
    """A stream of Python's without a file descriptor."""

    piece = MOST_PENDING + 1  # all of it: with the end of a torn line

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def ready(self, wait_s: float) -> bool:  # noqa: ARG002  # memory takes anything at once
        return True

    def write(self, data: bytes) -> int:
        taken = self._stream.write(data)
        self._stream.flush()
        return taken


class _File(_Stream):
    """A regular file, which poll(2) always calls writable."""

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
        return bool(self._poll.poll(wait_s * 1000))  # errors too, which the write then raises

    def write(self, data: bytes) -> int:
        return os.write(self._descriptor, data)


def open_output(stream: BinaryIO) -> LogOutput:
    """Choose how to write to a stream without waiting."""
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

    A terminal that polls writable may take less than a piece. A mode set on the descriptor itself
    would be seen by the shell, which shares it.
    """
    flags = os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        return os.open(os.ttyname(terminal), flags)
    except OSError:
        return terminal

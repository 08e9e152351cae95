"""Lines out of pieces: a watch is one JSON document a line, cut into pieces wherever it pleases."""

from webhook.cluster.protocol import FailureReason
from webhook.errors import ApiError

MAX_LINE_BYTES = 16 * 1024 * 1024
"""
Bytes of one event: ten times what etcd takes for an object (1.5 MiB).

asyncio's own reader gives up at 64 KiB, that of aiohttp at twice its buffer.
"""


class LineSplitter:
    """
    What came of one stream so far.

    Attributes:
        pending: Bytes of the line that has begun and not ended.
    """

    def __init__(self, source: str, longest: int = MAX_LINE_BYTES) -> None:
        """
        Start with nothing.

        Args:
            source: Who sends, for errors.
            longest: Most bytes of a line.
        """
        self._source = source
        self._longest = longest
        self._pieces: list[bytes] = []
        self.pending = 0

    def feed(self, piece: bytes) -> list[bytes]:
        """
        Take a piece, and give the lines that it completes; empty ones are left out.

        Raises:
            ApiError: A line is too long; the stream is of no more use.
        """
        *lines, rest = piece.split(b"\n")
        if lines:
            lines[0] = b"".join((*self._pieces, lines[0]))
            self._pieces, self.pending = [], 0
        self._pieces.append(rest)
        self.pending += len(rest)
        if self.pending > self._longest or any(len(line) > self._longest for line in lines):
            problem = f"sent an event of more than {self._longest} bytes"
            raise ApiError(self._source, problem, FailureReason.OVERSIZED)
        return [line for line in lines if line]

    def end(self) -> None:
        """
        Say that nothing more comes.

        Raises:
            ApiError: It ends in the middle of a line.
        """
        if self.pending:
            problem = "ended in the middle of an event"
            raise ApiError(self._source, problem, FailureReason.UNREACHABLE)

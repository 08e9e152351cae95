"""Split the chunks of a watch into lines; every line is one JSON document."""

from webhook.cluster.protocol import FailureReason
from webhook.errors import ApiError

MAX_LINE_BYTES = 16 * 1024 * 1024
"""
Bytes of one event: ten times the largest object in etcd (1.5 MiB).

asyncio's reader fails at 64 KiB, that of aiohttp at twice its buffer.
"""


class LineSplitter:
    """Splits one stream into lines."""

    def __init__(self, source: str, max_bytes: int = MAX_LINE_BYTES) -> None:
        """Create a splitter for a new stream; ``source`` names the server in errors."""
        self._source = source
        self._max_bytes = max_bytes
        self._pieces: list[bytes] = []
        self._pending = 0

    def feed(self, piece: bytes) -> list[bytes]:
        """
        Add a chunk and return the lines that it completes, without empty ones.

        Raises:
            ApiError: A line is too long; the stream cannot continue.
        """
        *lines, rest = piece.split(b"\n")
        if lines:
            lines[0] = b"".join((*self._pieces, lines[0]))
            self._pieces, self._pending = [], 0
        self._pieces.append(rest)
        self._pending += len(rest)
        if self._pending > self._max_bytes or any(len(line) > self._max_bytes for line in lines):
            problem = f"sent an event of more than {self._max_bytes} bytes"
            raise ApiError(self._source, problem, FailureReason.OVERSIZED)
        return [line for line in lines if line]

    def end(self) -> None:
        """
        Check that the stream ended with a complete line.

        Raises:
            ApiError: It ends in the middle of a line.
        """
        if self._pending:
            problem = "ended in the middle of an event"
            raise ApiError(self._source, problem, FailureReason.UNREACHABLE)

"""
Memory of TLS connections, which by default makes a server slow and lets it grow for days.

glibc gives a block of 128 KiB or more pages of its own, but each time it frees one, it raises this
size. Then the 256 KiB buffers of connections lie on the heap between small objects, which keep it
from shrinking: 20 MiB in an hour of faults. Of the free pages on the heap, glibc returns only the
last ones by itself: 2 MiB in an hour. Source: mallopt(3), M_MMAP_THRESHOLD; malloc_trim(3).
"""

import ctypes
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MMAP_THRESHOLD = 128 * 1024  # bytes from which a block has pages of its own: glibc's first value
ARENAS = 1  # heaps that threads share: Python's threads take turns, so that more would lie idle
TRIM_S = 10.0  # seconds between two searches for free pages, each of which takes 2 ms
LONGEST_RECORD = 16 * 1024  # bytes of plaintext in a TLS record: RFC 8446 5.1
_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8  # malloc.h of glibc


class RecordReader(ssl.SSLObject):
    """
    A TLS connection that allocates one record for a read, not the 256 KiB that uvloop requests.

    No read returns more than a record, see SSL_read(3). To allocate the rest takes 10 us.
    """

    def read(self, len: int = 1024, buffer: "WriteableBuffer | None" = None) -> bytes:  # noqa: A002  # the parent's name
        """Read decrypted bytes, as ``SSLObject.read`` does."""
        return ssl.SSLObject.read(self, min(len, LONGEST_RECORD), buffer)  # super() adds 0.3 us


def limit_fragmentation(library: ctypes.CDLL) -> None:
    """
    Keep large blocks of this process apart from small ones.

    Args:
        library: The C library, ``ctypes.CDLL(None)``.
    """
    with suppress(AttributeError):  # musl has no such settings
        library.mallopt(_M_MMAP_THRESHOLD, MMAP_THRESHOLD)
        library.mallopt(_M_ARENA_MAX, ARENAS)


async def return_memory(library: ctypes.CDLL, sleep: Callable[[float], Awaitable[object]]) -> None:
    """Return the free pages between small objects to the system, every ``TRIM_S``."""
    with suppress(AttributeError):  # musl has no such function
        while True:
            await sleep(TRIM_S)
            library.malloc_trim(0)

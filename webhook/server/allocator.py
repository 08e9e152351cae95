"""
The memory allocator of the C library, whose defaults let the memory of a server grow for days.

``limit_fragmentation`` is the entry point. glibc gives a block of 128 KiB or more pages of its own,
which it returns when the block is freed. But whenever it frees one, it raises this size, up to
32 MiB. After the first TLS connection, whose buffer has 256 KiB, the buffers of others lie on the
heap between small objects, which keep it from shrinking: 171 000 reviews in an hour of faults, on
changing connections, cost 20 MiB. Source: mallopt(3), M_MMAP_THRESHOLD.
"""

import ctypes

MMAP_THRESHOLD = 128 * 1024  # bytes from which a block has pages of its own: glibc's first value
ARENAS = 1  # heaps that threads share: Python's threads take turns, so that more would lie idle
_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8  # malloc.h of glibc


def limit_fragmentation(library: ctypes.CDLL) -> bool:
    """
    Keep large blocks apart from small ones, for the rest of this process.

    Args:
        library: The C library, ``ctypes.CDLL(None)``.

    Returns:
        False if it has no such setting, as musl.
    """
    try:
        mallopt = library.mallopt
    except AttributeError:
        return False
    settings = ((_M_MMAP_THRESHOLD, MMAP_THRESHOLD), (_M_ARENA_MAX, ARENAS))
    return all(mallopt(name, value) for name, value in settings)

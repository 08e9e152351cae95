"""Settings of the allocator last until a process ends, so they are tried in others."""

import asyncio
import ctypes
import ssl
import subprocess
import sys
import tracemalloc
from contextlib import suppress
from functools import partial
from typing import NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.server.serving import client_tls, server_tls
from webhook.server.allocator import (
    ARENAS,
    LONGEST_RECORD,
    MMAP_THRESHOLD,
    TRIM_S,
    RecordReader,
    limit_fragmentation,
    return_memory,
)

FRAGMENTS = """
import ctypes
from pathlib import Path
from webhook.server.allocator import limit_fragmentation
if {limited}:
    limit_fragmentation(ctypes.CDLL(None))

def resident():
    return int(Path("/proc/self/status").read_text().partition("VmRSS:")[2].split()[0])

def allocate(size):
    return ctypes.create_string_buffer(size)

allocate(512 * 1024)  # it is freed at once: glibc raises its threshold
before, kept = resident(), []
for _ in range(400):  # connections that come and go, and a small object between each two
    buffer = allocate(256 * 1024)
    ctypes.memset(buffer, 1, 256 * 1024)
    small = [allocate(1500) for _ in range(20)]
    ctypes.memset(buffer, 2, 256 * 1024)
    kept.append((buffer, small))
kept = [small for _, small in kept]
print(resident() - before)
"""


def grow(*, limited: bool) -> int:
    """The growth in KiB of a process that frees its large blocks, but not the small ones."""
    return print_of(FRAGMENTS.format(limited=limited))


def print_of(program: str) -> int:
    """The number that a Python program prints."""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's allocator")
def test_large_blocks_that_are_freed_leave_no_gaps() -> None:
    assert grow(limited=True) < grow(limited=False) / 4


def test_a_library_with_the_setting_takes_it() -> None:
    taken: list[tuple[int, int]] = []

    class Library(ctypes.CDLL):
        def mallopt(self, name: int, value: int) -> int:
            taken.append((name, value))
            return 1

    limit_fragmentation(Library(None))

    assert taken == [(-3, MMAP_THRESHOLD), (-8, ARENAS)]


def test_a_library_without_the_setting_is_left_alone() -> None:
    class Other(ctypes.CDLL):
        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(name)

    limit_fragmentation(Other(None))  # does not raise


async def test_free_pages_are_returned_after_each_period() -> None:
    trimmed, slept = list[int](), list[float]()

    class Library(ctypes.CDLL):
        def malloc_trim(self, pad: int) -> int:
            trimmed.append(pad)
            return 1

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 3:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await return_memory(Library(None), sleep)

    assert (trimmed, slept) == ([0, 0], [TRIM_S] * 3)


async def test_without_the_function_nothing_is_returned() -> None:
    class Other(ctypes.CDLL):
        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(name)

    await return_memory(Other(None), partial(asyncio.sleep, 0))  # ends


SMALL = """
import asyncio, ctypes
from pathlib import Path
from webhook.server.allocator import return_memory

def resident():
    return int(Path("/proc/self/status").read_text().partition("VmRSS:")[2].split()[0])

async def sleep(_):
    global full
    if full:
        raise asyncio.CancelledError
    full = resident()

full = 0
blocks = [ctypes.create_string_buffer(8000) for _ in range(10_000)]
ctypes.create_string_buffer(8000)
kept = blocks[::20]
del blocks
try:
    asyncio.run(return_memory(ctypes.CDLL(None), sleep))
except asyncio.CancelledError:
    print(full - resident())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's allocator")
def test_pages_between_small_objects_are_returned() -> None:
    assert print_of(SMALL) > 10_000  # KiB, of 76 000 that are free


def connection() -> tuple[ssl.SSLObject, ssl.SSLObject, ssl.MemoryBIO]:
    """A client, a server that reads records, and what the server has received."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = client_tls().wrap_bio(to_client, to_server, server_hostname="127.0.0.1")
    context = server_tls()
    context.sslobject_class = RecordReader
    server = context.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(2):
        for end in (client, server):
            with suppress(ssl.SSLWantReadError):
                end.do_handshake()
    return client, server, to_server


@given(st.lists(st.integers(1, 3 * LONGEST_RECORD), max_size=4), st.integers(1, 2**18))
def test_a_server_reads_every_byte(sizes: list[int], requested: int) -> None:
    client, server, received = connection()
    sent = bytes(number % 251 for number in range(sum(sizes)))
    begin = 0
    for size in sizes:
        client.write(sent[begin : begin + size])
        begin += size

    read = bytearray()
    while received.pending or server.pending():
        read += server.read(max(requested, 1000))

    assert bytes(read) == sent


def test_a_server_reads_into_a_buffer() -> None:
    client, server, _ = connection()
    client.write(b"review")
    buffer = bytearray(2**18)

    server.read(len(buffer), buffer)

    assert bytes(buffer[:7]) == b"review\0"


def test_a_read_allocates_a_record_at_most() -> None:
    client, server, _ = connection()
    client.write(b"review")
    tracemalloc.start()
    try:
        server.read(2**18)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 2 * LONGEST_RECORD

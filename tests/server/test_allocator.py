"""Settings of the allocator, in processes of their own: they last until a process ends."""

import ctypes
import subprocess
import sys
from typing import NoReturn

import pytest

from webhook.server.allocator import ARENAS, MMAP_THRESHOLD, limit_fragmentation

FRAGMENTS = """
import ctypes
from pathlib import Path
from webhook.server.allocator import limit_fragmentation
if {limited}:
    assert limit_fragmentation(ctypes.CDLL(None))

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
    done = subprocess.run(
        [sys.executable, "-c", FRAGMENTS.format(limited=limited)],
        capture_output=True,
        text=True,
        check=True,
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

    assert limit_fragmentation(Library(None))
    assert taken == [(-3, MMAP_THRESHOLD), (-8, ARENAS)]


def test_a_library_without_the_setting_is_left_alone() -> None:
    class Other(ctypes.CDLL):
        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(name)

    assert not limit_fragmentation(Other(None))

"""Bounds of one input: CPU time and memory. ``run_bounded`` is the entry point."""

import time
from pathlib import Path

from tests.fuzz.targets import Check, FindingError

LARGEST_INPUT = 16 * 1024
"""Bytes of an input: most defects need few, and a search of larger ones is slow."""

MOST_CPU_S = 5.0
"""Seconds of CPU time for one input, also while a fuzzer counts branches; most take 1 ms."""

MOST_GROWTH = 256 * 2**20
"""Bytes by which one input may raise the memory of the process."""


def run_bounded(check: Check, data: bytes) -> None:
    """
    Check one input.

    Raises:
        FindingError: It takes too much time or memory; or what the check raises.
    """
    memory, start = _peak(), time.thread_time()
    check(data)
    took, grown = time.thread_time() - start, _peak() - memory
    if took > MOST_CPU_S:
        raise FindingError(f"{len(data)} bytes take {took:.1f} s of CPU time")
    if grown > MOST_GROWTH:
        raise FindingError(f"{len(data)} bytes take {grown >> 20} MiB")


def _peak() -> int:
    """Read the peak in bytes from /proc: ru_maxrss includes the parent's from before exec."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024

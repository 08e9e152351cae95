"""
Takes samples of /livez until standard input ends: a line for each, ``began status measured own``.

A program of its own, so that no thread of a test delays it, and without imports that take time.
``began`` is CLOCK_MONOTONIC in seconds, which is the same in all processes of a machine;
``measured`` are milliseconds of wall clock. A machine that does other things delays both sides, so
``own`` leaves out the time in which, by the kernel's count, the threads of both waited for a core,
and the time for which a virtual machine had no core of its host. A virtual machine can stand still
without such a count: then this process, too, wakes up late while it waits for the answer.
"""

import http.client
import os
import select
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

TICK_S = 0.005  # between two awakenings while an answer is awaited
PAUSE_S = 0.05  # between two samples
PATIENCE_S = 60.0  # for one sample


def wait_ms(pid: int) -> float:
    """
    How long the threads of a process were able to run and had no core, since they began.

    All threads count, because one of them may hold the interpreter's lock and have no core.
    """
    waited = 0.0
    with suppress(OSError):  # the process, or one of its threads, has ended
        for thread in Path(f"/proc/{pid}/task").iterdir():
            waited += int((thread / "schedstat").read_text().split()[1]) / 1e6
    return waited


def stolen_ms() -> float:
    """
    How long the host ran others instead of this machine, since it started; 0 where it is unknown.

    Source: proc(5), the eighth time of /proc/stat, which no count of a thread contains.
    """
    with suppress(OSError, IndexError), Path("/proc/stat").open() as lines:
        return int(next(lines).split()[8]) * 1000 / os.sysconf("SC_CLK_TCK")
    return 0.0


def withheld_ms(pid: int) -> float:
    """How long a process and this one had no core although they could run, since they began."""
    return wait_ms(pid) + wait_ms(os.getpid()) + stolen_ms()


def late_ms(is_ready: Callable[[float], bool], now: Callable[[], float]) -> float:
    """
    Wait until something is ready, and measure how late this process wakes up meanwhile.

    Args:
        is_ready: Waits for as many seconds at most.
        now: A monotonic clock, in seconds.
    """
    late, began = 0.0, now()
    before, ready = began, False
    while not ready and before - began < PATIENCE_S:
        ready = is_ready(TICK_S)
        after = now()
        late += max(0.0, after - before - TICK_S)
        before = after
    return late * 1000


def sample(port: int, pid: int) -> str:
    """Ask once; a server that does not answer has the status 0."""
    status, late = 0, 0.0
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    withheld, began = withheld_ms(pid), time.monotonic()
    with suppress(OSError, http.client.HTTPException):
        connection.request("GET", "/livez")
        read = [connection.sock]
        late = late_ms(lambda wait: bool(select.select(read, [], [], wait)[0]), time.monotonic)
        status = connection.getresponse().status
    took = (time.monotonic() - began) * 1000
    connection.close()
    withheld = max(withheld_ms(pid) - withheld, late)
    return f"{began:.4f} {status} {took:.1f} {max(0.0, took - withheld):.1f}"


def main(port: int, pid: int) -> None:
    """Print samples of the health listener at a port of the process with an id."""
    while not select.select([sys.stdin], [], [], PAUSE_S)[0]:
        print(sample(port, pid), flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

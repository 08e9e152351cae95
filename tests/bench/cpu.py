"""
What a process has used, as the kernel counts it: CPU time, waiting for a core, memory.

Source: Linux Documentation/scheduler/sched-stats.rst, proc_pid_status(5). ``schedstat`` counts
nanoseconds; ``stat`` the same time in ticks of 10 ms, too coarse for short rounds.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

PROC = Path("/proc")
NANOSECOND = 1e-9  # seconds
KIB_A_MIB = 1024
LEAST_WEIGHT, USUAL_WEIGHT = 19, 0  # nice values of a session


class Spent(NamedTuple):
    """
    Time of a process since it started, in seconds, of all its threads.

    Attributes:
        running: On a core.
        waiting: Runnable while another process had the core.
    """

    running: float
    waiting: float

    def since(self, earlier: "Spent") -> "Spent":
        """What came after an earlier reading."""
        return Spent(self.running - earlier.running, self.waiting - earlier.waiting)


def spent(pid: int, proc: Path = PROC) -> Spent:
    """
    Read the time that a process has spent; threads that have ended do not count.

    Raises:
        OSError: It has ended, or the kernel does not count.
    """
    tasks = [read_schedstat(file.read_text()) for file in proc.glob(f"{pid}/task/*/schedstat")]
    if not tasks:
        raise ProcessLookupError(f"process {pid} has no schedstat in {proc}")
    return Spent(sum(task.running for task in tasks), sum(task.waiting for task in tasks))


def read_schedstat(text: str) -> Spent:
    """Read ``schedstat`` of one thread: time on a core, time waiting for one, time slices."""
    running, waiting, _ = map(int, text.split())
    return Spent(running * NANOSECOND, waiting * NANOSECOND)


def resident_mib(pid: int, proc: Path = PROC) -> float:
    """Memory that a process holds at the moment, in MiB, with the pages that it shares."""
    for line in (proc / str(pid) / "status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == "VmRSS":
            return int(value.split()[0]) / KIB_A_MIB
    raise ProcessLookupError(f"process {pid} has no memory any more")


class Cores(NamedTuple):
    """One core for servers and another one for everything else."""

    server: int
    load: int


def choose_cores(usable: set[int]) -> Cores:
    """
    Choose from the cores that this process may use.

    Raises:
        ValueError: There is only one; load and server would measure each other.
    """
    if len(usable) < len(Cores._fields):
        raise ValueError("a benchmark needs two cores: one for the server, one for the load")
    return Cores(min(usable), max(usable))


def pin(pid: int, core: int) -> None:
    """Keep a process, 0 for this one, on one core; also the threads that it starts later."""
    for thread in _threads(pid):
        with suppress(ProcessLookupError):
            os.sched_setaffinity(thread, {core})


@contextmanager
def yielding(pids: Sequence[int]) -> Iterator[None]:
    """
    Give processes of other sessions, and their threads, the lowest priority.

    Linux divides a core among sessions first, whatever the priority of their threads is.

    Source: sched(7), ``SCHED_IDLE`` and "The autogroup feature".
    """
    _schedule(pids, os.SCHED_IDLE)
    _weigh_sessions(pids, LEAST_WEIGHT)
    try:
        yield
    finally:
        _schedule(pids, os.SCHED_OTHER)
        _weigh_sessions(pids, USUAL_WEIGHT)


def _weigh_sessions(pids: Sequence[int], nice: int) -> None:
    for pid in pids:
        with suppress(OSError):  # it has ended, or this kernel has no autogroups
            if os.getsid(pid) != os.getsid(0):
                (PROC / str(pid) / "autogroup").write_text(str(nice))


def _schedule(pids: Sequence[int], policy: int) -> None:
    for pid in pids:
        for thread in _threads(pid):
            with suppress(ProcessLookupError):  # it has ended meanwhile
                os.sched_setscheduler(thread, policy, os.sched_param(0))


def _threads(pid: int) -> list[int]:
    """The threads of a process; none if it has ended."""
    folder = PROC / str(pid or os.getpid()) / "task"
    return [int(thread.name) for thread in folder.glob("*")]

"""
A program that runs beside the test and never outlives it.

However the test ends: stop() on the normal way, an exit handler without it, and the
kernel (tether.py) if this process is killed. Only what was started here is ever signalled: the
process group that each program leads.
"""

import atexit
import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.controlplane.waiting import PATIENCE_S, until

END_S = 120.0  # from a signal to the end; a server may drain for 45 s
LONGEST_LINE = 400  # characters of a line of a log in a report; kube-apiserver writes megabytes

TETHER = Path(__file__).with_name("tether.py")

# The kernel takes the *thread* that forked for the parent of a tethered program: one that runs
# as long as this process must do it, not the thread of a test.
_SPAWNER = ThreadPoolExecutor(max_workers=1, thread_name_prefix="controlplane-spawner")

PORTS = range(20_000, 30_000)
"""
Ports to listen on: below the range from which Linux picks ports of outgoing connections (32768),
so that no other process takes the port of a restarting program, and below NodePorts (30000).
"""


class ProcessError(Exception):
    """A program ended by itself, or did not get ready; shows the end of its log."""


class Process:
    """
    One program, startable again and again with the same or other arguments.

    Attributes:
        name: For messages, such as ``kube-apiserver``.
        command: Program and arguments of the next start().
        log: File that takes standard output and error of all starts.
    """

    def __init__(self, name: str, command: Sequence[str], *, log: Path) -> None:
        self.name = name
        self.command = tuple(command)
        self.log = log
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def alive(self) -> bool:
        """Whether it was started and has not ended."""
        return self._child is not None and self._child.poll() is None

    @property
    def exit_code(self) -> int | None:
        """Of the last one that ended by itself, negative for a signal; None: it runs."""
        return None if self._child is None else self._child.poll()

    @property
    def pid(self) -> int:
        """
        Process id, also its process group.

        Raises:
            ProcessError: It does not run.
        """
        if self._child is None or not self.alive:
            raise ProcessError(f"{self.name} does not run")
        return self._child.pid

    def start(self) -> None:
        """Start it and return at once; it must not be running."""
        if self.alive:
            raise ProcessError(f"{self.name} runs already")
        tethered = (sys.executable, "-I", "-S", str(TETHER), str(os.getpid()), *self.command)
        self._child = _SPAWNER.submit(self._spawn, tethered).result()
        atexit.register(self.kill)

    def _spawn(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.log.parent,
                start_new_session=True,  # Ctrl-C is for the test runner, which then stops us
            )

    def wait_until(self, ready: Callable[[], bool], *, patience_s: float = PATIENCE_S) -> None:
        """
        Wait until it is ready.

        Raises:
            ProcessError: It ended first, or was not ready in time; it may still run.
        """

        def ended_or_ready() -> bool:
            return not self.alive or ready()

        try:
            until(ended_or_ready, f"{self.name} to be ready", patience_s=patience_s)
        except TimeoutError as error:
            raise ProcessError(f"{error}\n{self.tail()}") from error
        if not self.alive:
            raise ProcessError(f"{self.name} ended by itself\n{self.tail()}")

    def kill(self) -> None:
        """End it with SIGKILL, and wait until it is gone. Nothing happens if it does not run."""
        self._end(signal.SIGKILL)

    def terminate(self) -> None:
        """
        Ask it to end with SIGTERM, and wait until it is gone.

        Raises:
            ProcessError: It went on for END_S; it is killed then.
        """
        try:
            self._end(signal.SIGTERM)
        except subprocess.TimeoutExpired as error:
            self.kill()
            raise ProcessError(f"{self.name} ignored SIGTERM\n{self.tail()}") from error

    def pause(self) -> None:
        """Stop it with SIGSTOP, and wait for that: its connections stay open, and silent."""
        os.killpg(self.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def resume(self) -> None:
        """Let it go on after pause()."""
        os.killpg(self.pid, signal.SIGCONT)

    def tail(self, lines: int = 30) -> str:
        """Last lines of its log, under a headline; long lines are cut."""
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        last = (line[:LONGEST_LINE] for line in text.splitlines()[-lines:])
        return "\n".join((f"--- {self.log.name}", *last))

    def _end(self, signum: signal.Signals) -> None:
        if self._child is None:
            return
        if self.alive:  # not yet reaped, so the id cannot belong to another process
            os.killpg(self._child.pid, signum)
            self._child.wait(END_S)
        self._child = None
        atexit.unregister(self.kill)


def whole_lines(log: Path) -> list[str]:
    """Read the lines of a file that another process writes, without one that it is writing."""
    return log.read_text().rpartition("\n")[0].splitlines()


_reserved: dict[int, socket.socket] = {}


def free_port() -> int:
    """
    Return a free TCP port of the loopback interface, as long as possible one not given before.

    Another process of tests may ask at the same time, and seconds pass before a server listens, so
    the UDP port of the same number is held until this process ends: no other process is given it.
    """
    unused: Sequence[int] = sorted({*PORTS} - {*_reserved}) or PORTS
    # the choice is independent of other processes, even where a test seeds ``random``
    for port in random.SystemRandom().sample(unused, len(unused)):
        if _listens(port):
            continue
        if port in _reserved:
            return port
        reservation = socket.socket(type=socket.SOCK_DGRAM)
        try:
            reservation.bind(("127.0.0.1", port))
        except OSError:  # another process of tests holds it
            reservation.close()
            continue
        _reserved[port] = reservation
        return port
    raise ProcessError(f"no free port from {PORTS.start} to {PORTS.stop - 1}")


def _listens(port: int) -> bool:
    """Whether a process has this TCP port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False

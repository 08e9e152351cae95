"""
Rounds of calls, and the CPU time that a server spends on one.

Two things that are compared take turns, A B B A A B ..., so that whatever else the machine does
encounters both.
"""

import os
import re
import subprocess
import time
from collections.abc import Callable, Container
from pathlib import Path
from typing import NamedTuple, TypeAlias

from tests.bench import cpu
from tests.bench.load import ANSWERED, CONNECTIONS, Load, LoadError
from tests.bench.reviews import Request
from tests.bench.servers import Server

WARM_UP_S = 0.1  # some 1 000 calls: caches and branch predictors have seen everything
QUIET = 0.02  # of the time that others had the core of a server: no more than a daemon takes
IDLE_S = 0.5  # long enough to see a server that does something every 100 ms


SCRIPT = """\
local bodies, i = {}, 0
for i = 0, %(bodies)d - 1 do
  local file = io.open("%(folder)s/body-" .. i, "rb")
  bodies[i] = file:read("*a")
  file:close()
end
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
function request()
  i = (i + 1) %% %(bodies)d
  return wrk.format(nil, nil, nil, bodies[i])
end
"""
"""What wrk sends, in its own language."""


class Round(NamedTuple):
    """
    Calls that a server answered.

    Attributes:
        calls: How many.
        seconds: How long that took.
        running: Seconds that the server ran for them: what it does when idle is not counted.
        waiting: Seconds that the server was runnable while another process had its core.
        starved: Seconds that the load was runnable while another process had its core.
    """

    calls: int
    seconds: float
    running: float
    waiting: float = 0.0
    starved: float = 0.0

    @property
    def cpu(self) -> float:
        """CPU seconds a call."""
        return self.running / self.calls

    @property
    def rate(self) -> float:
        """Calls a second that there were."""
        return self.calls / self.seconds

    @property
    def capacity(self) -> float:
        """Calls a second of a whole core, without the time that other processes took."""
        return self.calls / self.running

    @property
    def busy(self) -> float:
        """Share of the time in which the server had something to do; 1 if it was saturated."""
        return (self.running + self.waiting) / self.seconds


class Subject(NamedTuple):
    """A server and the requests that it receives."""

    server: Server
    request: Request


Generator: TypeAlias = Callable[[Subject, float], Round]
"""Puts load on a subject for so many seconds; what the server does when idle is in the round."""


def own_load(subject: Subject, seconds: float, statuses: Container[bytes] = ANSWERED) -> Round:
    """Load from load.py; connecting and warming up do not count."""
    server, request = subject
    with Load(server.port, request.path, request.bodies, statuses) as load:
        load.saturate(WARM_UP_S)
        before, mine = cpu.spent(server.pid), cpu.spent(os.getpid())
        start = time.perf_counter()
        calls = len(load.saturate(seconds))
        took = time.perf_counter() - start
        spent, starved = cpu.spent(server.pid).since(before), cpu.spent(os.getpid()).since(mine)
    return Round(calls, took, *spent, starved.waiting)


def wrk(folder: Path) -> Generator:
    """
    Load from wrk, if it is on PATH: connecting counts, which is hundreds of calls out of thousands.

    Args:
        folder: For the script of wrk's requests.
    """

    def load(subject: Subject, seconds: float) -> Round:
        server, request = subject
        for i, body in enumerate(request.bodies):
            (folder / f"body-{i}").write_bytes(body)
        script = folder / "wrk.lua"
        script.write_text(SCRIPT % {"folder": folder, "bodies": len(request.bodies)})
        url = f"https://127.0.0.1:{server.port}{request.path}?timeout=10s"
        duration = f"{max(1, round(seconds))}s"  # wrk knows whole seconds only
        command = ("wrk", "-t1", f"-c{CONNECTIONS}", f"-d{duration}", "-s", script, url)
        before = cpu.spent(server.pid)
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return Round(*read_wrk(done.stdout), *cpu.spent(server.pid).since(before))

    return load


def read_wrk(output: str) -> tuple[int, float]:
    """
    Read what wrk prints at its end.

    Returns:
        Calls and seconds.

    Raises:
        LoadError: There were answers other than 200, or none.
    """
    found = re.search(r"(\d+) requests in ([\d.]+)s", output)
    if found is None or "Non-2xx" in output or int(found[1]) == 0:
        raise LoadError(f"wrk received errors or no responses:\n{output}")
    return int(found[1]), float(found[2])


class Meter:
    """Measures subjects in rounds of equal length."""

    def __init__(self, generator: Generator, seconds: float, idle_seconds: float = IDLE_S) -> None:
        """
        Create a meter without rounds.

        Args:
            seconds: Of a round.
            idle_seconds: Time in which to measure what a server uses without a call; 0 takes it
                for nothing, since a share of no time is arbitrary.
        """
        self._generator = generator
        self._idle_seconds = idle_seconds
        self._seconds = seconds
        self._idle: dict[int, float] = {}
        self.rounds: list[Round] = []

    def measure(self, subject: Subject) -> Round:
        """Measure one round."""
        idle = self._idle_share(subject.server.pid)
        raw = self._generator(subject, self._seconds)
        done = raw._replace(running=raw.running - idle * raw.seconds)
        self.rounds.append(done)
        return done

    def take_turns(
        self, base: Subject, other: Subject, rounds: int
    ) -> tuple[list[Round], list[Round]]:
        """Measure two subjects in turn; the rounds of each, in order."""
        measured: dict[Subject, list[Round]] = {base: [], other: []}
        for i in range(rounds):
            for subject in (base, other) if i % 2 == 0 else (other, base):
                measured[subject].append(self.measure(subject))
        return measured[base], measured[other]

    def _idle_share(self, pid: int) -> float:
        """Share of its core that a server takes without a call."""
        if not self._idle_seconds:
            return 0.0
        if pid not in self._idle:
            before, start = cpu.spent(pid), time.perf_counter()
            time.sleep(self._idle_seconds)
            spent = cpu.spent(pid).since(before)
            self._idle[pid] = spent.running / (time.perf_counter() - start)
        return self._idle[pid]


def seconds_of(command: tuple[str, ...]) -> float:
    """How long a command takes that prints little and succeeds, from start to end."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=dict(os.environ))
    return time.perf_counter() - start

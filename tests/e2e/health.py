"""Health of a server under attack: its memory, and how long /livez takes (sampler.py)."""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple, Self

from tests.controlplane.waiting import until
from tests.e2e.replica import Replica

SAMPLER = Path(__file__).with_name("sampler.py")
PATIENCE_S = 60.0  # for the last sample


class Sample(NamedTuple):
    """
    One answer of /livez.

    Attributes:
        began: Time of the request, by ``time.monotonic``.
        status: 0: there was none.
        measured: Milliseconds that it took.
        own: The same without those in which server and sampler had no core, by the kernel's count.
    """

    began: float
    status: int
    measured: float
    own: float

    @property
    def ended(self) -> float:
        """When it was there, by ``time.monotonic``."""
        return self.began + self.measured / 1000


class LivezSampler:
    """
    Samples a server as long as the context lasts.

    Attributes:
        pid: Of the server, as it was at the beginning.
        samples: All, once the context is over.
    """

    def __init__(self, replica: Replica) -> None:
        self.pid = replica.process.pid
        self.samples: list[Sample] = []
        self._command = [sys.executable, "-I", "-S", str(SAMPLER)]
        self._command += [f"{replica.health_port}", f"{self.pid}"]

    def __enter__(self) -> Self:
        self._lines = tempfile.TemporaryFile("w+")
        self._child = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=self._lines)
        until(lambda: self._lines.seek(0, 2), "a first sample")
        return self

    def __exit__(self, *_: object) -> None:
        self._child.communicate(timeout=PATIENCE_S)  # the end of its standard input ends it
        with self._lines as lines:
            lines.seek(0)
            for line in lines:
                began, status, measured, own = line.split()
                taken = Sample(float(began), int(status), float(measured), float(own))
                self.samples.append(taken)

    def worst(self, began: float, ended: float) -> float:
        """The longest answer, in milliseconds, of those that fell into a time at least in part."""
        within = (
            sample.own for sample in self.samples if sample.ended > began and sample.began < ended
        )
        return max(within, default=0.0)

    @property
    def summary(self) -> str:
        """What a reader of a failure or of a long run wants to know."""
        own = sorted(sample.own for sample in self.samples)
        measured = sorted(sample.measured for sample in self.samples)
        at = int(len(own) * 0.99)
        return (
            f"/livez, {len(own)} samples: p99 {own[at]:.0f} ms, max {own[-1]:.0f} ms; "
            f"with waits for a core {measured[at]:.0f} and {measured[-1]:.0f} ms"
        )


def memory(pid: int) -> int:
    """The bytes of memory that a process holds now; 0 if it has ended."""
    return _status(pid, "VmRSS")


def peak(pid: int) -> int:
    """The most bytes that it held since it began, or since forget_peak(); 0 if it has ended."""
    return _status(pid, "VmHWM")


def forget_peak(pid: int) -> None:
    """Let the peak begin anew."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def _status(pid: int, row: str) -> int:
    """A row of /proc/PID/status, in bytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == row:
            return int(value.split()[0]) * 1024
    return 0

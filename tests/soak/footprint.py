"""
What a replica holds: memory, tasks, sockets, file descriptors; and whether it grows.

Memory is fitted by a straight line (least squares) through all samples of one process after the
warm-up. Its slope, and not the difference of two samples, is compared with the bound: a sample
differs from the next one by more than the bound allows for an hour.
"""

import http.client
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import StatisticsError, linear_regression
from typing import TypeAlias

from tests.controlplane.processes import ProcessError
from tests.e2e.health import memory
from tests.e2e.replica import Replica, total

HOUR_S = 3600.0

LEAST_FIT_S = 1200.0
"""Shortest time through which a slope is judged, in seconds: noise of 1 MiB is 0.3 MiB/h then."""

IDLE_SPREAD = 4
"""
Sockets by which an idle replica differs from itself and from others: 11 to 15.

Eleven are two ports, seven watches and the event loop's own pair. The rest are connections that the
pool of aiohttp keeps for the next request. It uses the one that has waited longest, so that a few
requests every 15 seconds keep as many connections open as a moment of faults needed at once. A leak
of one socket for each fault is more than that in an hour.
"""

Counts: TypeAlias = tuple[int, int, int]
"""Tasks, sockets and descriptors of a process."""


@dataclass(frozen=True, slots=True)
class Footprint:
    """
    One sample of one process.

    Attributes:
        at: By ``time.monotonic``.
        memory: Resident bytes.
        reviews: How many it has answered.
        leaves: How many serving certificates it has taken into use.
    """

    at: float
    pid: int
    memory: int
    tasks: int
    sockets: int
    descriptors: int
    reviews: int = 0
    leaves: int = 0

    @property
    def counts(self) -> Counts:
        """Tasks, sockets and descriptors."""
        return self.tasks, self.sockets, self.descriptors


def measure(replica: Replica, at: float) -> Footprint | None:
    """Take a sample; None while the replica starts or stops."""
    try:
        pid, page = replica.process.pid, replica.page("/metrics")
        links = _links(pid)
        return Footprint(
            at=at,
            pid=pid,
            memory=memory(pid),
            tasks=int(total(page, "tasks")),
            sockets=sum(link.startswith("socket:") for link in links),
            descriptors=len(links),
            reviews=int(total(page, "admission_requests_total")),
            leaves=int(total(page, "certificate_rotations_total", type="leaf", result="success")),
        )
    except (OSError, http.client.HTTPException, ProcessError):
        return None


def most_counts(base: Counts | None, bases: Sequence[Counts]) -> Counts:
    """
    The most that an idle process may have at the end.

    Args:
        base: Its own counts after the warm-up; None if it started later.
        bases: Those of all processes of the fleet after the warm-up; at least one.
    """
    tasks, sockets, descriptors = base or map(max, zip(*bases, strict=True))
    return tasks, sockets + IDLE_SPREAD, descriptors + IDLE_SPREAD


def _links(pid: int) -> list[str]:
    """What the open file descriptors of a process lead to."""
    return [f"{descriptor.readlink()}" for descriptor in Path(f"/proc/{pid}/fd").iterdir()]


def fit_slope(samples: Sequence[Footprint]) -> float:
    """The growth of memory in bytes an hour; 0 for less than two samples."""
    try:
        times = [sample.at / HOUR_S for sample in samples]
        return linear_regression(times, [sample.memory for sample in samples]).slope
    except StatisticsError:
        return 0.0


@dataclass
class Lifetime:
    """
    The samples of one process.

    Attributes:
        replica: The name of its replica.
        base: Idle, after the warm-up; None if it started later.
        end: Idle, at the end; None if it ended before.
    """

    replica: str
    samples: list[Footprint] = field(default_factory=list[Footprint])
    base: Footprint | None = None
    end: Footprint | None = None

    @property
    def settled(self) -> list[Footprint]:
        """The samples after the warm-up."""
        return [sample for sample in self.samples if self.base and sample.at > self.base.at]

    @property
    def fitted_s(self) -> float:
        """The seconds that the fit covers."""
        return self.settled[-1].at - self.settled[0].at if self.settled else 0.0

    @property
    def slope(self) -> float:
        """The growth of memory after the warm-up, in bytes an hour."""
        return fit_slope(self.settled)

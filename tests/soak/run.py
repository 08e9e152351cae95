"""
One soak: the control plane, three replicas, traffic, samples, and faults one after the other.

``run_soak`` is the entry point. The warm-up ends when every kind of fault and a crowd of
connections have come once, and a quarter of the time is over. At its end and at the end of the
soak no call is in flight and the connections of the API server are closed, so that the counts of
both moments can be compared.
"""

import http.client
import os
import random
import threading
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mode

from tests.controlplane import webhooks
from tests.controlplane.api import Json
from tests.controlplane.assets import Assets
from tests.controlplane.options import Options
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import ProcessError
from tests.e2e.certified import Certified
from tests.e2e.replica import Replica
from tests.soak.disturbances import Disturbances
from tests.soak.footprint import Footprint, Lifetime, measure, most_counts
from tests.soak.outages import Outages
from tests.soak.report import MIB, SoakReport, summarize
from tests.soak.traffic import CALLS_PER_WRITE, Traffic

REPLICAS = 3
MARK = {"evenspread.test/soak": "yes"}
LONGEST_TROUBLE = 2000  # characters
WARM_UP = 0.25  # of the time
SAMPLES = 360  # of each replica, as long as the soak lasts
SAMPLES_PER_LINE = 6  # of progress
CONNECTED_S = 35.0  # until every watch is open again: the longest back-off is 30 s
BASE_S, BASE_SAMPLES = 5.0, 50  # of each idle replica after the warm-up
PATIENCE_S = 180.0  # for idleness: watches connect again within 30 s, on a machine of its own
HOOK_TIMEOUT_S = 10  # of a call; the chart's 3 s would test a busy machine instead of the replicas


@dataclass(frozen=True, slots=True, kw_only=True)
class SoakOptions:
    """
    What a soak is to do.

    Attributes:
        rate: Calls of webhooks a second.
        seed: Of the order of the faults.
    """

    seconds: float
    rate: float = 100.0
    seed: int = 0

    @property
    def is_short(self) -> bool:
        """Whether one cycle of faults takes more than a quarter of the time."""
        return self.seconds < 1200

    @property
    def pause_s(self) -> float:
        """The seconds between two faults."""
        return 1.0 if self.is_short else 45.0


@dataclass
class Soak:
    """The running parts of a soak, and the lifetime of each process of a replica."""

    options: SoakOptions
    certified: Certified
    traffic: Traffic
    disturbances: Disturbances
    progress: Callable[[str], object]
    began: float = field(default_factory=time.monotonic)
    lifetimes: dict[int, Lifetime] = field(default_factory=dict[int, Lifetime])
    loads: list[float] = field(default_factory=list[float])
    troubles: list[str] = field(default_factory=list[str])
    over: threading.Event = field(default_factory=threading.Event)

    def run(self) -> SoakReport:
        """Cause faults until the time is over; the traffic goes on all the while."""
        order = random.Random(self.options.seed)
        with self._sampled():
            for title, act in self.disturbances.cycle(order):
                self._disturb(title, act)
            # Memory grows to that of the most connections at once: here, and not by chance later.
            self._disturb("a crowd of connections", self.disturbances.crowd)
            self._wait(self.options.seconds * WARM_UP - self.elapsed)
            with self._idle():
                self._wait(CONNECTED_S)
                for replica in self.certified.replicas:
                    self._take_base(replica)
            self._show("the warm-up is over")
            self._disturb_until_the_end(order)
        with self._idle():
            share = self.traffic.attempted / self.traffic.due
            self._wait_for_base()
        self.disturbances.count_rejections()
        return self._report(share)

    @property
    def elapsed(self) -> float:
        """Seconds since the first call."""
        return time.monotonic() - self.began

    def _disturb_until_the_end(self, order: random.Random) -> None:
        while True:
            for title, act in self.disturbances.cycle(order):
                if self.elapsed >= self.options.seconds:
                    self.disturbances.done[title] -= 1
                    return
                self._disturb(title, act)

    def _disturb(self, title: str, act: Callable[[], None]) -> None:
        began = time.monotonic()
        try:
            act()
        except (AssertionError, OSError, ProcessError, http.client.HTTPException) as error:
            self._complain(f"{title}: {error!r}"[:LONGEST_TROUBLE])
        self._show(f"{title}, {time.monotonic() - began:.0f} s")
        for replica in self.certified.replicas:
            if not replica.process.alive:
                ended = f"{replica.folder.name} ended by itself: exit {replica.process.exit_code}"
                self._complain(f"{ended}\n{replica.process.tail()}")
                replica.process.start()
        self._wait(min(self.options.pause_s, self.options.seconds - self.elapsed))

    def _complain(self, trouble: str) -> None:
        self.troubles.append(trouble)
        self._show(f"TROUBLE: {trouble}")

    def _wait(self, seconds: float) -> None:
        self.over.wait(max(0.0, seconds))

    @contextmanager
    def _sampled(self) -> Generator[None]:
        """Take samples as long as the context lasts."""
        sampler = threading.Thread(target=self._sample)
        sampler.start()
        try:
            yield
        finally:
            self.over.set()
            sampler.join()
            self.over.clear()

    def _sample(self) -> None:
        while not self.over.wait(self.options.seconds / SAMPLES):
            self.loads.append(os.getloadavg()[0])
            for replica in self.certified.replicas:
                if footprint := measure(replica, time.monotonic()):
                    self._lifetime(replica, footprint).samples.append(footprint)
            if len(self.loads) % SAMPLES_PER_LINE == 0:
                self._show("")

    def _lifetime(self, replica: Replica, footprint: Footprint) -> Lifetime:
        """The lifetime that a sample belongs to."""
        return self.lifetimes.setdefault(footprint.pid, Lifetime(replica.folder.name))

    def _show(self, event: str) -> None:
        """Give one line about the moment."""
        lifetimes = [lifetime for lifetime in tuple(self.lifetimes.values()) if lifetime.samples]
        latest = {lifetime.replica: lifetime.samples[-1] for lifetime in lifetimes}
        memory = " ".join(f"{footprint.memory / MIB:.0f}" for footprint in latest.values())
        minutes, seconds = divmod(int(self.elapsed), 60)
        self.progress(
            f"{minutes:3}:{seconds:02}  {self.traffic.succeeded * CALLS_PER_WRITE:7} calls  "
            f"{self.traffic.failed} failed  {self.traffic.excused.total()} excused  "
            f"{memory} MiB  {event}"
        )

    @contextmanager
    def _idle(self) -> Generator[None]:
        """Have no call and no connection of the API server as long as the context lasts."""
        with self.traffic.held():
            self.certified.service.cut()
            yield

    def _take_base(self, replica: Replica) -> None:
        """Take for the base what an idle replica holds most of the time."""
        samples: list[Footprint] = []
        end = time.monotonic() + BASE_S
        while (now := time.monotonic()) < end:
            if footprint := measure(replica, now):
                samples.append(footprint)
            self._wait(BASE_S / BASE_SAMPLES)
        usual = mode(sample.counts for sample in samples)
        base = next(sample for sample in samples if sample.counts == usual)
        self._lifetime(replica, base).base = base

    def _wait_for_base(self) -> None:
        """Wait until no replica holds more than after the warm-up, or show what it holds."""
        bases = [known.base.counts for known in self.lifetimes.values() if known.base]
        deadline = time.monotonic() + PATIENCE_S
        for replica in self.certified.replicas:
            while True:
                footprint = measure(replica, time.monotonic())
                if footprint is not None:
                    lifetime = self._lifetime(replica, footprint)
                    lifetime.end = footprint
                    own = None if lifetime.base is None else lifetime.base.counts
                    most = most_counts(own, bases)
                    if all(now <= then for now, then in zip(footprint.counts, most, strict=True)):
                        break
                if time.monotonic() > deadline:
                    break
                self._wait(0.5)

    def _report(self, share: float) -> SoakReport:
        lifetimes = [lifetime for lifetime in self.lifetimes.values() if lifetime.samples]
        replicas = [summarize(lifetime) for lifetime in lifetimes]
        return SoakReport(
            seconds=self.elapsed,
            share=share,
            calls=self.traffic.succeeded * CALLS_PER_WRITE,
            writes=self.traffic.succeeded,
            failed=self.traffic.failed,
            failures=self.traffic.failures,
            excused=dict(self.traffic.excused),
            rejections=self.disturbances.rejections,
            longest=self.traffic.longest,
            faults=dict(self.disturbances.done),
            load=(min(self.loads), max(self.loads), os.cpu_count() or 1),
            troubles=self.troubles,
            replicas=replicas,
        )


def run_soak(
    assets: Assets, folder: Path, options: SoakOptions, progress: Callable[[str], object]
) -> SoakReport:
    """
    Run one soak.

    Args:
        folder: Where the replicas have their files; an empty one.
        progress: Takes a line for each fault, and from time to time.

    Raises:
        TimeoutError: A fault did not end in time.
        ProcessError: A program of the control plane, or a replica, ended or did not start.
    """
    # A leaf is renewed after two thirds of its lifetime: the rest must be longer than an outage.
    leaf_s, overlap_s, pause_s = (180, 5, 3.0) if options.is_short else (240, 10, 10.0)
    outages, small = Outages(), Options(controllers=False, scheduler=False, service_accounts=False)
    with ExitStack() as ends:
        plane = ends.enter_context(ControlPlane(assets, small))
        fleet = Certified(
            plane, folder, "soak", MARK, count=REPLICAS, leaf_s=leaf_s, overlap_s=overlap_s
        )
        certified = ends.enter_context(fleet)
        allow_slow_calls(plane, certified.hooks)
        disturbances = Disturbances(certified, outages, pause_s)
        traffic = Traffic(
            plane.api,
            plane.create_namespace(MARK),
            outages,
            rate=options.rate,
            report=progress,
        )
        ends.enter_context(traffic)
        return Soak(options, certified, traffic, disturbances, progress).run()


def allow_slow_calls(plane: ControlPlane, configurations: list[Json]) -> None:
    """Let the API server wait HOOK_TIMEOUT_S for an answer of a webhook."""
    for configuration in configurations:
        names = [hook["name"] for hook in configuration["webhooks"]]
        slow = [{"name": name, "timeoutSeconds": HOOK_TIMEOUT_S} for name in names]
        plane.api.merge(configuration, {"webhooks": slow})
    webhooks.settle(plane.api)

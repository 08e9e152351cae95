"""The figures of a soak, its bounds, and both as text and JSON."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from tests.soak.footprint import LEAST_FIT_S, Counts, Footprint, Lifetime, most_counts
from tests.soak.outages import SERVICE_UNKNOWN

MIB = 1024 * 1024
MOST_SLOPE = 1.0  # MiB an hour, of a replica's memory after the warm-up
LEAST_SHARE = 0.9  # of the writes that are due; a short soak is a test, which may be slow


@dataclass(frozen=True, slots=True)
class ReplicaFigures:
    """
    One process of a replica.

    Attributes:
        replica: The name of the replica.
        reviews: How many it has answered.
        leaves: How many serving certificates it has taken into use.
        first: MiB after the warm-up; None if it started later.
        last: MiB at the last sample.
        slope: MiB an hour; None if the process lived too short after the warm-up.
        base: Tasks, sockets and descriptors after the warm-up, idle.
        end: The same at the end; None if it ended before.
        memory: ``time.monotonic`` and MiB of each sample.
    """

    replica: str
    seconds: float
    reviews: int
    leaves: int
    first: float | None
    last: float
    slope: float | None
    base: Counts | None
    end: Counts | None
    memory: Sequence[tuple[float, float]] = ()


@dataclass(frozen=True, slots=True)
class SoakReport:
    """
    A soak that is over.

    Attributes:
        share: Writes that were tried, of those that were due.
        calls: Calls of webhooks that were answered.
        writes: Writes that succeeded and were reviewed.
        failed: Writes that failed outside of outages, or by a webhook.
        excused: Writes that failed in an outage of the API server or etcd, by its cause.
        rejections: Calls of webhooks that API servers counted as failed or let pass.
        longest: Seconds of the slowest write outside of outages.
        faults: How often each fault was caused.
        troubles: A sentence for each fault that could not be caused, and each replica that ended.
        load: The least and the greatest load average of the machine, and its number of cores.
    """

    seconds: float
    share: float
    calls: int
    writes: int
    failed: int
    failures: Sequence[str]
    excused: Mapping[str, int]
    rejections: float
    longest: float
    faults: Mapping[str, int]
    load: tuple[float, float, int]
    troubles: Sequence[str]
    replicas: Sequence[ReplicaFigures]

    @property
    def misses(self) -> list[str]:
        """A sentence for each bound that was missed."""
        return list(_misses(self))

    def as_json(self) -> str:
        """Write all figures for programs."""
        return json.dumps({**asdict(self), "misses": self.misses}, indent=2)

    def as_text(self) -> str:
        """Write all figures for readers."""
        return "\n".join(_lines(self))


def summarize(lifetime: Lifetime) -> ReplicaFigures:
    """Reduce the samples of one process to figures."""
    samples, settled = lifetime.samples, lifetime.settled
    return ReplicaFigures(
        replica=lifetime.replica,
        seconds=samples[-1].at - samples[0].at,
        reviews=samples[-1].reviews,
        leaves=samples[-1].leaves,
        first=settled[0].memory / MIB if settled else None,
        last=samples[-1].memory / MIB,
        slope=lifetime.slope / MIB if lifetime.fitted_s >= LEAST_FIT_S else None,
        base=_counts(lifetime.base),
        end=_counts(lifetime.end),
        memory=[(round(sample.at), round(sample.memory / MIB, 2)) for sample in samples],
    )


def _counts(footprint: Footprint | None) -> Counts | None:
    return None if footprint is None else footprint.counts


def _misses(report: SoakReport) -> Iterator[str]:
    yield from report.troubles
    if report.failed:
        yield f"{report.failed} calls failed, first: {report.failures[0]}"
    if report.rejections > (excused := report.excused.get(SERVICE_UNKNOWN, 0)):
        yield (
            f"API servers counted {report.rejections:.0f} failed calls of webhooks, "
            f"{excused} of them their own fault"
        )
    if report.share < LEAST_SHARE and report.seconds >= LEAST_FIT_S:
        yield f"only {report.share:.0%} of the writes were tried: the machine is too slow"
    bases = [lifetime.base for lifetime in report.replicas if lifetime.base]
    for lifetime in report.replicas:
        if lifetime.slope is not None and lifetime.slope >= MOST_SLOPE:
            yield (
                f"{lifetime.replica} grows by {lifetime.slope:.2f} MiB an hour, "
                f"not under {MOST_SLOPE:g}"
            )
        if lifetime.end is None:
            continue
        names, most = ("tasks", "sockets", "descriptors"), most_counts(lifetime.base, bases)
        for name, allowed, end in zip(names, most, lifetime.end, strict=True):
            if end > allowed:
                yield f"{lifetime.replica} has {end} {name} at the end, not at most {allowed}"


def _lines(report: SoakReport) -> Iterator[str]:
    low, high, cores = report.load
    yield (
        f"{report.seconds:.0f} s, {report.calls} calls ({report.calls / report.seconds:.0f} a "
        f"second), {report.writes} reviewed writes, {report.failed} failed, slowest "
        f"{report.longest:.1f} s"
    )
    yield f"load average {low:.1f} to {high:.1f} on {cores} cores"
    for cause, number in report.excused.items():
        yield f"{number} writes failed while the control plane was down: {cause}"
    yield "faults: " + ", ".join(f"{title} {number}x" for title, number in report.faults.items())
    for lifetime in report.replicas:
        first = "-" if lifetime.first is None else f"{lifetime.first:.1f}"
        slope = "not judged" if lifetime.slope is None else f"{lifetime.slope:+.2f} MiB an hour"
        yield (
            f"{lifetime.replica}: {lifetime.seconds:.0f} s, {lifetime.reviews} reviews, "
            f"{lifetime.leaves} certificates; {first} to {lifetime.last:.1f} MiB, slope {slope}; "
            f"tasks, sockets, descriptors {lifetime.base or '-'} to {lifetime.end or '-'}"
        )
    yield from (f"MISSED: {miss}" for miss in report.misses)
    if not report.misses:
        yield "every bound holds"

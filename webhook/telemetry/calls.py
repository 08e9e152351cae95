"""
Counting reviews: plain numbers on the request path, made into metrics when somebody asks.

A counter and a histogram of prometheus-client take a lock each and walk through the buckets; that
is a twentieth of what a call costs. Here nobody else counts: a server has one event loop.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Protocol

from prometheus_client.metrics_core import (
    CounterMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

Labels = tuple[str, str, str, str]
"""Hook, kind, operation and outcome."""


class Durations:
    """
    A histogram: how many calls took how long.

    Attributes:
        counts: By bucket, each call in one; the last is for what is longer than all bounds.
        total: Seconds of all calls together.
    """

    def __init__(self, bounds: Sequence[float]) -> None:
        """Start with nothing; bounds ascend."""
        self._bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def take(self, seconds: float) -> None:
        """Count one call."""
        self.counts[bisect_left(self._bounds, seconds)] += 1
        self.total += seconds

    def buckets(self) -> list[tuple[str, float]]:
        """Upper bounds as Prometheus writes them, each with all calls that were no longer."""
        bounds = [*map(str, map(float, self._bounds)), "+Inf"]
        return list(zip(bounds, accumulate(self.counts), strict=True))


class Named(Protocol):
    """A row of the table of metrics."""

    @property
    def name(self) -> str:
        """As Prometheus shows it."""
        ...

    @property
    def labels(self) -> tuple[str, ...]:
        """Their names, in order."""
        ...

    @property
    def help(self) -> str:
        """One sentence."""
        ...


class Calls(Collector):
    """The reviews that were answered."""

    def __init__(
        self, requests: Named, duration: Named, hooks: Iterable[str], bounds: Sequence[float]
    ) -> None:
        """
        Start with nothing.

        Args:
            requests: The counter by hook, kind, operation and outcome.
            duration: The histogram by hook.
            hooks: All there are, so that they are shown before their first call.
            bounds: Of the histogram's buckets, ascending; seconds.
        """
        self._rows = requests, duration
        self._requests: dict[Labels, int] = {}
        self._durations = {hook: Durations(bounds) for hook in hooks}

    def count(self, labels: Labels, seconds: float) -> None:
        """Count one review."""
        self._requests[labels] = self._requests.get(labels, 0) + 1
        self._durations[labels[0]].take(seconds)

    def collect(self) -> Iterator[Metric]:
        """Show the numbers as they are now."""
        requests, duration = self._rows
        counter = CounterMetricFamily(requests.name, requests.help, labels=requests.labels)
        for labels, count in self._requests.items():
            counter.add_metric(labels, count)
        yield counter
        histogram = HistogramMetricFamily(duration.name, duration.help, labels=duration.labels)
        for hook, durations in self._durations.items():
            histogram.add_metric((hook,), durations.buckets(), durations.total)
        yield histogram

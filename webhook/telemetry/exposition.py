"""
Metrics that somebody else has computed, as text.

Such are those of an audit: a process of its own writes them, so that no scrape has to.
"""

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from webhook.telemetry.catalogue import AUDITED, Metric

Samples: TypeAlias = Mapping[Metric, Mapping[tuple[str, ...], float]]
"""Gauge -> values of its labels -> value."""


class _Computed(Collector):
    def __init__(self, samples: Samples) -> None:
        self._samples = samples

    def collect(self) -> Iterator[GaugeMetricFamily]:
        for metric in AUDITED:
            family = GaugeMetricFamily(metric.name, metric.help, labels=metric.labels)
            for labels, value in sorted(self._samples.get(metric, {}).items()):
                family.add_metric(labels, value)
            yield family


def expose(samples: Samples) -> bytes:
    """
    Write the metrics of an audit in Prometheus' text format.

    Args:
        samples: Of some of them; the others are there without a sample.
    """
    registry = CollectorRegistry()
    registry.register(_Computed(samples))
    return generate_latest(registry)

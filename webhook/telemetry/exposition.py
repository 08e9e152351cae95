"""
The metrics of an audit in Prometheus' text format.

``expose`` runs in the audit process, so that no scrape has to format these metrics.
"""

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from prometheus_client import generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from webhook.telemetry.catalogue import AUDITED, Metric

Samples: TypeAlias = Mapping[Metric, Mapping[tuple[str, ...], float]]
"""Gauge -> label values -> value."""


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
    """Write the metrics of an audit in Prometheus' text format, also those without a sample."""
    return generate_latest(_Computed(samples))

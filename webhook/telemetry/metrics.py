"""
The metrics of one server: a registry of its own, with every metric of ``catalogue``.

``Metrics`` is the entry point. On the request path, ``ReviewCollector`` counts with plain numbers:
a counter and a histogram of prometheus-client take a lock each and walk through the buckets, which
is a twentieth of the cost of a call, and here only one event loop counts. Rarer metrics are
children of prometheus-client, bound at their first use, because looking one up by its labels takes
2 us. Values that other objects hold are read when Prometheus scrapes.

A label has few values: kinds that the policy does not know, and operations that do not exist, are
``other``.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import TypeVar

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.metrics_core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric as MetricFamily
from prometheus_client.registry import Collector

from webhook.policy.api.gates import Stage
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.kinds import BUILT_IN_TEMPLATES
from webhook.policy.model import GroupKind
from webhook.policy.request import AdmissionRequest, Hook
from webhook.policy.verdict import UNTOUCHED, Verdict
from webhook.telemetry import catalogue
from webhook.telemetry.catalogue import BUCKETS, Metric
from webhook.telemetry.exposition import expose

Child = TypeVar("Child", bound=MetricWrapperBase)

EXPOSITION = CONTENT_TYPE_LATEST
OTHER_LABEL = "other"
OPERATIONS = frozenset({"CREATE", "UPDATE", "DELETE", "CONNECT"})

Labels = tuple[str, str, str, str]
"""Hook, kind, operation and outcome."""


class DurationHistogram:
    """
    A histogram of durations.

    Attributes:
        counts: Calls per bucket; the last bucket counts calls longer than all bounds.
        total: Seconds of all calls together.
    """

    def __init__(self, bounds: Sequence[float]) -> None:
        """Start with no call; ``bounds`` ascend."""
        self._bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, seconds: float) -> None:
        """Count one call."""
        self.counts[bisect_left(self._bounds, seconds)] += 1
        self.total += seconds

    def buckets(self) -> list[tuple[str, float]]:
        """List upper bounds as Prometheus writes them, with the calls that took no longer."""
        bounds = [*map(str, map(float, self._bounds)), "+Inf"]
        return list(zip(bounds, accumulate(self.counts), strict=True))


class ReviewCollector(Collector):
    """The number and the durations of answered reviews."""

    def __init__(
        self, requests: Metric, duration: Metric, hooks: Iterable[str], bounds: Sequence[float]
    ) -> None:
        """
        Start with no review.

        Args:
            requests: The counter by hook, kind, operation and outcome.
            duration: The histogram by hook.
            hooks: All hooks, so that each is exposed before its first call.
            bounds: Upper bounds of the histogram's buckets, ascending; seconds.
        """
        self._rows = requests, duration
        self._requests: dict[Labels, int] = {}
        self._durations = {hook: DurationHistogram(bounds) for hook in hooks}

    def count(self, labels: Labels, seconds: float) -> None:
        """Count one review."""
        self._requests[labels] = self._requests.get(labels, 0) + 1
        self._durations[labels[0]].observe(seconds)

    def collect(self) -> Iterator[MetricFamily]:
        """Give the current values."""
        requests, duration = self._rows
        counter = CounterMetricFamily(requests.name, requests.help, labels=requests.labels)
        for labels, count in self._requests.items():
            counter.add_metric(labels, count)
        yield counter
        histogram = HistogramMetricFamily(duration.name, duration.help, labels=duration.labels)
        for hook, durations in self._durations.items():
            histogram.add_metric((hook,), durations.buckets(), durations.total)
        yield histogram


class _Children(dict[tuple[str, ...], Child]):
    """The children of one metric, each bound at its first use; label values are few."""

    def __init__(self, metric: Child) -> None:
        super().__init__()
        self._metric: Child = metric

    def __missing__(self, labels: tuple[str, ...]) -> Child:
        child = self[labels] = self._metric.labels(*labels)
        return child


class _ReadCounter(Collector):
    """A counter whose value another object holds."""

    def __init__(self, row: Metric) -> None:
        self._row = row
        self.read: Callable[[], int] = lambda: 0

    def collect(self) -> Iterator[CounterMetricFamily]:
        yield CounterMetricFamily(self._row.name, self._row.help, self.read())


class Metrics:
    """
    The metrics of one server.

    Attributes:
        registry: All of these metrics, and those of the process.
        in_flight: A gauge, as are ``connections``, ``body_bytes``, ``cache_objects``,
            ``cache_synced`` and ``cache_age`` (by kind), ``config_valid``, ``config_advice``,
            ``expiry`` (by type and source) and ``in_sync``.
        rejected: A counter by reason; ``restarts`` and ``skipped`` by kind and reason; ``lookups``,
            ``reloads`` and ``audits`` by result; ``rotations`` by type and result;
            ``task_restarts`` by task; ``telemetry_failures``.
        audited: The metrics of the last audit in text format; without samples if this replica has
            made no audit.
        audit_time: A gauge, as are ``audit_duration`` and ``audit_leader``.
    """

    def __init__(self) -> None:
        """Create every metric of the catalogue."""
        # Without this, each counter comes with a second one that says since when it counts.
        disable_created_metrics()  # type: ignore[no-untyped-call]  # upstream left out its "-> None"
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._kinds = _names(BUILT_IN_TEMPLATES)
        self.in_flight = self._gauge(catalogue.IN_FLIGHT)
        self.connections = self._gauge(catalogue.CONNECTIONS)
        self.body_bytes = self._gauge(catalogue.BODIES)
        self.cache_objects = self._gauge(catalogue.CACHE_OBJECTS)
        self.cache_synced = self._gauge(catalogue.CACHE_SYNCED)
        self.cache_age = self._gauge(catalogue.CACHE_AGE)
        self.config_valid = self._gauge(catalogue.CONFIG_VALID)
        self.config_advice = self._gauge(catalogue.CONFIG_ADVICE)
        self.expiry = self._gauge(catalogue.CERTIFICATE_EXPIRY)
        self.in_sync = self._gauge(catalogue.CA_BUNDLE_IN_SYNC)
        self.in_sync.set(math.nan)
        self.rejected = self._counter(catalogue.REJECTED)
        self.restarts = self._counter(catalogue.WATCH_RESTARTS)
        self.skipped = self._counter(catalogue.OBJECTS_SKIPPED)
        self.task_restarts = self._counter(catalogue.TASK_RESTARTS)
        self.lookups = self._counter(catalogue.OWNER_LOOKUPS)
        self.reloads = self._counter(catalogue.CONFIG_RELOADS)
        self.rotations = self._counter(catalogue.CERTIFICATE_ROTATIONS)
        self.audits = self._counter(catalogue.AUDITS)
        self.audit_leader = self._gauge(catalogue.AUDIT_LEADER)
        self.audit_time = self._gauge(catalogue.AUDIT_TIME)
        self.audit_duration = self._gauge(catalogue.AUDIT_DURATION)
        self.telemetry_failures = self._counter(catalogue.TELEMETRY_FAILURES)
        self._lost_lines = _ReadCounter(catalogue.LOG_LINES_LOST)
        self.registry.register(self._lost_lines)
        self.forget_audit()
        self._build = self._gauge(catalogue.BUILD_INFO)
        self._features = self._gauge(catalogue.FEATURES)
        self._zone_left_out = self._counter(catalogue.ZONE_LEFT_OUT)
        self._calls = ReviewCollector(
            catalogue.REQUESTS, catalogue.DURATION, map(str, Hook), BUCKETS
        )
        self.registry.register(self._calls)
        self._applied = _Children(self._counter(catalogue.APPLIED))
        self._skipped = _Children(self._counter(catalogue.SKIPPED))
        self._findings = _Children(self._counter(catalogue.FINDINGS))
        self._dropped = _Children(self._counter(catalogue.DROPPED))

    def count_review(
        self, request: AdmissionRequest, hook: Hook, verdict: Verdict, seconds: float
    ) -> None:
        """Count one answered review."""
        kind = self._kinds.get(request.kind, OTHER_LABEL)
        operation = request.operation if request.operation in OPERATIONS else OTHER_LABEL
        self._calls.count((hook.value, kind, operation, verdict.outcome), seconds)
        if verdict is not UNTOUCHED:
            self._count_reasons(verdict)

    def show_policy(self, version: str, policy: Policy) -> None:
        """Expose the version and the feature gates in force, and label by the kinds of a policy."""
        gates = policy.gates
        self._kinds = _names(policy.pod_templates)
        self._build.clear()
        self._build.labels(version, str(gates.version)).set(1)
        self._features.clear()
        for gate, setting in gates.settings.items():
            if setting.stage is not Stage.ABSENT:
                stage = "" if setting.stage is Stage.GA else setting.stage.value  # as upstream
                self._features.labels(gate.value, stage).set(setting.on)

    def count_lost_lines(self, read: Callable[[], int]) -> None:
        """Expose the number of lost log lines; each scrape calls ``read``."""
        self._lost_lines.read = read

    def exposition(self) -> bytes:
        """Write all metrics in Prometheus' text format, whose media type is ``EXPOSITION``."""
        return generate_latest(self.registry) + self.audited

    def show_audit(self, exposition: bytes, ended: float, took_s: float) -> None:
        """
        Replace the metrics of the last audit.

        Args:
            exposition: From ``webhook.telemetry.exposition.expose``.
            ended: The end of the audit, in seconds since 1970.
            took_s: Its duration in seconds.
        """
        self.audited = exposition
        self.audit_time.set(ended)
        self.audit_duration.set(took_s)

    def forget_audit(self) -> None:
        """Expose no audit: another replica does."""
        self.audited = expose({})
        self.audit_time.set(math.nan)
        self.audit_duration.set(math.nan)

    def _count_reasons(self, verdict: Verdict) -> None:
        injection = verdict.injection
        if injection is not None and injection.entries:
            self._applied[injection.profile,].inc()
            if injection.zone_left_out:
                self._zone_left_out.inc()
        elif injection is not None:
            self._skipped[injection.skip,].inc()
        for finding in verdict.findings:
            self._findings[finding.rule, finding_action(verdict)].inc()
        if verdict.advice is not None:
            for warned in verdict.advice.warned:
                self._findings[warned.rule, "warn"].inc()
            for audited in verdict.advice.audited:
                self._findings[audited.rule, "audit"].inc()
        for drop in verdict.drops:
            self._dropped[drop.gate,].inc()

    def _counter(self, row: Metric) -> Counter:
        return Counter(row.name, row.help, row.labels, registry=self.registry)

    def _gauge(self, row: Metric) -> Gauge:
        return Gauge(row.name, row.help, row.labels, registry=self.registry)


def _names(kinds: Iterable[GroupKind]) -> dict[GroupKind, str]:
    return {kind: str(kind) for kind in kinds}


def finding_action(verdict: Verdict) -> str:
    """The action on the violations in a verdict: ``deny``, ``would_deny`` or ``warn``."""
    return "warn" if verdict.outcome not in ("deny", "would_deny") else verdict.outcome

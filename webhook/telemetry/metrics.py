"""
The metrics of one server: a registry of its own, with every metric of ``catalogue``.

``Metrics`` is the entry point. On the request path, ``LocalCounter`` and ``LocalHistogram`` count
with plain numbers: those of prometheus-client take a lock each and walk through the buckets, which
is a twentieth of the cost of a call, and here only one event loop counts. Values that other objects
hold are read when Prometheus scrapes.

A label has few values: kinds that the policy does not know, and operations that do not exist, are
``other``.
"""

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import TypeAlias

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.metrics_core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric as MetricFamily
from prometheus_client.registry import Collector

from webhook.policy.api.gates import Stage
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.kinds import BINDING, BUILT_IN_TEMPLATES
from webhook.policy.model import GroupKind
from webhook.policy.request import AdmissionRequest, AnyHook, BindHook, Hook
from webhook.policy.verdict import UNTOUCHED, Verdict
from webhook.telemetry import catalogue
from webhook.telemetry.catalogue import BUCKETS, Metric
from webhook.telemetry.exposition import expose

EXPOSITION = CONTENT_TYPE_LATEST
OTHER_LABEL = "other"
OPERATIONS = frozenset({"CREATE", "UPDATE", "DELETE", "CONNECT"})
DRY_RUN = ("false", "true")  # the label values of False and True

Labels: TypeAlias = tuple[str, ...]


class LocalCounter(Collector):
    """A counter for one event loop."""

    def __init__(self, row: Metric) -> None:
        """Start at 0."""
        self._row = row
        self._counts: defaultdict[Labels, int] = defaultdict(int, {} if row.labels else {(): 0})

    def count(self, *labels: str) -> None:
        """Count one event with these label values, in the order of the labels."""
        self._counts[labels] += 1

    def collect(self) -> Iterator[MetricFamily]:
        """Give the current values."""
        counter = CounterMetricFamily(self._row.name, self._row.help, labels=self._row.labels)
        for labels, count in self._counts.items():
            counter.add_metric(labels, count)
        yield counter


class LocalHistogram(Collector):
    """A histogram of durations with one label, for one event loop."""

    def __init__(self, row: Metric, values: Iterable[str], bounds: Sequence[float]) -> None:
        """
        Start with no call.

        Args:
            values: All values of the label, so that each is exposed before its first call.
            bounds: Upper bounds of the buckets, ascending; seconds.
        """
        self._row = row
        self._bounds = bounds
        self._counts = {value: [0] * (len(bounds) + 1) for value in values}
        self._seconds = dict.fromkeys(self._counts, 0.0)

    def observe(self, value: str, seconds: float) -> None:
        """Count one call; the last bucket counts calls longer than all bounds."""
        self._counts[value][bisect_left(self._bounds, seconds)] += 1
        self._seconds[value] += seconds

    def collect(self) -> Iterator[MetricFamily]:
        """Give the current values."""
        histogram = HistogramMetricFamily(self._row.name, self._row.help, labels=self._row.labels)
        bounds = [*map(str, map(float, self._bounds)), "+Inf"]  # as Prometheus writes them
        for value, counts in self._counts.items():
            buckets = list(zip(bounds, accumulate(counts), strict=True))
            histogram.add_metric((value,), buckets, self._seconds[value])
        yield histogram


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
            ``expiry`` (by type and source), ``in_sync`` and ``registration_drift`` (by kind).
        rejected: A counter by reason; ``restarts`` and ``skipped`` by kind and reason; ``lookups``,
            ``reloads`` and ``audits`` by result; ``rotations`` by type and result;
            ``rank_repairs`` by reason; ``policy_status_writes`` by result; ``task_restarts`` by
            task; ``telemetry_failures``.
        audited: The metrics of the last audit in text format; without samples if this replica has
            made no audit.
        event_loop_lag: A histogram.
        tasks: A gauge, whose value the server sets as a function.
        audit_time: A gauge, as are ``audit_duration`` and ``audit_leader``.
    """

    def __init__(self) -> None:
        """Create every metric of the catalogue."""
        # Without this, each counter comes with a second one, the time since which it counts.
        disable_created_metrics()  # type: ignore[no-untyped-call]  # upstream left out its "-> None"
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._kinds = _names(BUILT_IN_TEMPLATES)
        self.in_flight = self._gauge(catalogue.IN_FLIGHT)
        self.connections = self._gauge(catalogue.CONNECTIONS)
        self.body_bytes = self._gauge(catalogue.BODIES)
        lag = catalogue.EVENT_LOOP_LAG
        self.event_loop_lag = Histogram(lag.name, lag.help, buckets=BUCKETS, registry=self.registry)
        self.cache_objects = self._gauge(catalogue.CACHE_OBJECTS)
        self.cache_synced = self._gauge(catalogue.CACHE_SYNCED)
        self.cache_age = self._gauge(catalogue.CACHE_AGE)
        self.config_valid = self._gauge(catalogue.CONFIG_VALID)
        self.config_advice = self._gauge(catalogue.CONFIG_ADVICE)
        self.expiry = self._gauge(catalogue.CERTIFICATE_EXPIRY)
        self.in_sync = self._gauge(catalogue.CA_BUNDLE_IN_SYNC)
        self.in_sync.set(math.nan)
        self.registration_drift = self._gauge(catalogue.REGISTRATION_DRIFT)
        self.rejected = self._counter(catalogue.REJECTED)
        self.restarts = self._counter(catalogue.WATCH_RESTARTS)
        self.skipped = self._counter(catalogue.OBJECTS_SKIPPED)
        self.task_restarts = self._counter(catalogue.TASK_RESTARTS)
        self.lookups = self._counter(catalogue.OWNER_LOOKUPS)
        self.reloads = self._counter(catalogue.CONFIG_RELOADS)
        self.rotations = self._counter(catalogue.CERTIFICATE_ROTATIONS)
        self.audits = self._counter(catalogue.AUDITS)
        self.rank_repairs = self._counter(catalogue.RANK_REPAIRS)
        self.policy_status_writes = self._counter(catalogue.POLICY_STATUS_WRITES)
        self.audit_leader = self._gauge(catalogue.AUDIT_LEADER)
        self.audit_time = self._gauge(catalogue.AUDIT_TIME)
        self.audit_duration = self._gauge(catalogue.AUDIT_DURATION)
        self.telemetry_failures = self._counter(catalogue.TELEMETRY_FAILURES)
        self.tasks = self._gauge(catalogue.TASKS)
        self._lost_lines = _ReadCounter(catalogue.LOG_LINES_LOST)
        self.registry.register(self._lost_lines)
        self.forget_audit()
        self._build = self._gauge(catalogue.BUILD_INFO)
        self._features = self._gauge(catalogue.FEATURES)
        self._zone_left_out = self._local(catalogue.ZONE_LEFT_OUT)
        self._requests = self._local(catalogue.REQUESTS)
        self._durations = LocalHistogram(catalogue.DURATION, (*Hook, *BindHook), BUCKETS)
        self.registry.register(self._durations)
        self._applied = self._local(catalogue.APPLIED)
        self._skipped = self._local(catalogue.SKIPPED)
        self._findings = self._local(catalogue.FINDINGS)
        self._dropped = self._local(catalogue.DROPPED)
        self._bindings = self._local(catalogue.BINDINGS)

    def count_review(
        self, request: AdmissionRequest, hook: AnyHook, verdict: Verdict, seconds: float
    ) -> None:
        """Count one answered review; a dry run applies no defaults and denies no object."""
        kind = self._kinds.get(request.kind, OTHER_LABEL)
        operation = request.operation if request.operation in OPERATIONS else OTHER_LABEL
        self._requests.count(hook, kind, operation, verdict.outcome, DRY_RUN[request.dry_run])
        self._durations.observe(hook, seconds)
        if verdict.ranking is not None:
            self._bindings.count(verdict.ranking.result)
        elif verdict is not UNTOUCHED and not request.dry_run:
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
            self._applied.count(injection.profile)
            if injection.zone_left_out:
                self._zone_left_out.count()
        elif injection is not None:
            self._skipped.count(injection.skip)
        for finding in verdict.findings:
            action = verdict.outcome if verdict.outcome in ("deny", "would_deny") else "warn"
            self._findings.count(finding.rule, action)
        if verdict.advice is not None:
            for warned in verdict.advice.warned:
                self._findings.count(warned.rule, "warn")
            for audited in verdict.advice.audited:
                self._findings.count(audited.rule, "audit")
            for exempted in verdict.advice.exempted:
                self._findings.count(exempted.finding.rule, "exempt")
        for drop in verdict.drops:
            self._dropped.count(drop.gate)

    def _counter(self, row: Metric) -> Counter:
        return Counter(row.name, row.help, row.labels, registry=self.registry)

    def _local(self, row: Metric) -> LocalCounter:
        counter = LocalCounter(row)
        self.registry.register(counter)
        return counter

    def _gauge(self, row: Metric) -> Gauge:
        return Gauge(row.name, row.help, row.labels, registry=self.registry)


def _names(kinds: Iterable[GroupKind]) -> dict[GroupKind, str]:
    return {kind: str(kind) for kind in (*kinds, BINDING)}

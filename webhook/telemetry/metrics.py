"""
The metrics of a server: a registry of its own, made from the table of ``measures``.

Calls are counted in ``calls``, by plain numbers; what counts more seldom is a child of
prometheus-client, bound when it is first asked for, since looking one up by its labels takes 2 us.
Whatever is known anyway is computed when somebody asks.

A label has few values: kinds that the policy does not know, and operations that do not exist, are
``other``.
"""

import math
from collections.abc import Callable, Iterable, Iterator
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
from prometheus_client.metrics_core import CounterMetricFamily
from prometheus_client.registry import Collector

from webhook.policy.api.gates import Stage
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.model import GroupKind
from webhook.policy.request import AdmissionRequest, Hook
from webhook.policy.verdict import UNTOUCHED, Verdict
from webhook.policy.workloads import BUILT_IN
from webhook.telemetry.calls import Calls
from webhook.telemetry.catalogue import (
    APPLIED,
    AUDIT_DURATION,
    AUDIT_LEADER,
    AUDIT_TIME,
    AUDITS,
    BODIES,
    BUCKETS,
    BUILD_INFO,
    CA_BUNDLE_IN_SYNC,
    CACHE_AGE,
    CACHE_OBJECTS,
    CACHE_SYNCED,
    CERTIFICATE_EXPIRY,
    CERTIFICATE_ROTATIONS,
    CONFIG_ADVICE,
    CONFIG_RELOADS,
    CONFIG_VALID,
    CONNECTIONS,
    DROPPED,
    DURATION,
    FEATURES,
    FINDINGS,
    IN_FLIGHT,
    LOG_LINES_LOST,
    OBJECTS_SKIPPED,
    OWNER_LOOKUPS,
    REJECTED,
    REQUESTS,
    SKIPPED,
    TASK_RESTARTS,
    TELEMETRY_FAILURES,
    WATCH_RESTARTS,
    ZONE_LEFT_OUT,
    Metric,
)
from webhook.telemetry.exposition import expose

Child = TypeVar("Child", bound=MetricWrapperBase)

EXPOSITION = CONTENT_TYPE_LATEST
OTHER = "other"
OPERATIONS = frozenset({"CREATE", "UPDATE", "DELETE", "CONNECT"})


class _Children(dict[tuple[str, ...], Child]):
    """The children of one metric, each bound when it is first asked for; the labels are few."""

    def __init__(self, metric: Child) -> None:
        super().__init__()
        self._metric: Child = metric

    def __missing__(self, labels: tuple[str, ...]) -> Child:
        child = self[labels] = self._metric.labels(*labels)
        return child


class _ReadCounter(Collector):
    """A counter whose value another object keeps."""

    def __init__(self, row: Metric) -> None:
        self._row = row
        self.read: Callable[[], int] = lambda: 0

    def collect(self) -> Iterator[CounterMetricFamily]:
        yield CounterMetricFamily(self._row.name, self._row.help, self.read())


class Metrics:
    """
    The metrics of one server.

    Attributes:
        registry: All of them, and those of the process.
        in_flight: A gauge, as are ``connections``, ``body_bytes``, ``cache_objects``,
            ``cache_synced`` and ``cache_age`` (by kind), ``config_valid``, ``config_advice``,
            ``expiry`` (by type and source) and ``in_sync``.
        rejected: A counter by reason; ``restarts`` and ``skipped`` by kind and reason; ``lookups``,
            ``reloads`` and ``audits`` by result; ``rotations`` by type and result;
            ``task_restarts`` by task; ``telemetry_failures``.
        audited: The metrics of the last audit, as text; that of none if this replica made none.
        audit_time: A gauge, as are ``audit_duration`` and ``audit_leader``.
    """

    def __init__(self) -> None:
        """Make every metric of the table."""
        # Else each counter comes with a second one that says since when it counts.
        disable_created_metrics()  # type: ignore[no-untyped-call]  # upstream left out its "-> None"
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._kinds = _names(BUILT_IN)
        self.in_flight = self._gauge(IN_FLIGHT)
        self.connections = self._gauge(CONNECTIONS)
        self.body_bytes = self._gauge(BODIES)
        self.cache_objects = self._gauge(CACHE_OBJECTS)
        self.cache_synced = self._gauge(CACHE_SYNCED)
        self.cache_age = self._gauge(CACHE_AGE)
        self.config_valid = self._gauge(CONFIG_VALID)
        self.config_advice = self._gauge(CONFIG_ADVICE)
        self.expiry = self._gauge(CERTIFICATE_EXPIRY)
        self.in_sync = self._gauge(CA_BUNDLE_IN_SYNC)
        self.in_sync.set(math.nan)
        self.rejected = self._counter(REJECTED)
        self.restarts = self._counter(WATCH_RESTARTS)
        self.skipped = self._counter(OBJECTS_SKIPPED)
        self.task_restarts = self._counter(TASK_RESTARTS)
        self.lookups = self._counter(OWNER_LOOKUPS)
        self.reloads = self._counter(CONFIG_RELOADS)
        self.rotations = self._counter(CERTIFICATE_ROTATIONS)
        self.audits = self._counter(AUDITS)
        self.audit_leader = self._gauge(AUDIT_LEADER)
        self.audit_time = self._gauge(AUDIT_TIME)
        self.audit_duration = self._gauge(AUDIT_DURATION)
        self.telemetry_failures = self._counter(TELEMETRY_FAILURES)
        self._lost_lines = _ReadCounter(LOG_LINES_LOST)
        self.registry.register(self._lost_lines)
        self.forget_audit()
        self._build = self._gauge(BUILD_INFO)
        self._features = self._gauge(FEATURES)
        self._zone_left_out = self._counter(ZONE_LEFT_OUT)
        self._calls = Calls(REQUESTS, DURATION, map(str, Hook), BUCKETS)
        self.registry.register(self._calls)
        self._applied = _Children(self._counter(APPLIED))
        self._skipped = _Children(self._counter(SKIPPED))
        self._findings = _Children(self._counter(FINDINGS))
        self._dropped = _Children(self._counter(DROPPED))

    def judged(self, asked: AdmissionRequest, hook: Hook, verdict: Verdict, seconds: float) -> None:
        """Count one review that was answered."""
        kind = self._kinds.get(asked.kind, OTHER)
        operation = asked.operation if asked.operation in OPERATIONS else OTHER
        self._calls.count((hook.value, kind, operation, verdict.outcome), seconds)
        if verdict is not UNTOUCHED:
            self._count_why(verdict)

    def in_force(self, version: str, policy: Policy) -> None:
        """Show which version runs and which gates are on; tell the kinds of a policy apart."""
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
        """Show how many log lines were lost; ``read`` is called when the metrics are read."""
        self._lost_lines.read = read

    def exposition(self) -> bytes:
        """Write all metrics in Prometheus' text format, whose media type is ``EXPOSITION``."""
        return generate_latest(self.registry) + self.audited

    def show_audit(self, exposition: bytes, ended: float, took_s: float) -> None:
        """
        Show the metrics of an audit in place of those of the last one.

        Args:
            exposition: What ``webhook.telemetry.exposition`` made of it.
            ended: When, in seconds since 1970.
        """
        self.audited = exposition
        self.audit_time.set(ended)
        self.audit_duration.set(took_s)

    def forget_audit(self) -> None:
        """Show no audit: another replica does."""
        self.audited = expose({})
        self.audit_time.set(math.nan)
        self.audit_duration.set(math.nan)

    def _count_why(self, verdict: Verdict) -> None:
        injection = verdict.injection
        if injection is not None and injection.entries:
            self._applied[injection.profile,].inc()
            if injection.zone_left_out:
                self._zone_left_out.inc()
        elif injection is not None:
            self._skipped[injection.skip,].inc()
        for finding in verdict.findings:
            self._findings[finding.rule, action(verdict)].inc()
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


def action(verdict: Verdict) -> str:
    """What comes of the violations in a verdict: ``deny``, ``would_deny`` or ``warn``."""
    return "warn" if verdict.outcome not in ("deny", "would_deny") else verdict.outcome

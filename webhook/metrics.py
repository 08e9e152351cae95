"""
The metrics of the server: a table, and a registry of its own that is made from it.

Calls are counted in ``calls``, by plain numbers; what counts more seldom is a child of
prometheus-client, bound when it is first asked for, since looking one up by its labels takes 2 us.
Whatever is known anyway is computed when somebody asks.

A label has few values: kinds that the policy does not know, and operations that do not exist, are
``other``.
"""

import math
from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple, TypeVar

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

from webhook.calls import Calls
from webhook.policy.gates import Stage
from webhook.policy.model import GroupKind
from webhook.policy.profiles import Policy
from webhook.policy.request import AdmissionRequest, Hook
from webhook.policy.verdict import UNTOUCHED, Verdict
from webhook.policy.workloads import BUILT_IN

Child = TypeVar("Child", bound=MetricWrapperBase)

EXPOSITION = CONTENT_TYPE_LATEST
OTHER = "other"
OPERATIONS = frozenset({"CREATE", "UPDATE", "DELETE", "CONNECT"})

BUCKETS = (
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0,
)  # fmt: skip  # seconds; from what judging costs to the longest that a request may take


class Type(StrEnum):
    """The types of metrics that are used."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Metric(NamedTuple):
    """
    One metric.

    Attributes:
        name: As Prometheus shows it.
        type: What can be done with it.
        labels: Their names, in order.
        help: One sentence.
    """

    name: str
    type: Type
    labels: tuple[str, ...]
    help: str


REQUESTS = Metric(
    "evenspread_admission_requests_total",
    Type.COUNTER,
    ("hook", "kind", "operation", "verdict"),
    "Reviews answered; verdict is allow, patch, deny, would_deny or would_patch.",
)
DURATION = Metric(
    "evenspread_admission_duration_seconds",
    Type.HISTOGRAM,
    ("hook",),
    "Time from a request's head to its answer, of reviews answered.",
)
IN_FLIGHT = Metric(
    "evenspread_admission_in_flight",
    Type.GAUGE,
    (),
    "Reviews that have come whole and are not answered yet.",
)
REJECTED = Metric(
    "evenspread_admission_rejected_total",
    Type.COUNTER,
    ("reason",),
    "Requests and connections that were turned away unanswered, and connections that were cut.",
)
APPLIED = Metric(
    "evenspread_defaults_applied_total",
    Type.COUNTER,
    ("profile",),
    "Pods that were given default constraints.",
)
SKIPPED = Metric(
    "evenspread_defaults_skipped_total",
    Type.COUNTER,
    ("reason",),
    "Pods that were given no default constraints.",
)
ZONE_LEFT_OUT = Metric(
    "evenspread_defaults_zone_left_out_total",
    Type.COUNTER,
    (),
    "Pods given System defaults without the zone, since some schedulable node has no zone label.",
)
FINDINGS = Metric(
    "evenspread_rule_findings_total",
    Type.COUNTER,
    ("rule", "action"),
    "Violations of rules; action is deny, would_deny, warn or audit.",
)
DROPPED = Metric(
    "evenspread_fields_dropped_total",
    Type.COUNTER,
    ("gate",),
    "Fields held back because their gate is off.",
)
CONNECTIONS = Metric(
    "evenspread_connections",
    Type.GAUGE,
    (),
    "Open connections of the admission port, with those in their TLS handshake.",
)
BODIES = Metric(
    "evenspread_body_bytes",
    Type.GAUGE,
    (),
    "Bytes of request bodies that are being read.",
)
CACHE_OBJECTS = Metric(
    "evenspread_cache_objects",
    Type.GAUGE,
    ("kind",),
    "Objects of the cluster that are known.",
)
CACHE_SYNCED = Metric(
    "evenspread_cache_synced",
    Type.GAUGE,
    ("kind",),
    "1 if the objects of a kind have been listed once, else 0.",
)
CACHE_AGE = Metric(
    "evenspread_cache_age_seconds",
    Type.GAUGE,
    ("kind",),
    "Time since the API server last said anything about a kind; +Inf if it never did.",
)
WATCH_RESTARTS = Metric(
    "evenspread_watch_restarts_total",
    Type.COUNTER,
    ("kind", "reason"),
    "Times that following a kind began anew; a server that ends a watch in good order is ended.",
)
OWNER_LOOKUPS = Metric(
    "evenspread_owner_lookups_total",
    Type.COUNTER,
    ("result",),
    "Owners and Namespaces that a cache lacked; result is found, absent, failed or late.",
)
CONFIG_VALID = Metric(
    "evenspread_config_valid",
    Type.GAUGE,
    (),
    "1 if the configuration in force is what the files say, 0 if a newer version is invalid.",
)
CONFIG_RELOADS = Metric(
    "evenspread_config_reloads_total",
    Type.COUNTER,
    ("result",),
    "Times that a changed configuration was read; result is success or failure.",
)
CONFIG_ADVICE = Metric(
    "evenspread_config_advice",
    Type.GAUGE,
    (),
    "Hard defaults of which the Nodes may keep pods Pending, when they last were looked at.",
)
CERTIFICATE_EXPIRY = Metric(
    "evenspread_certificate_expiry_timestamp_seconds",
    Type.GAUGE,
    ("type", "source"),
    "When the served leaf, and the newest CA, expire.",
)
CERTIFICATE_ROTATIONS = Metric(
    "evenspread_certificate_rotations_total",
    Type.COUNTER,
    ("type", "result"),
    "Certificates replaced; result is success or failure.",
)
CA_BUNDLE_IN_SYNC = Metric(
    "evenspread_ca_bundle_in_sync",
    Type.GAUGE,
    (),
    "1 if the webhook configurations trust the served leaf, 0 if not; NaN if that is not known.",
)
BUILD_INFO = Metric(
    "evenspread_build_info",
    Type.GAUGE,
    ("version", "kubernetes"),
    "Always 1; the version of evenspread, and the Kubernetes version that it judges by.",
)
FEATURES = Metric(
    "kubernetes_feature_enabled",
    Type.GAUGE,
    ("name", "stage"),
    "1 if a feature gate is on, 0 if it is off; as the Kubernetes components have it.",
)

METRICS = (
    REQUESTS,
    DURATION,
    IN_FLIGHT,
    REJECTED,
    APPLIED,
    SKIPPED,
    ZONE_LEFT_OUT,
    FINDINGS,
    DROPPED,
    CONNECTIONS,
    BODIES,
    CACHE_OBJECTS,
    CACHE_SYNCED,
    CACHE_AGE,
    WATCH_RESTARTS,
    OWNER_LOOKUPS,
    CONFIG_VALID,
    CONFIG_RELOADS,
    CONFIG_ADVICE,
    CERTIFICATE_EXPIRY,
    CERTIFICATE_ROTATIONS,
    CA_BUNDLE_IN_SYNC,
    BUILD_INFO,
    FEATURES,
)


class _Children(dict[tuple[str, ...], Child]):
    """The children of one metric, each bound when it is first asked for; the labels are few."""

    def __init__(self, metric: Child) -> None:
        super().__init__()
        self._metric: Child = metric

    def __missing__(self, labels: tuple[str, ...]) -> Child:
        child = self[labels] = self._metric.labels(*labels)
        return child


class Metrics:
    """
    The metrics of one server.

    Attributes:
        registry: All of them, and those of the process.
        in_flight: A gauge, as are ``connections``, ``body_bytes``, ``cache_objects``,
            ``cache_synced`` and ``cache_age`` (by kind), ``config_valid``, ``config_advice``,
            ``expiry`` (by type and source) and ``in_sync``.
        rejected: A counter by reason; ``restarts`` by kind and reason; ``lookups`` and ``reloads``
            by result; ``rotations`` by type and result.
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
        self.lookups = self._counter(OWNER_LOOKUPS)
        self.reloads = self._counter(CONFIG_RELOADS)
        self.rotations = self._counter(CERTIFICATE_ROTATIONS)
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

    def exposition(self) -> bytes:
        """Write all metrics in Prometheus' text format, whose media type is ``EXPOSITION``."""
        return generate_latest(self.registry)

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
            for finding in verdict.advice.warned:
                self._findings[finding.rule, "warn"].inc()
            for finding in verdict.advice.audited:
                self._findings[finding.rule, "audit"].inc()
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

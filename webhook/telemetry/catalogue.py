"""
The catalogue of metrics: name, type, labels and help of each.

``Metrics`` and the reference are built from ``METRICS``. This module must not count anything.
"""

from enum import StrEnum
from typing import NamedTuple

BUCKETS = (
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0,
)  # fmt: skip  # seconds; from the time of a verdict to the longest time of a request


class Type(StrEnum):
    """The types of metrics in use."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Metric(NamedTuple):
    """
    One metric.

    Attributes:
        name: The name in Prometheus.
        labels: The names of its labels, in order.
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
    "Time from a request's head to its answer, for answered reviews.",
)
IN_FLIGHT = Metric(
    "evenspread_admission_in_flight",
    Type.GAUGE,
    (),
    "Reviews that are complete and not answered yet.",
)
REJECTED = Metric(
    "evenspread_admission_rejected_total",
    Type.COUNTER,
    ("reason",),
    "Requests and connections that were refused, and connections that were cut.",
)
APPLIED = Metric(
    "evenspread_defaults_applied_total",
    Type.COUNTER,
    ("profile",),
    "Pods that received default constraints.",
)
SKIPPED = Metric(
    "evenspread_defaults_skipped_total",
    Type.COUNTER,
    ("reason",),
    "Pods that received no default constraints.",
)
ZONE_LEFT_OUT = Metric(
    "evenspread_defaults_zone_left_out_total",
    Type.COUNTER,
    (),
    "Pods given System defaults without the zone because a schedulable node has no zone label.",
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
    "Fields dropped because their feature gate is off.",
)
CONNECTIONS = Metric(
    "evenspread_connections",
    Type.GAUGE,
    (),
    "Open connections of the admission port, including those in their TLS handshake.",
)
BODIES = Metric(
    "evenspread_body_bytes",
    Type.GAUGE,
    (),
    "Bytes of request bodies in memory.",
)
CACHE_OBJECTS = Metric(
    "evenspread_cache_objects",
    Type.GAUGE,
    ("kind",),
    "Objects in the caches.",
)
CACHE_SYNCED = Metric(
    "evenspread_cache_synced",
    Type.GAUGE,
    ("kind",),
    "1 if the objects of a kind have been listed at least once, else 0.",
)
CACHE_AGE = Metric(
    "evenspread_cache_age_seconds",
    Type.GAUGE,
    ("kind",),
    "Time since the API server last sent anything about a kind; +Inf if it never did.",
)
OBJECTS_SKIPPED = Metric(
    "evenspread_objects_skipped_total",
    Type.COUNTER,
    ("kind", "reason"),
    "Objects that a cache skipped; reason is shape, selector-size or namespace-size.",
)
WATCH_RESTARTS = Metric(
    "evenspread_watch_restarts_total",
    Type.COUNTER,
    ("kind", "reason"),
    "Restarts of the watch of a kind; reason ended is a regular end by the API server.",
)
TASK_RESTARTS = Metric(
    "evenspread_task_restarts_total",
    Type.COUNTER,
    ("task",),
    "Restarts of a background task after a bug; the log has the traceback.",
)
OWNER_LOOKUPS = Metric(
    "evenspread_owner_lookups_total",
    Type.COUNTER,
    ("result",),
    "Lookups of owners and Namespaces missing in a cache; result is found, absent, failed or late.",
)
CONFIG_VALID = Metric(
    "evenspread_config_valid",
    Type.GAUGE,
    (),
    "1 if the configuration in force is that of the files, 0 if a newer version is invalid.",
)
CONFIG_RELOADS = Metric(
    "evenspread_config_reloads_total",
    Type.COUNTER,
    ("result",),
    "Reloads of a changed configuration; result is success or failure.",
)
CONFIG_ADVICE = Metric(
    "evenspread_config_advice",
    Type.GAUGE,
    (),
    "Hard defaults that may keep pods Pending on the present Nodes, at the last check.",
)
CERTIFICATE_EXPIRY = Metric(
    "evenspread_certificate_expiry_timestamp_seconds",
    Type.GAUGE,
    ("type", "source"),
    "Expiry of the served leaf and of the newest CA.",
)
CERTIFICATE_ROTATIONS = Metric(
    "evenspread_certificate_rotations_total",
    Type.COUNTER,
    ("type", "result"),
    "Certificate rotations; result is success or failure.",
)
CA_BUNDLE_IN_SYNC = Metric(
    "evenspread_ca_bundle_in_sync",
    Type.GAUGE,
    (),
    "1 if the webhook configurations trust the served leaf, 0 if not; NaN if unknown.",
)
SKEW = Metric(
    "evenspread_skew",
    Type.GAUGE,
    ("namespace", "workload", "topology_key"),
    "Pods in a workload's fullest domain above the global minimum, at the last audit.",
)
MAX_SKEW = Metric(
    "evenspread_max_skew",
    Type.GAUGE,
    ("namespace", "workload", "topology_key"),
    "maxSkew of the workload's constraint; absent without a constraint.",
)
DOMAINS = Metric(
    "evenspread_domains",
    Type.GAUGE,
    ("namespace", "workload", "topology_key"),
    "Domains that are eligible for the pods of the workload.",
)
AUDIT_FINDINGS = Metric(
    "evenspread_findings",
    Type.GAUGE,
    ("rule", "action"),
    "Findings of the last audit, per workload and field; action is deny, warn, audit or exempt.",
)
AUDIT_WORKLOADS = Metric(
    "evenspread_audit_workloads",
    Type.GAUGE,
    (),
    "Workloads in the last audit.",
)
AUDIT_ROWS_LEFT_OUT = Metric(
    "evenspread_audit_rows_left_out",
    Type.GAUGE,
    (),
    "Pairs of workload and topology key without evenspread_skew: the 2000 most uneven have it.",
)
AUDIT_TIME = Metric(
    "evenspread_audit_timestamp_seconds",
    Type.GAUGE,
    (),
    "End of the last audit; NaN if this replica has made none.",
)
AUDIT_DURATION = Metric(
    "evenspread_audit_duration_seconds",
    Type.GAUGE,
    (),
    "Duration of the last audit; NaN if this replica has made none.",
)
AUDITS = Metric(
    "evenspread_audits_total",
    Type.COUNTER,
    ("result",),
    "Completed audits; result is success or failure.",
)
AUDIT_LEADER = Metric(
    "evenspread_audit_leader",
    Type.GAUGE,
    (),
    "1 if this replica makes the audits, else 0.",
)
LOG_LINES_LOST = Metric(
    "evenspread_log_lines_lost_total",
    Type.COUNTER,
    (),
    "Log lines that were lost, in part or whole, because the reader is slow or gone.",
)
TELEMETRY_FAILURES = Metric(
    "evenspread_telemetry_failures_total",
    Type.COUNTER,
    (),
    "Verdicts that were answered but not fully counted or logged: a bug, reported in the log.",
)
BUILD_INFO = Metric(
    "evenspread_build_info",
    Type.GAUGE,
    ("version", "kubernetes"),
    "Always 1; the version of evenspread, and the Kubernetes version whose rules it applies.",
)
FEATURES = Metric(
    "kubernetes_feature_enabled",
    Type.GAUGE,
    ("name", "stage"),
    "1 if a feature gate is on, 0 if it is off; as in Kubernetes components.",
)

AUDITED = (SKEW, MAX_SKEW, DOMAINS, AUDIT_FINDINGS, AUDIT_WORKLOADS, AUDIT_ROWS_LEFT_OUT)
"""The metrics of an audit; only the replica that made the last audit has samples of them."""

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
    OBJECTS_SKIPPED,
    WATCH_RESTARTS,
    TASK_RESTARTS,
    OWNER_LOOKUPS,
    CONFIG_VALID,
    CONFIG_RELOADS,
    CONFIG_ADVICE,
    CERTIFICATE_EXPIRY,
    CERTIFICATE_ROTATIONS,
    CA_BUNDLE_IN_SYNC,
    *AUDITED,
    AUDIT_TIME,
    AUDIT_DURATION,
    AUDITS,
    AUDIT_LEADER,
    LOG_LINES_LOST,
    TELEMETRY_FAILURES,
    BUILD_INFO,
    FEATURES,
)

"""
What the server measures: the table that its metrics and the reference are made from.

A label has few values: kinds that the policy does not know, and operations that do not exist, are
``other``.
"""

from enum import StrEnum
from typing import NamedTuple

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
OBJECTS_SKIPPED = Metric(
    "evenspread_objects_skipped_total",
    Type.COUNTER,
    ("kind", "reason"),
    "Objects that a cache does without; reason is shape, selector-size or namespace-size.",
)
WATCH_RESTARTS = Metric(
    "evenspread_watch_restarts_total",
    Type.COUNTER,
    ("kind", "reason"),
    "Times that following a kind began anew; a server that ends a watch in good order is ended.",
)
TASK_RESTARTS = Metric(
    "evenspread_task_restarts_total",
    Type.COUNTER,
    ("task",),
    "Times that a background task failed by a bug and was restarted; the log has the traceback.",
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
SKEW = Metric(
    "evenspread_skew",
    Type.GAUGE,
    ("namespace", "workload", "topology_key"),
    "Pods of a workload's fullest domain above the global minimum, at the last audit.",
)
MAX_SKEW = Metric(
    "evenspread_max_skew",
    Type.GAUGE,
    ("namespace", "workload", "topology_key"),
    "What the workload asks for; absent if it asks for nothing.",
)
DOMAINS = Metric(
    "evenspread_domains",
    Type.GAUGE,
    ("namespace", "workload", "topology_key"),
    "Domains that the pods of the workload may be in.",
)
AUDIT_FINDINGS = Metric(
    "evenspread_findings",
    Type.GAUGE,
    ("rule", "action"),
    "Findings of the last audit, one a workload and field; action is deny, warn, audit or exempt.",
)
AUDIT_WORKLOADS = Metric(
    "evenspread_audit_workloads",
    Type.GAUGE,
    (),
    "Workloads that the last audit looked at.",
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
    "When the last audit ended; NaN if this replica has made none.",
)
AUDIT_DURATION = Metric(
    "evenspread_audit_duration_seconds",
    Type.GAUGE,
    (),
    "How long the last audit took; NaN if this replica has made none.",
)
AUDITS = Metric(
    "evenspread_audits_total",
    Type.COUNTER,
    ("result",),
    "Audits begun and ended; result is success or failure.",
)
AUDIT_LEADER = Metric(
    "evenspread_audit_leader",
    Type.GAUGE,
    (),
    "1 if it is this replica that audits, else 0.",
)
LOG_LINES_LOST = Metric(
    "evenspread_log_lines_lost_total",
    Type.COUNTER,
    (),
    "Log lines that could not be written, in part or whole: the reader is slow or gone.",
)
TELEMETRY_FAILURES = Metric(
    "evenspread_telemetry_failures_total",
    Type.COUNTER,
    (),
    "Verdicts that were answered, but not fully counted or logged: a bug, told in the log.",
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

AUDITED = (SKEW, MAX_SKEW, DOMAINS, AUDIT_FINDINGS, AUDIT_WORKLOADS, AUDIT_ROWS_LEFT_OUT)
"""What an audit itself gives; only the replica that made the last one has samples of these."""

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

"""
The catalogue of metrics: name, type, labels and help of each.

``Metrics`` and the reference are built from ``METRICS``. This module must not count anything.
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import partial

BUCKETS = (
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0,
)  # fmt: skip  # seconds; from the time of a verdict to the longest time of a request


class Type(StrEnum):
    """The types of metrics in use."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Metric:
    """
    One metric.

    Attributes:
        name: The name in Prometheus.
        labels: The names of its labels, in order.
    """

    type: Type
    name: str
    help: str
    labels: tuple[str, ...] = ()


_counter = partial(Metric, Type.COUNTER)
_gauge = partial(Metric, Type.GAUGE)
_histogram = partial(Metric, Type.HISTOGRAM)

REQUESTS = _counter(
    "evenspread_admission_requests_total",
    "Reviews answered; verdict is allow, patch, deny, would_deny or would_patch. "
    "Only this metric and the duration count dry runs.",
    ("hook", "kind", "operation", "verdict", "dry_run"),
)
DURATION = _histogram(
    "evenspread_admission_duration_seconds",
    "Time from a request's head to its answer, for answered reviews.",
    ("hook",),
)
IN_FLIGHT = _gauge(
    "evenspread_admission_in_flight", "Reviews that are complete and not answered yet."
)
REJECTED = _counter(
    "evenspread_admission_rejected_total",
    "Requests and connections that were refused, and connections that were cut.",
    ("reason",),
)
APPLIED = _counter(
    "evenspread_defaults_applied_total", "Pods that received default constraints.", ("profile",)
)
SKIPPED = _counter(
    "evenspread_defaults_skipped_total", "Pods that received no default constraints.", ("reason",)
)
ZONE_LEFT_OUT = _counter(
    "evenspread_defaults_zone_left_out_total",
    "Pods given System defaults without the zone because a schedulable node has no zone label.",
)
FINDINGS = _counter(
    "evenspread_rule_findings_total",
    "Violations of rules; action is deny, would_deny, warn, audit or exempt.",
    ("rule", "action"),
)
DROPPED = _counter(
    "evenspread_fields_dropped_total",
    "Fields dropped because their feature gate is off.",
    ("gate",),
)
BINDINGS = _counter(
    "evenspread_bindings_total",
    "Bindings of pods to nodes; result is ranked, or why the pod got no rank.",
    ("result",),
)
CONNECTIONS = _gauge(
    "evenspread_connections",
    "Open connections of the admission port, including those in their TLS handshake.",
)
EVENT_LOOP_LAG = _histogram(
    "evenspread_event_loop_lag_seconds",
    "How late a timer fired because the event loop was busy; measured four times a second.",
)
BODIES = _gauge("evenspread_body_bytes", "Bytes of request bodies in memory.")
CACHE_OBJECTS = _gauge("evenspread_cache_objects", "Objects in the caches.", ("kind",))
CACHE_SYNCED = _gauge(
    "evenspread_cache_synced",
    "1 if the objects of a kind have been listed at least once, else 0.",
    ("kind",),
)
CACHE_AGE = _gauge(
    "evenspread_cache_age_seconds",
    "Time since the API server last sent anything about a kind; +Inf if it never did.",
    ("kind",),
)
OBJECTS_SKIPPED = _counter(
    "evenspread_objects_skipped_total",
    "Objects that a cache skipped; reason is shape or selector-, namespace- or object-size.",
    ("kind", "reason"),
)
WATCH_RESTARTS = _counter(
    "evenspread_watch_restarts_total",
    "Restarts of the watch of a kind; reason ended is a regular end by the API server.",
    ("kind", "reason"),
)
TASK_RESTARTS = _counter(
    "evenspread_task_restarts_total",
    "Restarts of a background task after a bug; the log has the traceback.",
    ("task",),
)
OWNER_LOOKUPS = _counter(
    "evenspread_owner_lookups_total",
    "Lookups for reviews; result is found, absent, failed, late or skipped by a limit.",
    ("result",),
)
CONFIG_VALID = _gauge(
    "evenspread_config_valid",
    "1 if the configuration in force is that of the files, 0 if a newer version is invalid.",
)
CONFIG_RELOADS = _counter(
    "evenspread_config_reloads_total",
    "Reloads of a changed configuration; result is success or failure.",
    ("result",),
)
CONFIG_ADVICE = _gauge(
    "evenspread_config_advice",
    "Hard defaults that may keep pods Pending on the present Nodes, at the last check.",
)
CERTIFICATE_EXPIRY = _gauge(
    "evenspread_certificate_expiry_timestamp_seconds",
    "Expiry of the served leaf and of the newest CA.",
    ("type", "source"),
)
CERTIFICATE_ROTATIONS = _counter(
    "evenspread_certificate_rotations_total",
    "Certificate rotations; result is success or failure.",
    ("type", "result"),
)
CA_BUNDLE_IN_SYNC = _gauge(
    "evenspread_ca_bundle_in_sync",
    "1 if the webhook configurations trust the served leaf, 0 if not; NaN if unknown.",
)
REGISTRATION_DRIFT = _gauge(
    "evenspread_webhook_configuration_drift",
    "Deviations of a webhook configuration from what evenspread needs; a missing one counts 1.",
    ("kind",),
)
SKEW = _gauge(
    "evenspread_skew",
    "Pods in the fullest domain above the global minimum, as the constraint of a workload counts "
    "them, at the last audit; absent without a constraint.",
    ("namespace", "workload", "topology_key"),
)
POD_SKEW = _gauge(
    "evenspread_pod_skew",
    "Pods of the workload in their fullest domain above those in the emptiest one, whether a "
    "constraint counts them or not, at the last audit.",
    ("namespace", "workload", "topology_key"),
)
UNCOUNTED_PODS = _gauge(
    "evenspread_uncounted_pods",
    "Pods of the workload that its constraint does not count; absent without a constraint.",
    ("namespace", "workload", "topology_key"),
)
MAX_SKEW = _gauge(
    "evenspread_max_skew",
    "maxSkew of the workload's constraint; absent without a constraint.",
    ("namespace", "workload", "topology_key"),
)
DOMAINS = _gauge(
    "evenspread_domains",
    "Domains that are eligible for the pods of the workload.",
    ("namespace", "workload", "topology_key"),
)
WORKLOAD_PODS = _gauge(
    "evenspread_workload_pods",
    "Pods of the workload at the last audit.",
    ("namespace", "workload", "topology_key"),
)
NEEDED_EVICTIONS = _gauge(
    "evenspread_needed_evictions",
    "Fewest evictions after which the workload's constraint holds, if all domains have room; "
    "absent without a constraint, or if no evictions suffice.",
    ("namespace", "workload", "topology_key"),
)
DOMAIN_PODS = _gauge(
    "evenspread_domain_pods",
    "Pods in a domain, as the constraint of a workload counts them, or its own pods without one: "
    "of the 50 most uneven pairs of workload and topology key, the 40 fullest domains of each.",
    ("namespace", "workload", "topology_key", "domain"),
)
AUDIT_FINDINGS = _gauge(
    "evenspread_findings",
    "Findings of the last audit, per workload and field; action is deny, warn, audit or exempt.",
    ("rule", "action"),
)
AUDIT_WORKLOADS = _gauge("evenspread_audit_workloads", "Workloads in the last audit.")
AUDIT_ROWS_LEFT_OUT = _gauge(
    "evenspread_audit_rows_left_out",
    "Pairs of workload and topology key without evenspread_pod_skew: the 2000 most uneven have it.",
)
AUDIT_NAMESPACES_LEFT_OUT = _gauge(
    "evenspread_audit_namespaces_left_out",
    "Namespaces that the last audit left out, because they need more memory than --audit-memory.",
)
AUDIT_TIME = _gauge(
    "evenspread_audit_timestamp_seconds",
    "End of the last audit; NaN if this replica has made none.",
)
AUDIT_DURATION = _gauge(
    "evenspread_audit_duration_seconds",
    "Duration of the last audit; NaN if this replica has made none.",
)
AUDITS = _counter(
    "evenspread_audits_total", "Completed audits; result is success or failure.", ("result",)
)
RANK_REPAIRS = _counter(
    "evenspread_rank_repairs_total",
    "Ranks of pods that this replica corrected; reason contested: another client writes the cost, "
    "and the pod keeps it.",
    ("reason",),
)
POLICY_STATUS_WRITES = _counter(
    "evenspread_policy_status_writes_total",
    "Writes of the status of SpreadPolicies; result is success, conflict or failure. A conflict is "
    "a change by another client, and the status is computed again.",
    ("result",),
)
AUDIT_LEADER = _gauge("evenspread_audit_leader", "1 if this replica makes the audits, else 0.")
TASKS = _gauge(
    "evenspread_tasks",
    "Asyncio tasks. They follow the number of connections; a steady rise without one is a leak.",
)
LOG_LINES_LOST = _counter(
    "evenspread_log_lines_lost_total",
    "Log lines that were lost, in part or whole, because the reader is slow or gone.",
)
TELEMETRY_FAILURES = _counter(
    "evenspread_telemetry_failures_total",
    "Verdicts that were answered but not fully counted or logged: a bug, reported in the log.",
)
BUILD_INFO = _gauge(
    "evenspread_build_info",
    "Always 1; the version of evenspread, and the Kubernetes version whose rules it applies.",
    ("version", "kubernetes"),
)
FEATURES = _gauge(
    "kubernetes_feature_enabled",
    "1 if a feature gate is on, 0 if it is off; as in Kubernetes components.",
    ("name", "stage"),
)

AUDITED = (
    SKEW,
    POD_SKEW,
    UNCOUNTED_PODS,
    MAX_SKEW,
    DOMAINS,
    WORKLOAD_PODS,
    NEEDED_EVICTIONS,
    DOMAIN_PODS,
    AUDIT_FINDINGS,
    AUDIT_WORKLOADS,
    AUDIT_ROWS_LEFT_OUT,
    AUDIT_NAMESPACES_LEFT_OUT,
)
"""The metrics of an audit; only the replica that made the last audit has samples of them."""

METRICS = tuple(value for value in dict(globals()).values() if isinstance(value, Metric))
"""All metrics, in the order of their definition."""

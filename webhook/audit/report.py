"""
The report of an audit: one value that all renderers and programs read.

Everything is sorted and no member depends on time, so that equal input gives equal reports.
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any

import msgspec

from webhook.audit.defaultedpods import DefaultedPods
from webhook.audit.exemptionreport import ExceptionReport, ExemptionSource
from webhook.policy.advice.findings import count_of

AUDIT_REPORT_API_VERSION = "evenspread.io/v1alpha1"
AUDIT_REPORT_KIND = "AuditReport"


class AuditSeverity(StrEnum):
    """What a finding leads to at admission, most severe first."""

    DENY = "deny"
    WARN = "warn"
    AUDIT = "audit"


SEVERITY_RANKS: Mapping[str, int] = MappingProxyType(
    {str(severity): rank for rank, severity in enumerate(AuditSeverity)}
)
"""Severity -> rank, from 0 for the most severe."""


class AuditFinding(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    One violation of one rule by one object.

    Attributes:
        rule: Id of the rule, such as ``TSC101``.
        severity: What the finding leads to.
        field: Path in the object, such as ``spec.template.spec.topologySpreadConstraints[0]``.
        line: Line of the field, or of its parent, in the file; 0 without a file.
        problem: The violation with the actual values; a sentence without its full stop.
        instead: What to write instead: YAML or words.
        read_on: The command that explains the rule.
        fingerprint: Equal in two audits for the same rule, object and field.
        reason: Reason of an exemption; empty if the object is not exempt.
        exempted_by: Where the exemption is written; None if the object is not exempt.
        exception: Name of the SpreadPolicyException that exempts it; otherwise empty.
    """

    rule: str
    severity: AuditSeverity = msgspec.field(name="weight")
    field: str
    line: int
    problem: str
    instead: str
    read_on: str
    fingerprint: str
    reason: str = ""
    exempted_by: ExemptionSource | None = None
    exception: str = ""

    @property
    def located_problem(self) -> str:
        """The problem with the path of its field, once."""
        return self.problem if self.field in self.problem else f"{self.field}: {self.problem}"


class DomainCount(msgspec.Struct, frozen=True, rename="camel"):
    """
    The counts of one value of the topology key.

    Attributes:
        value: Value of the topology key.
        nodes: Number of eligible nodes; 0 if the value is no domain of the constraint.
        pods: Number of pods that the constraint counts, of all workloads.
        own: Number of the workload's own pods on all nodes with the value, counted or not.
        all_nodes: Number of these nodes.
    """

    value: str
    nodes: int
    pods: int
    own: int = 0
    all_nodes: int = 0


class UncountedPods(msgspec.Struct, frozen=True, rename="camel"):
    """
    Numbers of own pods that a constraint does not count, each pod once, for the first that applies.

    Attributes:
        pending: They have no node.
        unknown_node: Their node is not among the known ones.
        without_key: Their node lacks the topology key.
        ineligible: Their node is not eligible, for example for its taints.
        unselected: The selector does not match their labels.
    """

    pending: int = 0
    unknown_node: int = 0
    without_key: int = 0
    ineligible: int = 0
    unselected: int = 0

    @property
    def total(self) -> int:
        """Number of all these pods."""
        return (
            self.pending + self.unknown_node + self.without_key + self.ineligible + self.unselected
        )


class SpreadReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    Where the running pods of a workload are, and how one of their constraints counts them.

    Attributes:
        revision: Label of the pods that this is about, if the constraint counts other pods of the
            workload apart, as in a rollout; empty if it is about all of them.
        replaced: Whether a rollout that runs is about to delete these pods, so that their skew
            does not make the workload uneven.
        rolling_out: Whether a rollout that runs can end the skew, so that it does not make the
            workload uneven.
        max_skew: None without a constraint: then only the workload's own pods count.
        when_unsatisfiable: Empty without a constraint.
        minimum: The global minimum of the counted pods.
        floor: What determines the minimum.
        min_domains: With fewer domains the minimum is 0; 1 if the constraint has none.
        skew: Counted pods in the fullest domain above the minimum.
        domains: Number of domains.
        cells: The domains and the values with own pods, sorted by value; if there are too many,
            the fullest ones.
        left_out: Number of domains and values that are not in ``cells``.
        own: Number of own pods, wherever they are.
        own_skew: Own pods in the fullest domain above those in the emptiest one.
        counted: Number of own pods that the constraint counts.
        others: Number of further counted pods: of other workloads, or of other revisions.
        uncounted: Own pods that the constraint does not count.
        evictions: The fewest evictions after which it holds; None without one, or if none suffice.
    """

    topology_key: str
    revision: str = ""
    replaced: bool = False
    rolling_out: bool = False
    when_unsatisfiable: str
    max_skew: int | None
    minimum: int
    floor: str
    skew: int
    domains: int
    cells: tuple[DomainCount, ...]
    left_out: int = 0
    own: int = 0
    own_skew: int = 0
    counted: int = 0
    others: int = 0
    uncounted: UncountedPods = UncountedPods()
    min_domains: int = 1
    evictions: int | None = None

    @property
    def shortage(self) -> str:
        """Describe the minimum if there are too few domains for it; empty if there are enough."""
        if self.domains >= self.min_domains or not self.domains:
            return ""
        found = f"minDomains {self.min_domains}, found {self.domains}"
        return f"minimum {self.minimum}: {found}"

    @property
    def worst_skew(self) -> int:
        """The skew of the pods as they are or as they are counted, whichever is larger."""
        return max(self.skew, self.own_skew)

    @property
    def is_passing(self) -> bool:
        """Whether a rollout that runs deletes the pods, or can end the skew."""
        return self.replaced or self.rolling_out

    @property
    def excess(self) -> int:
        """The skew above maxSkew; 0 or less if it is within maxSkew, or passing."""
        if self.max_skew is None or self.is_passing:
            return 0
        return self.worst_skew - self.max_skew

    @property
    def about(self) -> str:
        """The topology key, and which pods this is about if it is not about all of them."""
        rolling = "being rolled out" if self.rolling_out else ""
        parts = self.topology_key, self.revision, "being replaced" if self.replaced else rolling
        return ", ".join(filter(None, parts))

    @property
    def is_even(self) -> bool:
        """Whether all own pods count and satisfy maxSkew; true without a limit or if replaced."""
        if self.max_skew is None or self.replaced:
            return True
        return self.excess <= 0 and not self.uncounted.total

    @property
    def counts_differ(self) -> bool:
        """Whether the counted pods are other ones than the own pods; false without a constraint."""
        return self.max_skew is not None and bool(self.uncounted.total or self.others)


_UNCOUNTED_TEXTS: Mapping[str, str] = MappingProxyType(
    {
        "pending": "Pending",
        "unknown_node": "on unknown nodes",
        "without_key": "on nodes without the key",
        "ineligible": "on nodes that are not eligible",
        "unselected": "not selected by labelSelector",
    }
)
_OUTSIDE = ("pending", "unknown_node", "without_key")


def describe_counted(row: SpreadReport) -> str:
    """Describe which pods a constraint counts, as ``3 of 4 pods (1 Pending)``."""
    reasons = ", ".join(_describe_numbers(row.uncounted, _UNCOUNTED_TEXTS))
    others = f" and {row.others} of others" if row.others else ""
    return f"{row.counted} of {count_of(row.own, 'pod')}{reasons and f' ({reasons})'}{others}"


def list_outside(pods: UncountedPods) -> list[str]:
    """List the pods that no domain has, whatever a constraint counts, as ``2 Pending``."""
    return _describe_numbers(pods, _OUTSIDE)


def _describe_numbers(pods: UncountedPods, names: Iterable[str]) -> list[str]:
    numbers = ((getattr(pods, name), _UNCOUNTED_TEXTS[name]) for name in names)
    return [f"{number} {text}" for number, text in numbers if number]


class DefaultsReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    The default constraints that the next pods of a workload get.

    Attributes:
        profile: The profile that applies.
        constraints: The constraints as they appear in the pod.
    """

    profile: str
    constraints: tuple[dict[str, Any], ...]


class WorkloadReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    The findings about one workload, or about a pod without a controller.

    Attributes:
        part: Name of the pod template that the report is about, if the object has several.
        source: Path of its file; empty if an API server sent it.
        line: First line in the file, from 1; 0 without a file.
        replicas: Requested pods; None if not specified.
        pods: Running and pending pods.
        findings: Violations, most severe first.
        exempted: Violations that an annotation, an exception or the project file exempts.
        spreads: The spread of its running pods, one for each constraint and revision.
        defaults: Default constraints; None if it gets none.
        defaulted: Its pods that have defaults of a present profile, by profile.
    """

    api_version: str
    kind: str
    namespace: str
    name: str
    part: str = ""
    source: str = ""
    line: int = 0
    replicas: int | None = None
    pods: int = 0
    findings: tuple[AuditFinding, ...] = ()
    exempted: tuple[AuditFinding, ...] = ()
    spreads: tuple[SpreadReport, ...] = ()
    defaults: DefaultsReport | None = None
    defaulted: tuple[DefaultedPods, ...] = ()

    @property
    def title(self) -> str:
        """The title, such as ``Deployment shop/web``."""
        part = f", template {self.part}" if self.part else ""
        return f"{self.kind} {self.namespace}/{self.name}{part}"


class AuditSummary(msgspec.Struct, frozen=True, kw_only=True):
    """
    The counts of a report.

    Attributes:
        deny: Findings of severity ``deny``.
        warn: Findings of severity ``warn``.
        audit: Findings of severity ``audit``.
        exempted: Findings that annotations, exceptions or the project file exempt.
        known: Findings of the baseline, which the report does not repeat.
        spread: Workloads whose running pods satisfy their constraints, which count all of them.
        uneven: Workloads whose running pods exceed maxSkew, as they are or as they are counted.
        uncounted: Workloads that are not uneven, with pods that a constraint does not count.
    """

    workloads: int = 0
    pods: int = 0
    nodes: int = 0
    deny: int = 0
    warn: int = 0
    audit: int = 0
    exempted: int = 0
    known: int = 0
    spread: int = 0
    uneven: int = 0
    uncounted: int = 0


class AuditReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    The report of an audit.

    Attributes:
        kubernetes: The Kubernetes version whose rules apply.
        workloads: All workloads, sorted by namespace, kind and name.
        exceptions: The SpreadPolicyExceptions of their namespaces.
    """

    api_version: str = AUDIT_REPORT_API_VERSION
    kind: str = AUDIT_REPORT_KIND
    kubernetes: str
    summary: AuditSummary
    workloads: tuple[WorkloadReport, ...]
    exceptions: tuple[ExceptionReport, ...] = ()

    def findings(self) -> Iterator[tuple[WorkloadReport, AuditFinding]]:
        """Yield every finding with its workload, the exempted ones of a workload last."""
        for workload in self.workloads:
            for finding in (*workload.findings, *workload.exempted):
                yield workload, finding

    def exceeds(self, threshold: AuditSeverity | None) -> bool:
        """Whether a finding is at least this severe; with None none is."""
        return threshold is not None and any(
            getattr(self.summary, severity)
            for severity, rank in SEVERITY_RANKS.items()
            if rank <= SEVERITY_RANKS[threshold]
        )

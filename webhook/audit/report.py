"""
The report of an audit: one value that all renderers and programs read.

Everything is sorted and no member depends on time, so that equal input gives equal reports.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any

import msgspec

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


class DomainCount(msgspec.Struct, frozen=True):
    """
    The counts of one domain.

    Attributes:
        value: Value of the topology key.
        nodes: Number of eligible nodes.
        pods: Number of matching pods on these nodes.
    """

    value: str
    nodes: int
    pods: int


class SpreadReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    The spread of a workload's running pods, as one of their constraints counts it.

    Attributes:
        max_skew: None without a constraint: then only the workload's own pods count.
        when_unsatisfiable: Empty without a constraint.
        minimum: The global minimum.
        floor: What determines the minimum.
        skew: Pods in the fullest domain above the minimum.
        domains: Number of domains.
        cells: The domains, sorted by value; if there are too many, the fullest ones.
        left_out: Number of domains that are not in ``cells``.
    """

    topology_key: str
    when_unsatisfiable: str
    max_skew: int | None
    minimum: int
    floor: str
    skew: int
    domains: int
    cells: tuple[DomainCount, ...]
    left_out: int = 0

    @property
    def excess(self) -> int:
        """The skew above maxSkew; 0 or less if the constraint is met."""
        return 0 if self.max_skew is None else self.skew - self.max_skew


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
        source: Path of its file; empty if an API server sent it.
        line: First line in the file, from 1; 0 without a file.
        replicas: Requested pods; None if not specified.
        pods: Running and pending pods.
        findings: Violations, most severe first.
        exempted: Violations that an annotation exempts.
        spreads: The spread of its running pods, one for each constraint.
        defaults: Default constraints; None if it gets none.
    """

    api_version: str
    kind: str
    namespace: str
    name: str
    source: str = ""
    line: int = 0
    replicas: int | None = None
    pods: int = 0
    findings: tuple[AuditFinding, ...] = ()
    exempted: tuple[AuditFinding, ...] = ()
    spreads: tuple[SpreadReport, ...] = ()
    defaults: DefaultsReport | None = None

    @property
    def title(self) -> str:
        """The title, such as ``Deployment shop/web``."""
        return f"{self.kind} {self.namespace}/{self.name}"


class AuditSummary(msgspec.Struct, frozen=True, kw_only=True):
    """
    The counts of a report.

    Attributes:
        deny: Findings of severity ``deny``.
        warn: Findings of severity ``warn``.
        audit: Findings of severity ``audit``.
        exempted: Findings that annotations exempt.
        known: Findings of the baseline, which the report does not repeat.
        spread: Workloads whose running pods meet their constraints.
        uneven: Workloads whose running pods exceed maxSkew.
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


class AuditReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    The report of an audit.

    Attributes:
        kubernetes: The Kubernetes version whose rules apply.
        workloads: All workloads, sorted by namespace, kind and name.
    """

    api_version: str = AUDIT_REPORT_API_VERSION
    kind: str = AUDIT_REPORT_KIND
    kubernetes: str
    summary: AuditSummary
    workloads: tuple[WorkloadReport, ...]

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

"""
The comparison of two audit reports, as a value: what became better and worse, by workload.

``compare`` makes it. It has no time, so that equal reports give equal comparisons.
"""

from enum import StrEnum

import msgspec

from webhook.audit.report import (
    AUDIT_REPORT_API_VERSION,
    SEVERITY_RANKS,
    AuditFinding,
    AuditSeverity,
    AuditSummary,
)

AUDIT_COMPARISON_KIND = "AuditComparison"


class ChangeKind(StrEnum):
    """What became of a finding or of a spread."""

    NEW = "new"
    WORSE = "worse"
    BETTER = "better"
    RESOLVED = "resolved"


class WorkloadPresence(StrEnum):
    """Which of the two reports has a workload."""

    BOTH = "both"
    ADDED = "added"
    REMOVED = "removed"


class ChangedFinding(msgspec.Struct, frozen=True, kw_only=True):
    """
    A finding that changed.

    Attributes:
        before: Its severity, or ``exempted``; empty if the old report lacks it.
        after: The same for the new report.
        finding: The finding of the new report; that of the old one if the new one lacks it.
    """

    change: ChangeKind
    before: str
    after: str
    finding: AuditFinding


class SpreadState(msgspec.Struct, frozen=True, rename="camel"):
    """
    How uneven a workload is over a topology key.

    Attributes:
        skew: Of its pods as they are, or as they are counted, whichever is larger.
        max_skew: None without a constraint.
        uncounted: Pods that the constraint does not count; 0 without one.
    """

    skew: int
    max_skew: int | None
    uncounted: int


class SpreadChange(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    A spread that changed: the skew above maxSkew, or the number of pods that are not counted.

    Attributes:
        change: ``worse`` or ``better``.
        before: None if the old report has no such spread.
        after: None if the new report has none.
    """

    topology_key: str
    change: ChangeKind
    before: SpreadState | None
    after: SpreadState | None


class WorkloadComparison(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The changes of one workload."""

    api_version: str
    kind: str
    namespace: str
    name: str
    part: str = ""
    presence: WorkloadPresence = WorkloadPresence.BOTH
    findings: tuple[ChangedFinding, ...] = ()
    spreads: tuple[SpreadChange, ...] = ()

    @property
    def title(self) -> str:
        """The title, such as ``Deployment shop/web``."""
        part = f", template {self.part}" if self.part else ""
        return f"{self.kind} {self.namespace}/{self.name}{part}"

    @property
    def is_changed(self) -> bool:
        """Whether anything of it became better or worse."""
        return bool(self.findings or self.spreads)


class ComparisonSummary(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    The counts of a comparison.

    Attributes:
        new: Findings that only the new report has, or that were exempted before.
        worse: Findings that became more severe; ``better`` are those that became less severe.
        resolved: Findings that only the old report has, or that are exempted now.
        unchanged: Findings of both reports with the same severity, without exempted ones.
        spreads_worse: Spreads that are more uneven, or count fewer pods.
        added: Workloads of the new report only; ``removed`` of the old one only.
    """

    new: int = 0
    worse: int = 0
    better: int = 0
    resolved: int = 0
    unchanged: int = 0
    spreads_worse: int = 0
    spreads_better: int = 0
    added: int = 0
    removed: int = 0


class ComparedReport(msgspec.Struct, frozen=True):
    """One of the two reports: its Kubernetes version and its counts."""

    kubernetes: str
    summary: AuditSummary


class AuditComparison(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    A comparison of two audit reports.

    Attributes:
        workloads: Those with changes, sorted by namespace, kind and name.
    """

    api_version: str = AUDIT_REPORT_API_VERSION
    kind: str = AUDIT_COMPARISON_KIND
    before: ComparedReport
    after: ComparedReport
    summary: ComparisonSummary
    workloads: tuple[WorkloadComparison, ...]

    def exceeds(self, threshold: AuditSeverity | None) -> bool:
        """Whether a new finding, or one that became more severe, is at least this severe."""
        return threshold is not None and any(
            SEVERITY_RANKS[change.after] <= SEVERITY_RANKS[threshold]
            for workload in self.workloads
            for change in workload.findings
            if change.change in (ChangeKind.NEW, ChangeKind.WORSE)
        )

"""
The metrics of an audit: the skew of workloads, and the number of findings.

``AuditGauges`` is the entry point. The number of series is limited: rules are few, and of the
workloads only the most uneven are exposed, with the number of those left out.
"""

import heapq
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from operator import attrgetter

from webhook.audit.report import AuditReport, DomainCount, SpreadReport, WorkloadReport
from webhook.telemetry.catalogue import (
    AUDIT_FINDINGS,
    AUDIT_NAMESPACES_LEFT_OUT,
    AUDIT_ROWS_LEFT_OUT,
    AUDIT_WORKLOADS,
    DOMAIN_PODS,
    DOMAINS,
    MAX_SKEW,
    NEEDED_EVICTIONS,
    POD_SKEW,
    SKEW,
    UNCOUNTED_PODS,
    WORKLOAD_PODS,
)
from webhook.telemetry.exposition import Samples

MOST_SKEW_ROWS = 2000
"""Exposed pairs of a workload and a topology key, with at most seven series each: 3.5 MB."""

MOST_DOMAIN_ROWS = 50
"""Pairs whose domains are exposed: more than a dashboard shows. At most 40 domains each: 0.7 MB."""

EXEMPT = "exempt"


@dataclass(frozen=True, slots=True)
class SkewRow:
    """
    The skew of a workload over the domains of a topology key.

    Attributes:
        skew: Of the pods that the constraint counts; None without a constraint.
        max_skew: None without a constraint.
        pod_skew: Of all pods of the workload, where they are.
        uncounted: Pods that the constraint does not count; 0 without one.
        pods: All pods of the workload.
        evictions: The fewest after which the constraint holds; None if there is no such number.
        cells: The fullest domains.
    """

    namespace: str
    workload: str
    topology_key: str
    skew: int | None
    max_skew: int | None
    pod_skew: int
    domains: int
    uncounted: int = 0
    pods: int = 0
    evictions: int | None = None
    cells: tuple[DomainCount, ...] = ()

    @property
    def order(self) -> tuple[int, int, int, tuple[str, str, str]]:
        """The sort key: most pods above maxSkew first, then most uncounted, then highest skew."""
        worst = max(self.pod_skew, self.skew or 0)
        excess = 0 if self.max_skew is None else worst - self.max_skew
        return -excess, -self.uncounted, -worst, self.labels

    @property
    def labels(self) -> tuple[str, str, str]:
        """The label values of its series."""
        return self.namespace, self.workload, self.topology_key


class AuditGauges:
    """
    The metrics of one audit.

    Attributes:
        workloads: The number of audited workloads; ``pods`` and ``findings`` count likewise.
    """

    def __init__(self, most: int = MOST_SKEW_ROWS) -> None:
        """
        Start without a report.

        Args:
            most: The maximum number of exposed rows.
        """
        self.workloads = self.pods = self.findings = 0
        self._most = most
        self._number = 0
        self._rows: list[SkewRow] = []
        self._counts: Counter[tuple[str, ...]] = Counter()

    def add(self, report: AuditReport) -> None:
        """Add a report; it holds all workloads of its namespaces."""
        self.workloads += report.summary.workloads
        self.pods += report.summary.pods
        for _, finding in report.findings():
            self._counts[finding.rule, EXEMPT if finding.reason else str(finding.severity)] += 1
            self.findings += not finding.reason
        fresh = skew_rows(report.workloads)
        self._number += len(fresh)
        self._rows += fresh
        if len(self._rows) > 2 * self._most:
            self._rows = self._foremost()

    def samples(self, left_out: Collection[str] = ()) -> Samples:
        """
        Give the values to expose.

        Args:
            left_out: Namespaces that were not audited.
        """
        rows = self._foremost()
        return {
            SKEW: {row.labels: row.skew for row in rows if row.skew is not None},
            POD_SKEW: {row.labels: row.pod_skew for row in rows},
            MAX_SKEW: {row.labels: row.max_skew for row in rows if row.max_skew is not None},
            DOMAINS: {row.labels: row.domains for row in rows},
            UNCOUNTED_PODS: {row.labels: row.uncounted for row in rows if row.max_skew is not None},
            WORKLOAD_PODS: {row.labels: row.pods for row in rows},
            NEEDED_EVICTIONS: {
                row.labels: row.evictions for row in rows if row.evictions is not None
            },
            DOMAIN_PODS: {
                (*row.labels, cell.value): cell.pods
                for row in rows[:MOST_DOMAIN_ROWS]
                for cell in row.cells
                if cell.nodes
            },
            AUDIT_FINDINGS: self._counts,
            AUDIT_WORKLOADS: {(): self.workloads},
            AUDIT_NAMESPACES_LEFT_OUT: {(): len(left_out)},
            AUDIT_ROWS_LEFT_OUT: {(): self._number - len(rows)},
        }

    def _foremost(self) -> list[SkewRow]:
        return heapq.nsmallest(self._most, self._rows, key=attrgetter("order"))


def skew_rows(workloads: Iterable[WorkloadReport]) -> list[SkewRow]:
    """
    Build the rows of workloads.

    If a workload has several constraints with one topology key, the most urgent one counts.
    """
    rows = (
        _build_row(workload, spread)
        for workload in workloads
        for spread in workload.spreads
        if not spread.is_passing
    )
    by_urgency = sorted(rows, key=attrgetter("order"), reverse=True)
    return list({row.labels: row for row in by_urgency}.values())


def _build_row(workload: WorkloadReport, spread: SpreadReport) -> SkewRow:
    is_limited = spread.max_skew is not None
    return SkewRow(
        namespace=workload.namespace,
        workload=f"{workload.kind}/{workload.name}",
        topology_key=spread.topology_key,
        skew=spread.skew if is_limited else None,
        max_skew=spread.max_skew,
        pod_skew=spread.own_skew,
        domains=spread.domains,
        uncounted=spread.uncounted.total if is_limited else 0,
        pods=spread.own,
        evictions=spread.evictions,
        cells=spread.cells,
    )

"""
What an audit found, as a value that all renderers are made from and programs can read.

Everything is sorted and nothing tells of time, so that equal input makes equal reports.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any

import msgspec

AUDIT_REPORT_API_VERSION = "evenspread.io/v1alpha1"
AUDIT_REPORT_KIND = "AuditReport"


class AuditSeverity(StrEnum):
    """What a finding leads to at admission, hardest first."""

    DENY = "deny"
    WARN = "warn"
    AUDIT = "audit"


SEVERITY_RANKS: Mapping[str, int] = MappingProxyType(
    {str(weight): i for i, weight in enumerate(AuditSeverity)}
)
"""Weight -> place among them, from 0 for the hardest."""


class AuditFinding(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    One thing that is wrong with one object.

    Attributes:
        rule: Its id, as ``TSC101``.
        weight: What it leads to.
        field: Its path in the object, as ``spec.template.spec.topologySpreadConstraints[0]``.
        line: Of the field in its file, or of what it should stand in; 0 without a file.
        problem: What is wrong, with the real values; a sentence without its full stop.
        instead: What to write instead: YAML, or words.
        read_on: The command that tells more.
        fingerprint: Equal in two audits for the same rule, object and field.
        reason: Why the object is exempted from the rule; empty if it is not.
    """

    rule: str
    weight: AuditSeverity
    field: str
    line: int
    problem: str
    instead: str
    read_on: str
    fingerprint: str
    reason: str = ""


class DomainCount(msgspec.Struct, frozen=True):
    """
    A domain.

    Attributes:
        value: Of the topology key.
        nodes: Eligible ones in it.
        pods: Counted ones on these.
    """

    value: str
    nodes: int
    pods: int


class SpreadReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    How the running pods of a workload are spread, as one of their constraints counts them.

    Attributes:
        max_skew: None if no constraint asks for anything: then these are only the workload's own.
        when_unsatisfiable: Empty if no constraint asks for anything.
        minimum: The global minimum.
        floor: What makes the minimum what it is.
        skew: Pods of the fullest domain above the minimum.
        domains: How many there are.
        cells: The domains, by value; if there are too many, the fullest ones.
        left_out: Domains without a cell.
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
        """Pods that the skew is above maxSkew; 0 or less if all is well."""
        return 0 if self.max_skew is None else self.skew - self.max_skew


class DefaultsReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    What the next pods of a workload would be given.

    Attributes:
        profile: Which decides it.
        constraints: As they would stand in the pod.
    """

    profile: str
    constraints: tuple[dict[str, Any], ...]


class WorkloadReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    What was found about one workload, or about a pod that nobody controls.

    Attributes:
        source: Its file; empty if it came from an API server.
        line: Where it starts there, from 1; 0 without a file.
        replicas: Pods that it asks for; None if it does not say.
        pods: Those that run, or wait to.
        findings: What is wrong, the hardest first.
        exempted: What an annotation asks to overlook.
        spreads: Of its running pods, a row for each constraint.
        defaults: None if there are none for it.
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
        """Name it as ``Deployment shop/web``."""
        return f"{self.kind} {self.namespace}/{self.name}"


class AuditSummary(msgspec.Struct, frozen=True, kw_only=True):
    """
    Everything counted.

    Attributes:
        deny: Findings of this weight; so are the next two.
        exempted: Findings that annotations ask to overlook.
        known: Findings that the baseline holds, and that are not repeated.
        spread: Workloads whose running pods are as even as their constraints ask for.
        uneven: Those whose are not.
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
    What an audit found.

    Attributes:
        kubernetes: The version whose rules were asked.
        workloads: By namespace, kind and name; those in order too.
    """

    api_version: str = AUDIT_REPORT_API_VERSION
    kind: str = AUDIT_REPORT_KIND
    kubernetes: str
    summary: AuditSummary
    workloads: tuple[WorkloadReport, ...]

    def findings(self) -> Iterator[tuple[WorkloadReport, AuditFinding]]:
        """Give every finding with its workload, exempted ones last for each."""
        for workload in self.workloads:
            for finding in (*workload.findings, *workload.exempted):
                yield workload, finding

    def exceeds(self, weight: AuditSeverity | None) -> bool:
        """Whether there is a finding at least this hard; None asks for none."""
        if weight is None:
            return False
        found = {AuditSeverity.DENY: self.summary.deny, AuditSeverity.WARN: self.summary.warn}
        counts = {**found, AuditSeverity.AUDIT: self.summary.audit}
        return any(
            counts[each] for each in AuditSeverity if SEVERITY_RANKS[each] <= SEVERITY_RANKS[weight]
        )

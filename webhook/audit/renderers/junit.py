"""
JUnit, for the test view of a CI: a suite a namespace, a case a finding or a workload in order.

Findings below the threshold are passed cases that say what they found; exempted ones are skipped.
"""

from itertools import groupby
from xml.etree.ElementTree import Element

from webhook.audit import junit
from webhook.audit.report import (
    SEVERITY_RANKS,
    AuditFinding,
    AuditReport,
    AuditSeverity,
    WorkloadReport,
)

_IN_ORDER = "audit"


def render(report: AuditReport, threshold: AuditSeverity | None) -> str:
    """Write the suites."""
    root = junit.document("evenspread audit")
    for namespace, workloads in groupby(report.workloads, lambda each: each.namespace):
        suite = junit.add(root, "testsuite", name=namespace)
        for workload in workloads:
            _cases(suite, workload, threshold)
    return junit.as_text(root)


def _cases(suite: Element, workload: WorkloadReport, threshold: AuditSeverity | None) -> None:
    if not workload.findings and not workload.exempted:
        _case(suite, workload, _IN_ORDER)
    for finding in workload.findings:
        case = _case(suite, workload, f"{finding.rule} {finding.field}")
        said = _text(workload, finding)
        if threshold is not None and SEVERITY_RANKS[finding.weight] <= SEVERITY_RANKS[threshold]:
            junit.add(case, "failure", said, type=finding.rule, message=finding.problem)
        else:
            junit.add(case, "system-out", f"{finding.weight}: {said}")
    for finding in workload.exempted:
        case = _case(suite, workload, f"{finding.rule} {finding.field}")
        junit.add(case, "skipped", message=finding.reason)


def _case(suite: Element, workload: WorkloadReport, name: str) -> Element:
    place = {"file": workload.source, "line": str(workload.line)} if workload.source else {}
    return junit.add(suite, "testcase", classname=workload.title, name=name, **place)


def _text(workload: WorkloadReport, finding: AuditFinding) -> str:
    place = f"{workload.source}:{finding.line}: " if workload.source else ""
    said = f"{place}{finding.field}: {finding.problem}\ninstead:\n{finding.instead}\n"
    return f"{said}to read more: {finding.read_on}"

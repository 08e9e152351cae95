"""
The audit report as JUnit XML: one suite for each namespace, one case for each finding.

Findings below the threshold are passed cases with an output; exempted ones are skipped. A workload
without findings is a passed case.
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
from webhook.policy.escape import printable


def render(report: AuditReport, threshold: AuditSeverity | None) -> str:
    """Render the suites."""
    root = junit.document("evenspread audit")
    for namespace, workloads in groupby(report.workloads, lambda workload: workload.namespace):
        suite = junit.add(root, "testsuite", name=namespace)
        for workload in workloads:
            _add_cases(suite, workload, threshold)
    return junit.as_text(root)


def _add_cases(suite: Element, workload: WorkloadReport, threshold: AuditSeverity | None) -> None:
    if not workload.findings and not workload.exempted:
        _add_case(suite, workload, "audit")
    for finding in workload.findings:
        case = _add_case(suite, workload, f"{finding.rule} {finding.field}")
        text = _describe(workload, finding)
        if threshold is not None and SEVERITY_RANKS[finding.severity] <= SEVERITY_RANKS[threshold]:
            junit.add(case, "failure", text, type=finding.rule, message=finding.problem)
        else:
            junit.add(case, "system-out", f"{finding.severity}: {text}")
    for finding in workload.exempted:
        case = _add_case(suite, workload, f"{finding.rule} {finding.field}")
        junit.add(case, "skipped", message=finding.reason)


def _add_case(suite: Element, workload: WorkloadReport, name: str) -> Element:
    place = {"file": workload.source, "line": str(workload.line)} if workload.source else {}
    return junit.add(suite, "testcase", classname=workload.title, name=name, **place)


def _describe(workload: WorkloadReport, finding: AuditFinding) -> str:
    place = f"{workload.source}:{finding.line}: " if workload.source else ""
    text = (
        f"{printable(f'{place}{finding.field}: {finding.problem}')}\ninstead:\n{finding.instead}\n"
    )
    return f"{text}to read more: {finding.read_on}"

"""
The audit report for GitLab's code quality widget; exempted findings are left out.

Findings without a file, of a cluster or of a snapshot of one, are left out too: the widget shows
places in a repository only.

Source: https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format.
"""

from collections.abc import Mapping
from hashlib import sha256
from types import MappingProxyType
from typing import Any

from webhook.audit.renderers.jsonreport import format_json
from webhook.audit.rendering import RenderOptions
from webhook.audit.report import AuditFinding, AuditReport, AuditSeverity, WorkloadReport
from webhook.policy.escape import printable

GITLAB_SEVERITIES: Mapping[AuditSeverity, str] = MappingProxyType(
    {
        AuditSeverity.DENY: "critical",
        AuditSeverity.WARN: "minor",
        AuditSeverity.AUDIT: "info",
    }
)
"""Severity -> that of GitLab, of info, minor, major, critical and blocker."""


def render(report: AuditReport, _options: RenderOptions) -> str:
    """Render a list with one entry for each finding."""
    entries = [
        _build_entry(workload, finding)
        for workload in report.workloads
        if workload.source
        for finding in workload.findings
    ]
    return format_json(entries)


def _build_entry(workload: WorkloadReport, finding: AuditFinding) -> dict[str, Any]:
    # GitLab drops all but one of the entries with the same fingerprint, also in different files.
    identity = f"{workload.source}|{finding.fingerprint}|{finding.line}"
    return {
        "description": printable(f"{workload.title}: {finding.located_problem}"),
        "check_name": finding.rule,
        "fingerprint": sha256(identity.encode()).hexdigest(),
        "severity": GITLAB_SEVERITIES[finding.severity],
        "location": {
            "path": workload.source.removeprefix("./"),
            "lines": {"begin": max(finding.line, 1)},
        },
    }

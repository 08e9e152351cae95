"""Reports of openreports.io, the successor of PolicyReports."""

from webhook.audit.renderers.policyreport import OPEN_REPORTS, as_yaml
from webhook.audit.report import AuditReport, AuditSeverity


def render(report: AuditReport, _threshold: AuditSeverity | None) -> str:
    """Write objects of openreports.io/v1alpha1, as documents of YAML."""
    return as_yaml(report, OPEN_REPORTS)

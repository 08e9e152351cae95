"""
Reports as texts: one module a format, each with ``render_report``, a pure function of a report.

``AUDIT_FORMATS`` lists them; ``render_report`` imports the one that is asked for.
"""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

from webhook.audit.report import AuditReport, AuditSeverity

AUDIT_FORMATS: Mapping[str, str] = MappingProxyType(
    {
        "table": "webhook.audit.renderers.table",
        "json": "webhook.audit.renderers.jsonreport",
        "sarif": "webhook.audit.renderers.sarif",
        "junit": "webhook.audit.renderers.junit",
        "policyreport": "webhook.audit.renderers.policyreport",
        "openreports": "webhook.audit.renderers.openreports",
        "html": "webhook.audit.renderers.html",
    }
)
"""What ``-o`` takes -> the module that renders it."""


def render_report(
    report: AuditReport, output: str, threshold: AuditSeverity | None = AuditSeverity.DENY
) -> str:
    """
    Make a text of a report; it ends with a line break.

    Args:
        report: What was found.
        output: A key of ``AUDIT_FORMATS``.
        threshold: From which weight on a finding is a failure, for formats that know such.
    """
    text: str = import_module(AUDIT_FORMATS[output]).render(report, threshold)
    return text

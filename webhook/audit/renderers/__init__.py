"""
Audit reports as texts: one module for each format, all pure functions of a report.

``render_report`` imports the requested module, so that a command loads one format only.
"""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

from webhook.audit.report import AuditReport, AuditSeverity

AUDIT_FORMATS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "table": ("table", "render"),
        "json": ("jsonreport", "render"),
        "sarif": ("sarif", "render"),
        "junit": ("junit", "render"),
        "policyreport": ("policyreport", "render"),
        "openreports": ("policyreport", "render_openreports"),
        "html": ("html", "render"),
    }
)
"""Value of ``-o`` -> module of this package and function that render it."""


def render_report(
    report: AuditReport, output: str, threshold: AuditSeverity | None = AuditSeverity.DENY
) -> str:
    """
    Render a report; the text ends with a line break.

    Args:
        output: A key of ``AUDIT_FORMATS``.
        threshold: Lowest severity that counts as a failure, in formats that have failures.
    """
    module, function = AUDIT_FORMATS[output]
    text: str = getattr(import_module(f"{__name__}.{module}"), function)(report, threshold)
    return text

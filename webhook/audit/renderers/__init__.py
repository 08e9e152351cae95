"""
Audit reports as texts: one module for each format, all pure functions of a report.

``render_report`` imports the requested module, so that a command loads one format only.
"""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

from webhook.audit.rendering import RenderOptions
from webhook.audit.report import AuditReport

DEFAULT_OPTIONS = RenderOptions()

SARIF = "sarif"
WIDE = "wide"

AUDIT_FORMATS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "table": ("table", "render"),
        WIDE: ("table", "render_wide"),
        "name": ("names", "render"),
        "json": ("jsonreport", "render"),
        "yaml": ("jsonreport", "render_yaml"),
        SARIF: ("sarif", "render"),
        "codequality": ("codequality", "render"),
        "junit": ("junit", "render"),
        "policyreport": ("policyreport", "render"),
        "openreports": ("policyreport", "render_openreports"),
        "html": ("html", "render"),
    }
)
"""Value of ``-o`` -> module of this package and function that render it."""


def render_report(
    report: AuditReport, output: str, options: RenderOptions = DEFAULT_OPTIONS
) -> str:
    """
    Render a report; the text ends with a line break, unless it is empty.

    Args:
        output: A key of ``AUDIT_FORMATS``.
        options: The threshold, fixes and errors, for formats that contain them.
    """
    module, function = AUDIT_FORMATS[output]
    text: str = getattr(import_module(f"{__name__}.{module}"), function)(report, options)
    return text

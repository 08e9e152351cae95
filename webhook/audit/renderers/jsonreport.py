"""The audit report as JSON, and JSON documents in general."""

from typing import Any

import msgspec

from webhook.audit.report import AuditReport, AuditSeverity


def render(report: AuditReport, _threshold: AuditSeverity | None) -> str:
    """Render the report as one JSON document."""
    return format_json(report)


def format_json(value: Any) -> str:
    """Format a value as indented JSON that ends with a line break."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"

"""The audit report as JSON, and JSON documents in general."""

from typing import Any

import msgspec

from webhook.audit.report import AuditReport, AuditSeverity
from webhook.policy.escape import escape_json


def render(report: AuditReport, _threshold: AuditSeverity | None) -> str:
    """Render the report as one JSON document."""
    return format_json(report)


def format_json(value: Any) -> str:
    """Format a value as indented JSON that ends with a line break."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    return f"{escape_json(text)}\n"

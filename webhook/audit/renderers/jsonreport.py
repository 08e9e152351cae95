"""The audit report as JSON and YAML, and JSON documents in general."""

from typing import Any

import msgspec

from webhook.audit.rendering import RenderOptions
from webhook.audit.report import AuditReport
from webhook.manifests import format_yaml
from webhook.policy.escape import escape_json


def render(report: AuditReport, _options: RenderOptions) -> str:
    """Render the report as one JSON document."""
    return format_json(report)


def render_yaml(report: AuditReport, _options: RenderOptions) -> str:
    """Render the report as one YAML document, with the content of the JSON document."""
    return format_yaml(msgspec.json.decode(msgspec.json.encode(report)))


def format_json(value: Any) -> str:
    """Format a value as indented JSON that ends with a line break."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    return f"{escape_json(text)}\n"

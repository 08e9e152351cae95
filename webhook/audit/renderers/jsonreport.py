"""The audit report as JSON, and JSON documents in general: one way to write and describe them."""

from typing import Any

import msgspec

from webhook.audit.report import AuditReport, AuditSeverity


def render(report: AuditReport, _threshold: AuditSeverity | None) -> str:
    """Render the report as one JSON document."""
    return format_json(report)


def read(text: bytes) -> AuditReport:
    """
    Read a document that ``render`` wrote.

    Raises:
        msgspec.DecodeError: The text is no such document.
    """
    return msgspec.json.decode(text, type=AuditReport)


def schema() -> dict[str, Any]:
    """Describe the report by JSON Schema 2020-12."""
    return describe_schema(AuditReport)


def format_json(value: Any) -> str:
    """Format a value as indented JSON that ends with a line break."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"


def describe_schema(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Describe a type by JSON Schema 2020-12."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **msgspec.json.schema(kind),
    }

"""One document of JSON that holds everything; ``schema`` says what is in it."""

from typing import Any

import msgspec

from webhook.audit.report import AuditReport, AuditSeverity


def render(report: AuditReport, _threshold: AuditSeverity | None) -> str:
    """Write the document, indented."""
    return msgspec.json.format(msgspec.json.encode(report), indent=2).decode() + "\n"


def read(text: bytes) -> AuditReport:
    """
    Read a document that ``render`` wrote.

    Raises:
        msgspec.DecodeError: It is none.
    """
    return msgspec.json.decode(text, type=AuditReport)


def schema() -> dict[str, Any]:
    """Describe the document, by JSON Schema 2020-12."""
    described: dict[str, Any] = msgspec.json.schema(AuditReport)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **described}

"""One document of JSON that holds everything; ``schema`` says what is in it."""

from typing import Any

import msgspec

from webhook.spreadtest.results import Report


def render(report: Report) -> str:
    """Write the document, indented."""
    return msgspec.json.format(msgspec.json.encode(report), indent=2).decode() + "\n"


def schema() -> dict[str, Any]:
    """Describe the document, by JSON Schema 2020-12."""
    described: dict[str, Any] = msgspec.json.schema(Report)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **described}

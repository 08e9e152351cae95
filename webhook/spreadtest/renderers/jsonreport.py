"""One document of JSON that holds everything; ``schema`` says what is in it."""

from typing import Any

import msgspec

from webhook.spreadtest.results import SuiteReport


def render(report: SuiteReport) -> str:
    """Write the document, indented."""
    return msgspec.json.format(msgspec.json.encode(report), indent=2).decode() + "\n"


def schema() -> dict[str, Any]:
    """Describe the document, by JSON Schema 2020-12."""
    described: dict[str, Any] = msgspec.json.schema(SuiteReport)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **described}

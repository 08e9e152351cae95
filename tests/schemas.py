"""JSON Schemas of the documents that the commands write."""

from typing import Any

import msgspec


def describe_schema(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Describe a type by JSON Schema 2020-12, as JSON would be read back."""
    described = msgspec.json.decode(msgspec.json.encode(msgspec.json.schema(kind)))
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **described}

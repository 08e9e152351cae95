"""
YAML in flow style, on one line, to paste: ``labelSelector: {matchLabels: {app: web}}``.

Nothing here parses YAML or edits manifests.
"""

import re
from collections.abc import Sequence

import msgspec

from webhook.policy.paths import is_array, is_object

_is_plain = re.compile(r"[A-Za-z][-A-Za-z0-9_./]*").fullmatch
_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "y", "n", "null"})
"""Words, in lower case, that YAML 1.1 does not read as strings."""


def member(key: str, value: object) -> str:
    """Format one member of an object, as ``maxSkew: 1``."""
    return f"{_format_text(key)}: {flow(value)}"


def entries(key: str, values: Sequence[object]) -> str:
    """Format a member that is a list, with every entry on a line of its own."""
    return "\n".join([f"{_format_text(key)}:", *(f"- {flow(value)}" for value in values)])


def flow(value: object) -> str:
    """Format any JSON value; strings are quoted only where YAML needs it."""
    if isinstance(value, str):
        return _format_text(value)
    if is_object(value):
        return "{" + ", ".join(member(key, held) for key, held in value.items()) + "}"
    if is_array(value):
        return "[" + ", ".join(map(flow, value)) + "]"
    return msgspec.json.encode(value).decode()


def _format_text(text: str) -> str:
    if _is_plain(text) and text.lower() not in _WORDS:
        return text
    return msgspec.json.encode(text).decode(errors="replace")

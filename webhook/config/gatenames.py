"""
Names of feature gates that a configuration or a flag can set.

``gates`` resolves them. This module must not import pydantic, so that commands without a
configuration start without loading it.
"""

from webhook.config.messages import suggest_word
from webhook.policy.api.gates import Gate

GATE_NAMES = (*Gate, "AllAlpha", "AllBeta")


def describe_unknown_gate(name: str) -> str:
    """Describe an unknown feature gate, and suggest a known one."""
    return f"is no feature gate: {suggest_word(name, GATE_NAMES)}"

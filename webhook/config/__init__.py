"""
Configuration files of the webhook: read, validate and summarize them.

``load`` reads files into a ``Configuration``. ``gates_in_force`` and ``policy`` derive from it the
feature gates and the policy for requests. Flags and environment variables are in ``settings``.
"""

from webhook.config.configuration import (
    Configuration,
    ConfiguredGate,
    check,
    check_scheduler,
    policy,
)
from webhook.config.files import load
from webhook.config.gates import gates_in_force
from webhook.config.kinds import OwnerSelector
from webhook.config.summary import GateRow, ProfileRow, advise, example, gate_table, profile_table

__all__ = [
    "Configuration",
    "ConfiguredGate",
    "GateRow",
    "OwnerSelector",
    "ProfileRow",
    "advise",
    "check",
    "check_scheduler",
    "example",
    "gate_table",
    "gates_in_force",
    "load",
    "policy",
    "profile_table",
]

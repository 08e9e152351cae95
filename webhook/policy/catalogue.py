"""
What is done about a finding of a policy rule, unless the configuration says otherwise.

The rules themselves, which need facts of the cluster, are not here; nor are the API rules, about
which there is no choice: what the API server refuses is denied.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class Action(StrEnum):
    """What a finding leads to, hardest first."""

    DENY = "deny"
    WARN = "warn"
    AUDIT = "audit"
    OFF = "off"


DEFAULT_ACTIONS: Mapping[str, Action] = MappingProxyType(
    {
        "TSC101": Action.WARN,
        "TSC102": Action.WARN,
        "TSC103": Action.WARN,
        "TSC104": Action.WARN,
        "TSC105": Action.WARN,
        "TSC106": Action.AUDIT,
        "TSC107": Action.AUDIT,
        "TSC108": Action.AUDIT,
        "TSC109": Action.AUDIT,
        "TSC110": Action.AUDIT,
        "TSC111": Action.WARN,
        "TSC112": Action.AUDIT,
        "TSC113": Action.AUDIT,
        "TSC114": Action.AUDIT,
        "TSC115": Action.AUDIT,
    }
)
"""Every policy rule: it warns where a person is looking and can mend it, else audits tell of it."""

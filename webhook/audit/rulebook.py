"""
The words of every rule that an audit can name, in one place.

What a finding says of one object is not here.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from webhook.policy.advice import exemptions
from webhook.policy.advice.rules import POLICY_RULES
from webhook.policy.api.rules import API_RULES
from webhook.policy.api.warnings import WARNINGS
from webhook.policy.model import MAX_CONSTRAINTS
from webhook.policy.verdict import EXPLAIN

TYPE_INVALID = "FieldValueTypeInvalid"  # apimachinery meta/v1 CauseTypeTypeInvalid
REFUSED_EXEMPTION = "exempt"  # the rule of an exemption from no rule that there is


class RulebookEntry(NamedTuple):
    """
    A rule, in words.

    Attributes:
        title: What it demands.
        why: What happens otherwise; sentences.
        fix: What to write instead.
        category: ``api`` if an API server asks it too, else ``advice``.
    """

    title: str
    why: str
    fix: str
    category: str


_REFUSED = "kube-apiserver refuses the object."
_WARNED = "kube-apiserver takes the object, and warns."

RULEBOOK: Mapping[str, RulebookEntry] = MappingProxyType(
    {
        TYPE_INVALID: RulebookEntry(
            "values have the types of the API",
            _REFUSED,
            "write a value of the expected type",
            "api",
        ),
        REFUSED_EXEMPTION: RulebookEntry(
            "an exemption names a rule and gives a reason",
            "What is not of this form exempts from nothing.",
            f'write `{exemptions.EXEMPT_ANNOTATION}: "TSC101=REASON"`',
            "advice",
        ),
        **{rule.id: RulebookEntry(rule.title, _REFUSED, rule.fix, "api") for rule in API_RULES},
        "TSC010": RulebookEntry(
            f"a list has at most {MAX_CONSTRAINTS} constraints",
            "evenspread denies the object, so that no request takes long; kube-apiserver takes it.",
            "write one constraint for each topology key and action; real pods have one to three",
            "advice",
        ),
        **{row.id: RulebookEntry(row.title, _WARNED, row.fix, "api") for row in WARNINGS},
        **{row.id: RulebookEntry(row.title, row.why, row.fix, "advice") for row in POLICY_RULES},
    }
)
"""By id, in the order in which rules are listed."""


def read_on(rule: str) -> str:
    """Where to read more about a rule, without a network."""
    return f"{EXPLAIN} {rule}"

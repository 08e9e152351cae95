"""Texts of all rules for ``--explain``: requirement, effect of a violation, and fix."""

from typing import NamedTuple

from webhook.errors import ConfigError
from webhook.policy.advice.rules import POLICY_RULES
from webhook.policy.api.rules import API_RULES
from webhook.policy.api.warnings import WARNINGS
from webhook.policy.model import MAX_CONSTRAINTS


class RuleText(NamedTuple):
    """
    Texts of a rule.

    Attributes:
        title: What the rule requires.
        effect: What happens if a constraint breaks the rule.
        fix: What to write instead.
    """

    title: str
    effect: str
    fix: str


_OWN_RULES = {
    "TSC010": RuleText(
        f"a list has at most {MAX_CONSTRAINTS} constraints",
        "denied by our webhooks alone, so that no request takes long",
        "write one constraint for each topology key and action; real pods have one to three",
    ),
    "TSC111": RuleText(
        "no field is behind a feature gate that is off",
        "the field is dropped from what is created; our webhooks warn, kube-apiserver is silent",
        "leave the field out, or have the gate switched on",
    ),
}

_OF_RULES = {
    rule.id: RuleText(rule.title, f"denied, by kube-apiserver since {rule.since} too", rule.fix)
    for rule in API_RULES
}
_OF_WARNINGS = {
    row.id: RuleText(row.title, "a warning of kube-apiserver", row.fix) for row in WARNINGS
}

CATALOGUE = dict(sorted({**_OF_RULES, **_OF_WARNINGS, **_OWN_RULES}.items()))
"""Rule id -> texts, sorted by id: the API rules, warnings, and other findings of ``validate``."""

_OF_ADVICE = {row.id: RuleText(row.title, row.why, row.fix) for row in POLICY_RULES}
_EXPLAINED = {**_OF_ADVICE, **CATALOGUE}


def fix_of(rule: str) -> str:
    """What to write to follow a rule."""
    return CATALOGUE[rule].fix


def explain(ids: str) -> str:
    """
    Explain rules.

    Args:
        ids: One or more ids, separated by commas: ``TSC001,TSC004``.

    Raises:
        ConfigError: An id is unknown.
    """
    return "\n\n".join(_explain_rule(rule.strip().upper()) for rule in ids.split(","))


def _explain_rule(rule: str) -> str:
    if rule not in _EXPLAINED:
        known = ", ".join(sorted(_EXPLAINED))
        raise ConfigError(f"{rule!r} is not a rule: use one of {known}", "--explain")
    entry = _EXPLAINED[rule]
    return f"{rule}: {entry.title}\n  otherwise: {entry.effect}\n  instead:   {entry.fix}"

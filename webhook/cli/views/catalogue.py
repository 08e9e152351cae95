"""Every rule there is, as ``--explain`` shows it: what it demands, and what to write instead."""

from typing import NamedTuple

from webhook.errors import ConfigError
from webhook.policy.advice.rules import POLICY_RULES
from webhook.policy.api.rules import API_RULES
from webhook.policy.api.warnings import WARNINGS
from webhook.policy.model import MAX_CONSTRAINTS


class Entry(NamedTuple):
    """
    A rule, in words.

    Attributes:
        title: What it demands.
        effect: What happens otherwise, and where.
        fix: What to write instead.
    """

    title: str
    effect: str
    fix: str


OURS = {
    "TSC010": Entry(
        f"a list has at most {MAX_CONSTRAINTS} constraints",
        "denied by our webhooks alone, so that no request takes long",
        "write one constraint for each topology key and action; real pods have one to three",
    ),
    "TSC111": Entry(
        "no field is behind a feature gate that is off",
        "the field is dropped from what is created; our webhooks warn, kube-apiserver is silent",
        "leave the field out, or have the gate switched on",
    ),
}

_OF_RULES = {
    rule.id: Entry(rule.title, f"denied, by kube-apiserver since {rule.since} too", rule.fix)
    for rule in API_RULES
}
_OF_WARNINGS = {
    row.id: Entry(row.title, "a warning of kube-apiserver", row.fix) for row in WARNINGS
}

CATALOGUE = dict(sorted({**_OF_RULES, **_OF_WARNINGS, **OURS}.items()))
"""By id, in order: the rules of the API, and what else ``validate`` tells of."""

_OF_ADVICE = {row.id: Entry(row.title, row.why, row.fix) for row in POLICY_RULES}
_EXPLAINED = {**_OF_ADVICE, **CATALOGUE}


def fix_of(rule: str) -> str:
    """What to write instead of what breaks a rule."""
    return CATALOGUE[rule].fix


def explain(ids: str) -> str:
    """
    Explain rules.

    Args:
        ids: As messages name them: ``TSC001``, or several with commas between them.

    Raises:
        ConfigError: There is no rule of such an id.
    """
    return "\n\n".join(_explained(rule.strip().upper()) for rule in ids.split(","))


def _explained(rule: str) -> str:
    if rule not in _EXPLAINED:
        known = ", ".join(sorted(_EXPLAINED))
        raise ConfigError(f"{rule!r} is no rule: choose among {known}", "--explain")
    entry = _EXPLAINED[rule]
    return f"{rule}: {entry.title}\n  otherwise: {entry.effect}\n  instead:   {entry.fix}"

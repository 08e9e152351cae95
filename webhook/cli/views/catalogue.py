"""Explanations of rules for ``--explain``, from the catalogue."""

from webhook.errors import ConfigError
from webhook.policy.catalogue import CATALOGUE


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
    if rule not in CATALOGUE:
        known = ", ".join(sorted(rule for rule in CATALOGUE if rule.isupper()))
        raise ConfigError(f"{rule!r} is not a rule: use one of {known}", "--explain")
    entry = CATALOGUE[rule]
    return f"{rule}: {entry.title}\n  otherwise: {entry.effect}\n  instead:   {entry.fix}"

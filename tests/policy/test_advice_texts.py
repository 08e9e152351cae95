"""No policy rule denies unless it is configured, and ids are in order."""

from webhook.policy.advice_texts import ADVICE_ENTRIES
from webhook.policy.catalogue import DEFAULT_ACTIONS
from webhook.policy.rule_entry import Action, RuleCategory


def test_every_entry_is_advice() -> None:
    assert {entry.category for entry in ADVICE_ENTRIES} == {RuleCategory.ADVICE}


def test_no_policy_rule_denies_unless_it_is_configured() -> None:
    assert list(DEFAULT_ACTIONS) == sorted(DEFAULT_ACTIONS)
    assert all(rule.startswith("TSC1") for rule in DEFAULT_ACTIONS)
    assert {*DEFAULT_ACTIONS.values()} == {Action.WARN, Action.AUDIT}

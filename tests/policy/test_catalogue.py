"""The catalogue is complete, and written for people."""

import pytest

from webhook.policy.advice.exemptions import EXEMPT_ANNOTATION
from webhook.policy.advice.rules import POLICY_RULES
from webhook.policy.api.rules import API_RULES
from webhook.policy.catalogue import (
    API_WARNINGS,
    CATALOGUE,
    DEFAULT_ACTIONS,
    REFUSED_EXEMPTION,
    TOO_MANY_CONSTRAINTS,
    TYPE_INVALID,
    Action,
    CatalogueEntry,
    explain_command,
)


def test_every_rule_has_an_entry_and_every_entry_a_rule() -> None:
    rules = [*API_RULES, TOO_MANY_CONSTRAINTS, *API_WARNINGS, *(row.id for row in POLICY_RULES)]

    assert list(CATALOGUE) == [TYPE_INVALID, REFUSED_EXEMPTION, *rules]


@pytest.mark.parametrize("entry", CATALOGUE.values(), ids=CATALOGUE.keys())
def test_the_texts_of_an_entry_can_be_joined_to_sentences(entry: CatalogueEntry) -> None:
    assert not entry.title.endswith(".")
    assert entry.why.endswith(".")
    assert entry.effect.endswith(".")
    assert entry.fix[0].islower()
    assert not entry.fix.endswith(".")


EFFECTS = {
    "a rule of kube-apiserver": (
        "TSC005", "kube-apiserver refuses the object, since version 1.24."
    ),
    "a warning of kube-apiserver": ("TSC021", "kube-apiserver accepts the object with a warning."),
    "a policy rule": ("TSC108", CATALOGUE["TSC108"].why),
}  # fmt: skip


@pytest.mark.parametrize(("rule", "effect"), EFFECTS.values(), ids=EFFECTS.keys())
def test_the_effect_of(rule: str, effect: str) -> None:
    assert CATALOGUE[rule].effect == effect


def test_no_policy_rule_denies_unless_it_is_configured() -> None:
    assert list(DEFAULT_ACTIONS) == [f"TSC{number}" for number in range(101, 116)]
    assert {*DEFAULT_ACTIONS.values()} == {Action.WARN, Action.AUDIT}


def test_a_finding_of_an_invalid_exemption_names_the_annotation() -> None:
    assert EXEMPT_ANNOTATION in CATALOGUE[REFUSED_EXEMPTION].fix


def test_the_command_that_explains_a_rule() -> None:
    assert explain_command("TSC001") == "evenspread validate --explain TSC001"

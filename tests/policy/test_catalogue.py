"""The catalogue is complete, and written for people."""

import pytest

from webhook.policy.advice.exemptions import EXEMPT_ANNOTATION
from webhook.policy.advice.rules import POLICY_RULES
from webhook.policy.api.rules import API_RULES
from webhook.policy.catalogue import (
    API_WARNINGS,
    CATALOGUE,
    REFUSED_EXEMPTION,
    STRICT_RULES,
    TOO_MANY_CONSTRAINTS,
    TYPE_INVALID,
    explain_command,
)
from webhook.policy.rule_entry import CatalogueEntry


def test_every_rule_has_an_entry_and_every_entry_a_rule() -> None:
    rules = [*API_RULES, TOO_MANY_CONSTRAINTS, *STRICT_RULES, *API_WARNINGS]
    rules += (row.id for row in POLICY_RULES)

    assert list(CATALOGUE) == [TYPE_INVALID, REFUSED_EXEMPTION, *rules]


@pytest.mark.parametrize("entry", CATALOGUE.values(), ids=CATALOGUE.keys())
def test_the_texts_of_an_entry_can_be_joined_to_sentences(entry: CatalogueEntry) -> None:
    assert not entry.title.endswith(".")
    assert entry.why.endswith(".")
    assert entry.effect.endswith(".")
    assert entry.fix[0].islower()
    assert not entry.fix.endswith(".")


def test_a_finding_of_an_invalid_exemption_names_the_annotation() -> None:
    assert EXEMPT_ANNOTATION in CATALOGUE[REFUSED_EXEMPTION].fix


def test_the_command_that_explains_a_rule() -> None:
    assert explain_command("TSC001") == "evenspread validate --explain TSC001"

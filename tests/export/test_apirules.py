"""The texts of conditions; ``tests.e2e.test_export_validating`` has API servers evaluate them."""

import pytest

from webhook.export.apirules import API_CONDITIONS, MERGED_KEYS_CONDITION, RULE_OF_FIELD, TYPES
from webhook.policy.api.gates import GATES
from webhook.policy.api.rules import API_RULES
from webhook.policy.model import Constraint

FIELDS = set(Constraint.__struct_encode_fields__)


def test_every_api_rule_has_a_condition() -> None:
    assert list(API_CONDITIONS) == list(API_RULES)


def test_the_rules_of_gated_fields_are_known() -> None:
    gated = {field for spec in GATES.values() for field in spec.fields}

    assert RULE_OF_FIELD.keys() == gated
    assert {rule for rules in RULE_OF_FIELD.values() for rule in rules} <= API_CONDITIONS.keys()


@pytest.mark.parametrize("condition", [*API_CONDITIONS.values(), MERGED_KEYS_CONDITION, TYPES])
def test_parentheses_are_balanced(condition: str) -> None:
    assert condition.count("(") == condition.count(")")
    assert condition.count('"') % 2 == 0


def test_the_types_of_all_fields_are_checked() -> None:
    assert {field for field in FIELDS if f"c.{field}" in TYPES} == FIELDS


def test_the_shortest_condition_is_read_at_once() -> None:
    assert API_CONDITIONS["TSC001"] == (
        "((has(c.maxSkew) && c.maxSkew != null) ? c.maxSkew : 0) > 0"
    )

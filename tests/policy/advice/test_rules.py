import pytest
from msgspec.structs import replace

from tests.build import spread
from tests.policy.advice.subjects import TAINTED_C, admission, audit, check_rule, deployed, judged
from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.rules import POLICY_RULES, PolicyRule
from webhook.policy.catalogue import AUDITED_RULES, DEFAULT_ACTIONS, VALIDATED_RULES
from webhook.policy.placement.nodes import Toleration
from webhook.policy.placement.runtimeclasses import RuntimeClass
from webhook.policy.rule_entry import Action


def test_there_is_a_row_for_every_policy_rule_in_order() -> None:
    assert [row.id for row in POLICY_RULES] == list(DEFAULT_ACTIONS)


@pytest.mark.parametrize("row", POLICY_RULES, ids=lambda row: row.id)
def test_the_function_of_a_row_names_its_rule(row: PolicyRule) -> None:
    assert row.check.__doc__ is not None
    assert row.check.__doc__.strip().startswith(f"{row.id}: ")


def test_rules_that_warn_run_at_admission_but_for_the_rule_of_dropped_fields() -> None:
    warning = {row.id for row in POLICY_RULES if DEFAULT_ACTIONS[row.id] is Action.WARN}

    assert warning == {
        "TSC101",
        "TSC102",
        "TSC103",
        "TSC104",
        "TSC105",
        "TSC111",
        "TSC116",
        "TSC117",
        "TSC119",
        "TSC121",
    }
    assert warning - VALIDATED_RULES == {"TSC111"}


@pytest.mark.parametrize(
    "row",
    [row for row in POLICY_RULES if row.id in AUDITED_RULES],
    ids=lambda row: row.id,
)
def test_a_rule_for_audits_has_nothing_to_say_without_one(row: PolicyRule) -> None:
    assert list(row.check(deployed(), admission())) == []


@pytest.mark.parametrize("row", POLICY_RULES, ids=lambda row: row.id)
def test_every_rule_runs_in_audits(row: PolicyRule) -> None:
    assert row.runs(audit())
    assert row.runs(admission()) is (row.id in VALIDATED_RULES)


TOLERATING = RuntimeClass(name="kata", tolerations=(Toleration("gpu", "Exists"),))
OTHER = RuntimeClass(name="kata", tolerations=(Toleration("spot", "Exists"),))


@pytest.mark.parametrize("context", [admission(TAINTED_C), audit(TAINTED_C)])
def test_nodes_are_not_judged_while_a_runtime_class_is_not_known(context: AdviceContext) -> None:
    unknown = judged(spread(), runtimeClassName="kata")
    opened, closed = (replace(unknown, runtime_class=one) for one in (TOLERATING, OTHER))

    found = [check_rule("TSC105", one, context) for one in (unknown, opened, closed)]

    assert [len(violations) for violations in found] == [0, 0, 1]


def test_without_nodes_no_class_is_missing() -> None:
    missing, members = judged(spread(), runtimeClassName="kata"), {"Deployment/api": {"app": "web"}}

    assert len(check_rule("TSC113", missing, audit([], members=members))) == 1
    assert not audit([]).knows_nodes

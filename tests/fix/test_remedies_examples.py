"""The table of remedies, and the examples of the documentation, fixed."""

import pytest

from tests.docs.advice_examples import ADVICE_EXAMPLES as ADVICE
from tests.docs.advice_examples import NODES as ADVICE_NODES
from tests.docs.api_examples import API_EXAMPLES as API
from tests.fix.fixed import options, run_fix
from webhook.fix.remedies import FIX_REMEDIES
from webhook.policy.api.versions import NEWEST_VERSION, Version
from webhook.policy.catalogue import CATALOGUE


def test_there_is_a_remedy_for_every_rule_in_order() -> None:
    assert set(FIX_REMEDIES) == {*CATALOGUE, "TSC010"}
    numbered = [rule for rule in FIX_REMEDIES if rule.startswith("TSC")]
    assert numbered == sorted(numbered)


CHOICE = {
    *("TSC002", "TSC003", "TSC007", "TSC009", "TSC108", "TSC113", "TSC114", "TSC115"),
    *("TSC118", "TSC120", "TSC121"),
}
"""Rules whose example leaves a choice, or has nothing to do with the manifest."""


EXAMPLES = {
    **{rule: example.violates for rule, example in API.items() if rule not in {"TSC010", "TSC021"}},
    **{
        rule: example.violates + ("" if "kind: Node" in example.violates else ADVICE_NODES)
        for rule, example in ADVICE.items()
    },
}


@pytest.mark.parametrize("rule", sorted(EXAMPLES.keys() - CHOICE))
def test_the_example_of_a_rule_is_fixed(rule: str) -> None:
    version = Version(1, 24) if rule == "TSC111" else NEWEST_VERSION

    outcome = run_fix(EXAMPLES[rule], options(rule, version=version))

    assert [finding.rule for finding in outcome.fixed] == [rule]
    assert outcome.left == ()


@pytest.mark.parametrize("rule", sorted(CHOICE - {"TSC114", "TSC115"}))
def test_the_example_that_leaves_a_choice_is_left(rule: str) -> None:
    outcome = run_fix(EXAMPLES[rule], options(rule))

    assert [finding.rule for finding in outcome.left] == [rule]
    assert outcome.texts["web.yaml"] == EXAMPLES[rule]

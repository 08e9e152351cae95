from typing import Any

import pytest

from tests.config.configs import HEAD, check, errors_of, one_profile
from webhook.config.policyobjects import check_spread_policy
from webhook.config.spreadpolicies import SpreadPolicy
from webhook.errors import CombinedConfigError
from webhook.policy.catalogue import DEFAULT_ACTIONS, STRICT_RULES
from webhook.policy.rule_entry import Action

EMPTY = "\n  defaultConstraints: []"

ERRORS: dict[str, tuple[str, str]] = {
    "an unknown rule": (
        "rules: {TC110: warn}",
        "3: rules.TC110: is no policy rule: did you mean TSC110?",
    ),
    "a rule of the API": (
        "rules:\n  TSC001: warn",
        (
            "4: rules.TSC001: is a rule of the API, which kube-apiserver "
            "denies by as well: leave it out"
        ),
    ),
    "an unknown action": (
        "rules: {TSC101: error}",
        "3: rules.TSC101: cannot be 'error': write deny, warn, audit or off",
    ),
    "a rule that is switched on": (
        "rules: {TSC101: on}",
        "3: rules.TSC101: cannot be true: write deny, warn, audit or off",
    ),
    "the action of a rule of strict decoding": (
        "rules: {TSC012: deny}",
        (
            "3: rules.TSC012.action: cannot be set: the rule warns, and denies with --strict: "
            "leave it out"
        ),
    ),
    "a list instead of an action": (
        "rules: {TSC101: [deny]}",
        "3: rules.TSC101: must be an action, not a list: write deny, warn, audit or off",
    ),
    "an unknown rule of a profile": (
        one_profile("rules: {TC110: warn}" + EMPTY),
        "5: profiles[0].rules.TC110: is no policy rule: did you mean TSC110?",
    ),
    "a rule of strict decoding in a profile": (
        one_profile("rules: {TSC011: {exemptible: false}}" + EMPTY),
        (
            "5: profiles[0].rules.TSC011: is found in a file before the profile of its objects is "
            "known: set it in the rules of the configuration"
        ),
    ),
    "an unknown action of a profile": (
        one_profile("rules: {TSC101: error}" + EMPTY),
        "5: profiles[0].rules.TSC101: cannot be 'error': write deny, warn, audit or off",
    ),
}


@pytest.mark.parametrize(("text", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_an_invalid_setting_has_one_error(text: str, message: str) -> None:
    assert errors_of(HEAD + text) == [f"etc/spread.yaml:{message}"]


def test_an_action_may_be_written_alone_or_with_the_exemptions() -> None:
    text = "rules: {TSC101: off, TSC102: deny, TSC103: {action: audit, exemptible: false}}"

    configuration = check(text)

    actions = [configuration.actions[rule] for rule in ("TSC101", "TSC102", "TSC103")]
    assert actions == [Action.OFF, Action.DENY, Action.AUDIT]
    assert configuration.not_exemptible == {"TSC103"}


@pytest.mark.parametrize("rule", STRICT_RULES)
def test_exemptions_from_rules_of_strict_decoding_can_be_forbidden(rule: str) -> None:
    configuration = check(f"rules: {{{rule}: {{exemptible: false}}}}")

    assert configuration.not_exemptible == {rule}
    assert configuration.actions == DEFAULT_ACTIONS


def test_a_profile_sets_only_what_it_names() -> None:
    (profile,) = check(
        one_profile("rules: {TSC101: off, TSC102: {exemptible: true}, TSC103: {}}" + EMPTY)
    ).profiles

    assert profile.actions == {"TSC101": Action.OFF}
    assert profile.exemptible == {"TSC102": True}


def read_policy(setting: Any) -> SpreadPolicy:
    return check_spread_policy(
        {
            "apiVersion": "evenspread.io/v1alpha1",
            "kind": "SpreadPolicy",
            "metadata": {"name": "web"},
            "spec": {"defaultConstraints": [], "rules": {"TSC101": setting}},
        }
    )


# setting of a rule in a SpreadPolicy, its error
POLICY_ERRORS: dict[str, tuple[Any, str]] = {
    "an action alone": ("deny", 'must be an object: write {action: "deny"}'),
    "off, as YAML reads it": (False, 'must be an object: write {action: "off"}'),
    "a list": (["deny"], "must be an action, not a list: write deny, warn, audit or off"),
}


@pytest.mark.parametrize(("setting", "message"), POLICY_ERRORS.values(), ids=POLICY_ERRORS.keys())
def test_a_rule_of_a_spread_policy_must_be_an_object(setting: Any, message: str) -> None:
    with pytest.raises(CombinedConfigError) as caught:
        read_policy(setting)

    assert str(caught.value) == f"spec.rules.TSC101: {message}"


def test_a_rule_of_a_spread_policy_may_be_off() -> None:
    assert read_policy({"action": "off"}).profile.actions == {"TSC101": Action.OFF}

"""
Schema of the settings of rules: in the configuration, in a profile, and in a project file.

``RuleSettings``, ``ProfileRuleSettings`` and ``PolicyRuleSettings`` are the types of the fields.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, BeforeValidator

from webhook.config.messages import format_value, refusal, suggest_word
from webhook.config.models import StrictModel, refusing
from webhook.policy.api.rules import API_RULES
from webhook.policy.catalogue import DEFAULT_ACTIONS, STRICT_RULES
from webhook.policy.paths import FieldPath, is_object
from webhook.policy.rule_entry import Action


def read_action(value: Any) -> Any:
    """Return the word of an action; a value of another type is rejected later."""
    return Action.OFF.value if value is False else value  # YAML reads off as false


class RuleSetting(StrictModel):
    """Setting of a rule; the file may contain the action of a policy rule alone."""

    action: Annotated[Action | None, BeforeValidator(read_action)] = None
    exemptible: bool = True


class ProfileRuleSetting(StrictModel):
    """Setting of a rule in a profile; None is that of the configuration."""

    action: Annotated[Action | None, BeforeValidator(read_action)] = None
    exemptible: bool | None = None


def _refuse_word(value: Any) -> Any:
    if isinstance(value, str | bool):
        word = read_action(value)
        raise refusal(f"must be an object: write {{action: {json.dumps(word)}}}")
    return value


def _in_full(value: Any) -> Any:
    if isinstance(value, str | bool):
        return {"action": value}
    if not is_object(value):
        raise refusal(
            f"must be an action, not {format_value(value)}: {suggest_word('', [*Action])}"
        )
    return value


def _check_rule(rule: str) -> str:
    if rule in DEFAULT_ACTIONS or rule in STRICT_RULES:
        return rule
    if rule in API_RULES:
        raise refusal("is a rule of the API, which kube-apiserver denies by as well: leave it out")
    raise refusal(f"is no policy rule: {suggest_word(rule, list(DEFAULT_ACTIONS))}")


def _find_fixed_actions(rules: Mapping[str, RuleSetting]) -> Iterator[tuple[FieldPath, str]]:
    for rule, setting in rules.items():
        if rule in STRICT_RULES and setting.action:
            problem = "cannot be set: the rule warns, and denies with --strict: leave it out"
            yield (rule, "action"), problem


def _check_profile_rule(rule: str) -> str:
    if rule in STRICT_RULES:
        raise refusal(
            "is found in a file before the profile of its objects is known: set it in the rules of "
            "the configuration"
        )
    return _check_rule(rule)


RuleId: TypeAlias = Annotated[str, AfterValidator(_check_rule)]

RuleSettings: TypeAlias = Annotated[
    dict[RuleId, Annotated[RuleSetting, BeforeValidator(_in_full)]],
    refusing(_find_fixed_actions),
]
"""The rules of the configuration, by id."""

ProfileRuleId: TypeAlias = Annotated[str, AfterValidator(_check_profile_rule)]

ProfileRuleSettings: TypeAlias = dict[
    ProfileRuleId, Annotated[ProfileRuleSetting, BeforeValidator(_in_full)]
]
"""The rules of a profile, by id."""

PolicyRuleSettings: TypeAlias = dict[
    ProfileRuleId,
    Annotated[ProfileRuleSetting, BeforeValidator(_in_full), BeforeValidator(_refuse_word)],
]
"""The rules of a SpreadPolicy, by id; a schema of kube-apiserver allows objects only."""

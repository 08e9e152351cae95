"""
ValidatingAdmissionPolicies of the policy rules that need no facts, one for a kind and an action.

``export_advice`` is the entry point. An action decides about the binding: it denies, warns, or adds
an annotation to the audit log of kube-apiserver.
"""

from collections import defaultdict
from collections.abc import Iterator

from webhook.export.advicerules import ADVICE_RULES, is_exempt, write_advice_conditions
from webhook.export.constraintlists import in_all_templates, name_list, read_templates
from webhook.export.exported import Export, Manifest, Omission
from webhook.export.names import name_objects
from webhook.export.precedence import CONTROLLERS
from webhook.export.validation import changed, validation_of, write_validating
from webhook.policy.advice_texts import ADVICE_ENTRIES
from webhook.policy.api.gates import Gate
from webhook.policy.defaulting.profiles import Mode, Policy
from webhook.policy.model import GroupKind
from webhook.policy.paths import TemplatePath, is_constraint_list
from webhook.policy.places import list_patterns
from webhook.policy.rule_entry import Action

_NO_CONTROLLER = {
    "name": "no-controller",
    "expression": f"!{CONTROLLERS}.exists(owner, owner.?controller.orValue(false))",
}


def export_advice(policy: Policy) -> Export:
    """Export the rules for all kinds with pod templates."""
    if Gate.ADVICE not in policy.gates:
        reason = f"no policy rule is exported, because {Gate.ADVICE} is off"
        return Export((), (Omission("rules", reason),))
    names = name_objects(f"advice-{kind}" for kind in policy.pod_templates)
    manifests = [
        manifest
        for name, (kind, places) in zip(names, policy.pod_templates.items(), strict=True)
        for manifest in _write_kind(name, kind, _templates(list_patterns(places)), policy)
    ]
    return Export(tuple(manifests), tuple(_describe(policy)))


def _templates(patterns: tuple[TemplatePath, ...]) -> list[TemplatePath]:
    """Leave out bare lists, of whose pods nothing is known."""
    return [place for place in patterns if not is_constraint_list(place)]


def _write_kind(
    name: str, kind: GroupKind, places: list[TemplatePath], policy: Policy
) -> Iterator[Manifest]:
    rules: defaultdict[Action, list[str]] = defaultdict(list)
    for rule in ADVICE_RULES:
        rules[_limit_action(policy.actions[rule], policy)].append(rule)
    changes = " || ".join(
        f"{read_templates('object', place)} != {read_templates('oldObject', place)}"
        for place in places
    )
    for action in (Action.DENY, Action.WARN, Action.AUDIT):
        if rules[action] and places:
            conditions = (_NO_CONTROLLER, changed(changes))
            validations = [
                validation
                for place in places
                for validation in _validate(kind, place, rules[action], policy)
            ]
            yield from write_validating(f"{name}-{action}", kind, conditions, validations, action)


def _limit_action(action: Action, policy: Policy) -> Action:
    return Action.WARN if action is Action.DENY and policy.mode is Mode.RECOMMEND else action


def _validate(
    kind: GroupKind, place: TemplatePath, rules: list[str], policy: Policy
) -> Iterator[Manifest]:
    completes = any(profile.complete_selectors for profile in policy.profiles)
    conditions = write_advice_conditions(kind, policy.gates, completes=completes)
    for rule in rules:
        expression = in_all_templates(place, f"items.all(c, {conditions[rule]})")
        if rule not in policy.not_exemptible:
            expression = f"{is_exempt(rule)} || {expression}"
        yield validation_of(rule, name_list(place), expression)


def _describe(policy: Policy) -> Iterator[Omission]:
    others = [
        entry.id
        for entry in ADVICE_ENTRIES
        if entry.id not in ADVICE_RULES and policy.actions[entry.id] is not Action.OFF
    ]
    yield Omission(
        "rules",
        f"{', '.join(others)} are not exported: they need Nodes, pods, other objects, or knowledge "
        "of the controllers. A message names the rule and the list, and neither the constraint nor "
        "its value",
    )
    for profile in policy.profiles:
        rules = sorted({*profile.actions, *profile.exemptible})
        if rules:
            reason = (
                f"its settings of {', '.join(rules)} are not exported, but those of the "
                "configuration: a policy cannot find the profile of a workload"
            )
            yield Omission(f"profile {profile.name!r}", reason)
    yield Omission(
        "exceptions from rules", "SpreadPolicyExceptions exempt from no rule: a policy reads none"
    )
    yield Omission(
        "TSC101",
        "a label of a selector that the controller of a custom kind may add is no violation, and "
        "neither is a value that a controller gives to no pod or to one pod, such as the job-name "
        "of another Job",
    )

"""
ValidatingAdmissionPolicies: the API rules for custom kinds, and policy rules for all kinds.

``export_validating`` is the entry point. kube-apiserver itself applies the API rules to its own
kinds. The policy rules are written by ``advising``.
"""

from collections.abc import Iterator

from webhook.export.advising import export_advice
from webhook.export.apirules import (
    API_CONDITIONS,
    LONGEST_LIST,
    MERGED_KEYS_CONDITION,
    RULE_OF_FIELD,
    TYPES,
)
from webhook.export.constraintlists import in_all_lists, name_list, read_lists
from webhook.export.exported import Export, Manifest, Omission
from webhook.export.names import name_objects
from webhook.export.validation import changed, validation_of, write_validating
from webhook.policy.api.gates import Gate
from webhook.policy.api.versions import Version
from webhook.policy.catalogue import TOO_MANY_CONSTRAINTS, TYPE_INVALID
from webhook.policy.defaulting.profiles import FieldDefaults, Mode, Policy
from webhook.policy.kinds import BUILT_IN_TEMPLATES
from webhook.policy.model import GroupKind
from webhook.policy.paths import TemplatePath
from webhook.policy.places import TemplatePlaces, list_patterns
from webhook.policy.rule_entry import Action

VALIDATING_SINCE = Version(1, 30)  # the first one with admissionregistration.k8s.io/v1


def export_validating(policy: Policy) -> Export:
    """Export the API rules for the shipped and the configured kinds."""
    if Gate.EVEN_PODS_SPREAD not in policy.gates:
        reason = f"no kind is exported, because {Gate.EVEN_PODS_SPREAD} is off"
        return Export((), (Omission("feature gates", reason),))
    custom = {
        kind: places
        for kind, places in policy.pod_templates.items()
        if kind not in BUILT_IN_TEMPLATES
    }
    names = name_objects(str(kind) for kind in custom)
    manifests = (
        manifest
        for name, (kind, places) in zip(names, custom.items(), strict=True)
        for manifest in _write_rules(name, kind, places, policy)
    )
    advice = export_advice(policy)
    omissions = (*_describe(policy), *advice.omissions)
    return Export((*manifests, *advice.manifests), omissions)


def _write_rules(
    name: str, kind: GroupKind, places: TemplatePlaces, policy: Policy
) -> Iterator[Manifest]:
    patterns = list_patterns(places)
    changes = " || ".join(
        f"{read_lists('object', place)} != {read_lists('oldObject', place)}" for place in patterns
    )
    validations = [validation for place in patterns for validation in _validate(place, policy)]
    action = Action.DENY if policy.mode is Mode.APPLY else Action.WARN
    yield from write_validating(name, kind, (changed(changes),), validations, action)


def _validate(place: TemplatePath, policy: Policy) -> Iterator[Manifest]:
    """Write a validation for each rule, the types first."""
    where = name_list(place)
    is_list = f"items == null || (type(items) == list && items.all(c, {TYPES}))"
    yield validation_of(TYPE_INVALID, where, in_all_lists(place, is_list))
    few = f"size(items) <= {LONGEST_LIST}"
    message = f"{where}: a list has at most {LONGEST_LIST} constraints ({TOO_MANY_CONSTRAINTS})"
    yield {"expression": in_all_lists(place, few), "message": message, "reason": "Invalid"}
    for rule, condition in _conditions(policy).items():
        yield validation_of(rule, where, in_all_lists(place, f"items.all(c, {condition})"))


def _conditions(policy: Policy) -> dict[str, str]:
    """Choose the conditions for the gates in force; a field behind a disabled gate has none."""
    off = {rule for field in policy.gates.fields_off for rule in RULE_OF_FIELD.get(field, ())}
    conditions = {rule: text for rule, text in API_CONDITIONS.items() if rule not in off}
    if Gate.SELECTOR_MERGE in policy.gates and "TSC008" in conditions:
        conditions["TSC008"] = MERGED_KEYS_CONDITION
    return conditions


def _describe(policy: Policy) -> Iterator[Omission]:
    if policy.mode is Mode.RECOMMEND:
        yield Omission("mode recommend", "the bindings warn, and deny nothing")
    yield Omission(
        "long lists",
        f"a list of more than {LONGEST_LIST} constraints is denied; evenspread "
        "compares all constraints of a list",
    )
    yield Omission(
        "updates",
        "an update is checked if it changes any constraint of the object; evenspread checks only "
        "the lists that it changes, and tolerates invalid selectors in what they replace",
    )
    if policy.field_defaults is not FieldDefaults.NONE:
        yield Omission(
            f"fieldDefaults {policy.field_defaults}",
            "an object with an omitted field is denied; evenspread fills it in",
        )
    if policy.gates.fields_off:
        fields = ", ".join(sorted(policy.gates.fields_off))
        yield Omission("feature gates", f"{fields} are not checked, and not dropped either")

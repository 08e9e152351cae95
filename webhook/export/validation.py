"""
The parts of a ValidatingAdmissionPolicy that all exported ones have in common.

The plural of a custom kind is not known, so that a policy names its API group and compares the kind
of the object. An error in a policy never refuses an object, because of ``failurePolicy: Ignore``.

Source: k8s.io/api admissionregistration/v1 ``ValidatingAdmissionPolicySpec``; KEP-3488.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from webhook.export import cel
from webhook.export.exported import (
    ADMISSION_GROUP,
    EXPORT_LABEL,
    VALIDATING_BINDING,
    VALIDATING_POLICY,
    Manifest,
)
from webhook.policy.catalogue import CATALOGUE
from webhook.policy.kinds import BUILT_IN_KINDS
from webhook.policy.model import GroupKind
from webhook.policy.rule_entry import Action

VALIDATING_FORM = "vap"

_ACTIONS: Mapping[Action, str] = MappingProxyType(
    {Action.DENY: "Deny", Action.WARN: "Warn", Action.AUDIT: "Audit"}
)


def write_validating(
    name: str,
    kind: GroupKind,
    conditions: Sequence[Manifest],
    validations: Sequence[Manifest],
    action: Action,
) -> Iterator[Manifest]:
    """
    Write a policy for the objects of a kind, and its binding.

    Args:
        conditions: Further match conditions.
        action: What happens to an object that violates a validation; not OFF.
    """
    metadata = {"name": name, "labels": {EXPORT_LABEL: VALIDATING_FORM}}
    is_kind = {"name": "kind", "expression": f"object.kind == {cel.text(kind.kind)}"}
    yield {
        "apiVersion": f"{ADMISSION_GROUP}/v1",
        "kind": VALIDATING_POLICY.kind,
        "metadata": metadata,
        "spec": {
            "failurePolicy": "Ignore",
            "matchConstraints": {"resourceRules": [_rule(kind)]},
            "matchConditions": [is_kind, *conditions],
            "validations": list(validations),
        },
    }
    yield {
        "apiVersion": f"{ADMISSION_GROUP}/v1",
        "kind": VALIDATING_BINDING.kind,
        "metadata": metadata,
        "spec": {"policyName": name, "validationActions": [_ACTIONS[action]]},
    }


def _rule(kind: GroupKind) -> Manifest:
    row = BUILT_IN_KINDS.get(kind)
    return {
        "apiGroups": [kind.group],
        "apiVersions": ["*"],
        "operations": ["CREATE", "UPDATE"],
        "resources": [row.plural if row else "*"],
    }


def changed(changes: str) -> Manifest:
    """Write the match condition that an object is new, or that an update makes these changes."""
    return {"name": "changed", "expression": f'request.operation == "CREATE" || {changes}'}


def validation_of(rule: str, where: str, expression: str) -> Manifest:
    """Write a validation, with the texts of the catalogue as its message."""
    entry = CATALOGUE[rule]
    message = f"{where}: {entry.title}; {entry.fix} ({rule})"
    return {"expression": expression, "message": message, "reason": "Invalid"}

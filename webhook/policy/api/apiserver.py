"""
What kube-apiserver of a version, with its gates, does with an object that holds a pod template.

This is the real component to the letter, its quirks included, for ``validate`` and conformance.
The hooks, which are milder where upstream is odd, ask the same questions in ``verdict``.

Source: kubernetes pkg/registry/core/pod/strategy.go, pkg/api/pod/util.go
``GetValidationOptionsFromPodSpecAndMeta``, pkg/api/pod/warnings.go.
"""

from typing import NamedTuple, TypeAlias

import msgspec

from webhook.policy.api import fieldgates, rules
from webhook.policy.api.fieldgates import DroppedField
from webhook.policy.api.gates import Gate, Gates
from webhook.policy.api.rules import ApiViolation, ValidationOptions
from webhook.policy.api.versions import Version
from webhook.policy.api.warnings import ApiWarning, list_warnings
from webhook.policy.kinds import POD, REPLICATION_CONTROLLER, STATEFUL_SET
from webhook.policy.model import Constraint, GroupKind, PodTemplate
from webhook.policy.paths import TemplatePath, constraints_field
from webhook.policy.selectors import merge_match_label_keys

Constraints: TypeAlias = tuple[Constraint, ...]

MERGED, APART = ValidationOptions(merged=True), ValidationOptions(merged=False)

JUDGES_STATEFUL_SETS = Version(1, 30)  # 1.29 was seen not to, 1.33 to do so


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """
    One create or update, as far as it concerns spreading.

    Attributes:
        kind: Of the object.
        path: From the object to its pod template.
        template: The pod template as requested; None if the object has none.
        old: The one that an update replaces; None on a create.
        changed: Whether an update changes the object's specification in anything else.
    """

    kind: GroupKind
    path: TemplatePath
    template: PodTemplate | None
    old: PodTemplate | None = None
    changed: bool = True


class PredictedResponse(NamedTuple):
    """
    What the API server would do.

    Attributes:
        findings: Why it would refuse; empty if it would not.
        stored: The list it would store.
        warned: What it would warn about.
        drops: What gates would take away, silently.
    """

    findings: list[ApiViolation]
    stored: Constraints
    warned: list[ApiWarning]
    drops: tuple[DroppedField, ...]


def predict_response(request: Request, gates: Gates) -> PredictedResponse:
    """
    What the API server would do with a request.

    Args:
        request: A create or an update.
        gates: Of that API server; they carry its version.
    """
    asked = request.template.constraints if request.template else ()
    old = request.old.constraints if request.old else None
    kept = fieldgates.drop_disabled_fields(asked, old, gates)
    stored = kept.constraints
    if request.kind == POD and request.template and old is None and Gate.SELECTOR_MERGE in gates:
        stored = merge_match_label_keys(stored, request.template.labels)
    at = constraints_field(request.path)
    judged = validation_options(old, gates)
    passed_over = _passes_over(request.kind, old, judged, gates.version)
    findings = [] if passed_over else rules.check(stored, at, judged)
    warned = [] if findings else _warnings(request, stored, at)
    return PredictedResponse(findings, stored, warned, kept.drops)


def validation_options(old: Constraints | None, gates: Gates) -> ValidationOptions:
    """
    How a list is judged.

    Args:
        old: The list that an update replaces: what it violated already is not held against the
            new one. None on a create.
        gates: The gates in force.

    Source: kubernetes pkg/api/pod/util.go, the options
    ``AllowInvalidTopologySpreadConstraintLabelSelector`` and
    ``AllowMatchLabelKeysInPodTopologySpreadSelectorMerge``.
    """
    merged = Gate.SELECTOR_MERGE in gates
    if not old:
        return MERGED if merged else APART
    selectors = not _violates("TSC009", old, ValidationOptions(merged=merged))
    if Gate.MATCH_LABEL_KEYS in gates and _violates(
        "TSC008", old, ValidationOptions(merged=merged)
    ):
        merged = not merged
    return ValidationOptions(merged, selectors)


def _violates(rule: str, constraints: Constraints, judged: ValidationOptions) -> bool:
    return any(True for _ in rules.API_RULES[rule](constraints, "", judged))


def _passes_over(
    kind: GroupKind, old: Constraints | None, judged: ValidationOptions, version: Version
) -> bool:
    """
    Whether the list is not judged at all.

    So it is in a StatefulSet whose old list would be refused in the same form; other kinds are
    judged whatever they were.

    Source: kubernetes pkg/apis/apps/validation/validation.go ``ValidateStatefulSetUpdate``.
    """
    if kind != STATEFUL_SET:
        return False
    return version < JUDGES_STATEFUL_SETS or bool(old and rules.check(old, "", judged))


def _warnings(request: Request, stored: Constraints, at: str) -> list[ApiWarning]:
    if request.old is None:
        return list_warnings(stored, at)
    if request.kind == POD or not request.changed:
        return []
    if request.kind == REPLICATION_CONTROLLER:  # upstream warns about the old object here
        return list_warnings(request.old.constraints, at)
    return list_warnings(stored, at)

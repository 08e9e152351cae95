"""
Predict the response of a kube-apiserver of any version and gates to an object with a pod template.

``predict_response`` is the entry point, for ``validate`` and the conformance tests. It follows
upstream exactly, including its inconsistencies. The hooks are milder in some cases: they apply the
same rules in ``policy.verdict``.

Source: kubernetes pkg/registry/core/pod/strategy.go, pkg/api/pod/util.go
``GetValidationOptionsFromPodSpecAndMeta``, pkg/api/pod/warnings.go, pkg/api/node/util.go
``deprecatedNodeLabels``.
"""

from dataclasses import dataclass
from typing import TypeAlias

import msgspec

from webhook.policy.api import fieldgates, rules
from webhook.policy.api.fieldgates import DroppedField
from webhook.policy.api.gates import Gate, Gates
from webhook.policy.api.rules import ApiViolation, ValidationOptions
from webhook.policy.api.versions import Version
from webhook.policy.kinds import POD, REPLICATION_CONTROLLER, STATEFUL_SET
from webhook.policy.model import Constraint, GroupKind, PodTemplate
from webhook.policy.paths import TemplatePath, constraints_field
from webhook.policy.selectors import merge_match_label_keys

Constraints: TypeAlias = tuple[Constraint, ...]

MERGED, APART = ValidationOptions(merged=True), ValidationOptions(merged=False)

VALIDATES_STATEFUL_SETS = Version(1, 30)  # observed: 1.29 does not, 1.33 does


@dataclass(frozen=True)
class ApiWarning:
    """The warning TSC020 or TSC021 on an entry; its text begins with the path of the field."""

    rule: str
    entry: int
    text: str


DEPRECATED_KEYS = {
    "failure-domain.beta.kubernetes.io/zone": ("v1.17", "topology.kubernetes.io/zone"),
    "failure-domain.beta.kubernetes.io/region": ("v1.17", "topology.kubernetes.io/region"),
    "beta.kubernetes.io/arch": ("v1.14", "kubernetes.io/arch"),
    "beta.kubernetes.io/os": ("v1.14", "kubernetes.io/os"),
    "beta.kubernetes.io/instance-type": ("v1.17", "node.kubernetes.io/instance-type"),
}
"""Deprecated node label -> the version that deprecated it, and its successor."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """
    A create or an update, reduced to what spreading depends on.

    Attributes:
        template: The requested pod template; None if the object has none.
        old: The pod template that an update replaces; None on a create.
        changed: Whether an update also changes other fields of the object's specification.
    """

    kind: GroupKind
    path: TemplatePath
    template: PodTemplate | None
    old: PodTemplate | None = None
    changed: bool = True


@dataclass(frozen=True)
class PredictedResponse:
    """
    The predicted response of the API server.

    Attributes:
        findings: The reasons for a refusal; empty if the object is accepted.
        drops: The fields that are dropped silently because of feature gates.
    """

    findings: list[ApiViolation]
    stored: Constraints
    warned: list[ApiWarning]
    drops: tuple[DroppedField, ...]


def predict_response(request: Request, gates: Gates) -> PredictedResponse:
    """Predict the response to a request."""
    requested = request.template.constraints if request.template else ()
    old = request.old.constraints if request.old else None
    kept = fieldgates.drop_disabled_fields(requested, old, gates)
    stored = kept.constraints
    if request.kind == POD and request.template and old is None and Gate.SELECTOR_MERGE in gates:
        stored = merge_match_label_keys(stored, request.template.labels)
    at = constraints_field(request.path)
    options = validation_options(old, gates)
    skips = _skips_validation(request.kind, old, options, gates.version)
    findings = [] if skips else rules.check(stored, at, options)
    warned = [] if findings else _find_warnings(request, stored, at)
    return PredictedResponse(findings, stored, warned, kept.drops)


def validation_options(old: Constraints | None, gates: Gates) -> ValidationOptions:
    """
    Choose the variant of the validation.

    Violations in ``old``, the list that an update replaces (None on a create), are tolerated.

    Source: kubernetes pkg/api/pod/util.go, the options
    ``AllowInvalidTopologySpreadConstraintLabelSelector`` and
    ``AllowMatchLabelKeysInPodTopologySpreadSelectorMerge``.
    """
    merged = Gate.SELECTOR_MERGE in gates
    options = MERGED if merged else APART
    if not old:
        return options
    selectors = not rules.violates("TSC009", old, options)
    if Gate.MATCH_LABEL_KEYS in gates and rules.violates("TSC008", old, options):
        merged = not merged
    return ValidationOptions(merged, selectors)


def _skips_validation(
    kind: GroupKind, old: Constraints | None, options: ValidationOptions, version: Version
) -> bool:
    """
    Whether the API server does not validate the list at all.

    This applies to a StatefulSet whose stored list is invalid under the same options; objects of
    other kinds are always validated.

    Source: kubernetes pkg/apis/apps/validation/validation.go ``ValidateStatefulSetUpdate``.
    """
    if kind != STATEFUL_SET:
        return False
    return version < VALIDATES_STATEFUL_SETS or bool(old and rules.check(old, "", options))


def _find_warnings(request: Request, stored: Constraints, at: str) -> list[ApiWarning]:
    old = request.old
    if old is not None and (request.kind == POD or not request.changed):
        return []
    if old is not None and request.kind == REPLICATION_CONTROLLER:
        stored = old.constraints  # upstream warns about the old object here
    return list_warnings(stored, at)


def list_warnings(constraints: tuple[Constraint, ...], path: str) -> list[ApiWarning]:
    """List the warnings of the API server, in the order of the constraints."""
    warnings: list[ApiWarning] = []
    for i, constraint in enumerate(constraints):
        key = constraint.topology_key
        if key in DEPRECATED_KEYS:
            since, successor = DEPRECATED_KEYS[key]
            message = f'{key} is deprecated since {since}; use "{successor}" instead'
            warnings.append(ApiWarning("TSC020", i, f"{path}[{i}].topologyKey: {message}"))
        if constraint.label_selector is None:
            message = "a null labelSelector results in matching no pod"
            warnings.append(ApiWarning("TSC021", i, f"{path}[{i}].labelSelector: {message}"))
    return warnings

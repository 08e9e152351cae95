"""
Predict the response of a kube-apiserver of any version and gates to an object with a pod template.

``predict_response`` is the entry point, for ``validate`` and the conformance tests. It follows
upstream exactly, including its inconsistencies. The hooks are milder in some cases: they apply the
same rules in ``policy.verdict``.

Source: kubernetes pkg/registry/core/pod/strategy.go, pkg/api/pod/util.go
``GetValidationOptionsFromPodSpecAndMeta``, pkg/api/pod/warnings.go, pkg/api/node/util.go
``deprecatedNodeLabels``.
"""

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from webhook.policy.api import fieldgates, rules
from webhook.policy.api.fastpath import are_plain
from webhook.policy.api.fieldgates import DroppedField
from webhook.policy.api.gates import Gate, Gates
from webhook.policy.api.laterchecks import PODS_REFUSED, WARNS_SINCE, split_violations
from webhook.policy.api.rules import ApiViolation, ValidationOptions
from webhook.policy.api.versions import Version
from webhook.policy.kinds import POD, REPLICATION_CONTROLLER, STATEFUL_SET
from webhook.policy.model import Constraint, GroupKind, PodTemplate
from webhook.policy.paths import (
    FieldPath,
    constraints_field,
    find_entry,
    find_value,
    is_array,
    is_constraint_list,
    parse_path,
)
from webhook.policy.podlabels import added_keys
from webhook.policy.selectors import merge_match_label_keys, merge_stored_keys

Constraints: TypeAlias = tuple[Constraint, ...]

MERGED, APART = ValidationOptions(merged=True), ValidationOptions(merged=False)

REFUSED = f"exists in both matchLabelKeys and labelSelector: {PODS_REFUSED}"
"""The problem of a key that an API server adds to the selector of a pod, which has it already."""

REFUSED_LATER = (
    "exists in both matchLabelKeys and labelSelector: once kube-apiserver accepts this object, it "
    "refuses all its pods"
)
"""The same of an object that it refuses for other reasons, of which it does not report this one."""


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
        stored: Whether a created object is the copy of one that an API server stored, which has
            its matchLabelKeys in the selector already.
        unjudged: Indexes of the constraints that are parts of a patch, and get no answer.
    """

    kind: GroupKind
    path: FieldPath
    template: PodTemplate | None
    old: PodTemplate | None = None
    changed: bool = True
    stored: bool = False
    unjudged: frozenset[int] = frozenset()


@dataclass(frozen=True)
class PredictedResponse:
    """
    The predicted response of the API server.

    Attributes:
        findings: The reasons for a refusal; empty if the object is accepted.
        drops: The fields that are dropped silently because of feature gates.
        refused: Further reasons, for which it refuses no object, but every pod that is created
            from its template; or for which kube-scheduler places none of them.
        violations: All violations of the list, whether this version reports them or not.
    """

    findings: list[ApiViolation]
    stored: Constraints
    warned: list[ApiWarning]
    drops: tuple[DroppedField, ...]
    refused: list[ApiViolation] = field(default_factory=list[ApiViolation])
    violations: list[ApiViolation] = field(default_factory=list[ApiViolation])


def predict_response(request: Request, gates: Gates) -> PredictedResponse:
    """Predict the response to a request."""
    requested = request.template.constraints if request.template else ()
    old = request.old.constraints if request.old else None
    if not (requested or old):
        return PredictedResponse([], (), [], ())  # most workloads
    kept = fieldgates.drop_disabled_fields(requested, old, gates)
    stored = kept.constraints
    if request.kind == POD and request.template and old is None and Gate.SELECTOR_MERGE in gates:
        merge = merge_stored_keys if request.stored else merge_match_label_keys
        stored = merge(stored, request.template.labels)
    at = constraints_field(request.path)
    options = validation_options(old, gates)
    skips = _skips_validation(request.kind, old, options)
    violations = [] if skips or are_plain(stored, options) else rules.check(stored, at, options)
    unjudged = request.unjudged
    violations = [one for one in violations if find_entry(one.error.field, at) not in unjudged]
    findings, accepted = split_violations(violations, request.kind, gates.version)
    violations = findings + accepted
    judged = tuple(one for i, one in enumerate(stored) if i not in unjudged) if unjudged else stored
    refused = find_refused_pods(request.kind, request.path, request.template, stored, gates)
    if findings:
        later = [
            ApiViolation(one.rule, replace(one.error, problem=REFUSED_LATER)) for one in refused
        ]
        return PredictedResponse(findings, judged, [], kept.drops, accepted + later, violations)
    warnings = find_warnings(request, stored, at, gates.version)
    warned = [one for one in warnings if one.entry not in unjudged]
    return PredictedResponse(findings, judged, warned, kept.drops, accepted + refused, violations)


def find_refused_pods(
    kind: GroupKind,
    path: FieldPath,
    template: PodTemplate | None,
    stored: Constraints,
    gates: Gates,
) -> list[ApiViolation]:
    """
    Find why an API server refuses the pods of a template that it accepts.

    It merges matchLabelKeys into the selectors of a pod, and then validates the result, whereas a
    template is validated without the merge. The object exists, and its controller cannot create
    any pod.

    Args:
        path: The path of the template; empty for an object that is no template itself.
        stored: The constraints of the template as they are stored.

    Returns:
        The violations, with the fields of the template; empty if the pods are accepted.

    Source: kubernetes pkg/registry/core/pod/strategy.go ``applyMatchLabelKeys``.
    """
    if not path or template is None or Gate.SELECTOR_MERGE not in gates:
        return []
    labels = {**dict.fromkeys(added_keys(kind), ""), **template.labels}  # values make no difference
    merged = merge_match_label_keys(stored, labels)
    if merged is stored or are_plain(merged, MERGED):
        return []
    # Of a custom kind, a label may have a value that no pod can have, which TSC009 finds.
    repeated = [one for one in rules.check(merged, "", MERGED) if one.rule == "TSC008"]
    known = rules.check(stored, "", MERGED) if repeated else []
    at = constraints_field(path)
    return [_describe_refusal(one, at) for one in repeated if one not in known]


def _describe_refusal(violation: ApiViolation, at: str) -> ApiViolation:
    """Describe a repeated key, of which upstream names the constraint and the index, ``[0][1]``."""
    entry, key = parse_path(violation.error.field)
    field = f"{at}[{entry}].matchLabelKeys[{key}]"
    return ApiViolation(violation.rule, replace(violation.error, field=field, problem=REFUSED))


def is_stored(uid: object, resource_version: object, *, controlled: bool, phase: object) -> bool:
    """
    Whether an object with these values was read from an API server.

    A dump may lack uid and resourceVersion, so that it can be shared. A pod with a controller and a
    phase is a copy too: no author of a manifest writes both.
    """
    is_identified = all(isinstance(value, str) and value for value in (uid, resource_version))
    return is_identified or (controlled and isinstance(phase, str) and phase != "")


def is_stored_object(value: Any) -> bool:
    """Whether an object, of JSON's types, was read from an API server."""
    uid, version = (find_value(value, ("metadata", name)) for name in ("uid", "resourceVersion"))
    owners = find_value(value, ("metadata", "ownerReferences"))
    controlled = is_array(owners) and any(
        find_value(owner, ("controller",)) is True for owner in owners
    )
    return is_stored(
        uid, version, controlled=controlled, phase=find_value(value, ("status", "phase"))
    )


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


def _skips_validation(kind: GroupKind, old: Constraints | None, options: ValidationOptions) -> bool:
    """
    Whether the API server does not validate the list at all.

    This applies to a StatefulSet whose stored list is invalid under the same options; objects of
    other kinds are always validated.

    Source: kubernetes pkg/apis/apps/validation/validation.go ``ValidateStatefulSetUpdate``.
    """
    if kind != STATEFUL_SET:
        return False
    return bool(old and rules.check(old, "", options))


def find_warnings(
    request: Request, stored: Constraints, at: str, version: Version
) -> list[ApiWarning]:
    """Find the warnings about a list that is stored; an API server that refuses it gives none."""
    old = request.old
    if old is not None and (request.kind == POD or not request.changed):
        return []
    if old is not None and request.kind == REPLICATION_CONTROLLER:
        stored = old.constraints  # upstream warns about the old object here
    warnings = [one for one in list_warnings(stored, at) if version >= WARNS_SINCE[one.rule]]
    if is_constraint_list(request.path):  # an operator completes the selectors of such a list
        return [warning for warning in warnings if warning.rule != "TSC021"]
    return warnings


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

"""
MutatingAdmissionPolicies that add the default constraints of profiles to new pods.

``export_mutating`` is the entry point. A policy reads the pod, its Namespace and nothing else, so
that the selector of a constraint consists of the pod's own labels: those of the pod template of its
ReplicaSet, StatefulSet or ReplicationController. An error in a policy never stops a pod, because of
``failurePolicy: Ignore``.

Source: k8s.io/api admissionregistration/v1 ``MutatingAdmissionPolicySpec``; KEP-3962.
"""

from collections.abc import Collection, Iterator

from msgspec.structs import replace

from webhook.export import cel
from webhook.export.exported import (
    ADMISSION_GROUP,
    EXPORT_LABEL,
    MUTATING_BINDING,
    MUTATING_POLICY,
    Export,
    Manifest,
    Omission,
)
from webhook.export.names import name_objects
from webhook.export.omissions import MUTATING_STABLE_SINCE, describe_policy, describe_profile
from webhook.export.precedence import (
    Precedence,
    controlled_by,
    controller_rows,
    find_precedence,
    scheduled_by,
)
from webhook.policy import kinds, render
from webhook.policy.api import fieldgates
from webhook.policy.api.versions import Version
from webhook.policy.defaulting.inject import DEFAULTING_GATES, SKIP_LABEL, find_left_out
from webhook.policy.defaulting.profiles import Merge, Mode, Policy, Profile
from webhook.policy.facts import Facts
from webhook.policy.model import (
    NAME_LABEL,
    Constraint,
    LabelSelector,
    LabelSelectorRequirement,
)
from webhook.policy.podlabels import ADDED_LABELS
from webhook.policy.selectors import NOT_IN, SELECT_ALL

MUTATING_FORM = "map"
MUTATING_SINCE = Version(1, 34)  # the first one with v1beta1

_LIST = "/spec/topologySpreadConstraints"
_CONSTRAINT = "Object.spec.topologySpreadConstraints"
_LIST_FIELD = "object.spec.topologySpreadConstraints"
_SET_KEYS = sorted(ADDED_LABELS[kinds.STATEFUL_SET].keys)
_OWN_LABEL = f"!(key in {cel.texts(_SET_KEYS)})"
_LABELS = f"{cel.LABELS_OF_POD}.transformMap(key, value, {_OWN_LABEL}, value)"
_KEYS = "object.spec.?topologySpreadConstraints.orValue([]).map(constraint, constraint.topologyKey)"


def export_mutating(policy: Policy, facts: Facts) -> Export:
    """
    Export the profiles of a policy.

    Args:
        policy: The policy that the server would apply; its gates name the Kubernetes version.
        facts: The Nodes decide about the zone constraint of System defaults; a profile of System
            defaults is left out if no schedulable Node is known.
    """
    manifests: list[Manifest] = []
    omissions: list[Omission] = []
    names = name_objects(profile.name for profile in policy.profiles)
    is_on = policy.gates.on.issuperset(DEFAULTING_GATES)
    for index, profile in enumerate(policy.profiles if is_on else ()):
        precedence = find_precedence(profile, policy.profiles[:index])
        constraints = _choose_constraints(profile, policy, facts)
        omissions += describe_profile(profile, precedence.hidden_by, facts)
        if constraints and controller_rows(profile) and not precedence.hidden_by:
            manifests += _write_objects(names[index], profile, precedence, constraints, policy)
    omissions += describe_policy(policy, is_exported=bool(manifests))
    return Export(tuple(manifests), tuple(omissions))


def _choose_constraints(profile: Profile, policy: Policy, facts: Facts) -> tuple[Constraint, ...]:
    """Choose the constraints to export; System defaults without known Nodes have none."""
    constraints = profile.constraints
    if profile.system:
        left_out = find_left_out(constraints, facts)
        known = facts.schedulable_nodes() > 0
        constraints = tuple(
            constraint
            for constraint in constraints
            if known and constraint.topology_key != left_out
        )
    return fieldgates.drop_disabled_fields(constraints, None, policy.gates).constraints


def mutating_version(version: Version) -> str:
    """Return the newest version of the API group with the policies, of a Kubernetes version."""
    return "v1" if version >= MUTATING_STABLE_SINCE else "v1beta1"


def _write_objects(
    name: str,
    profile: Profile,
    precedence: Precedence,
    constraints: tuple[Constraint, ...],
    policy: Policy,
) -> Iterator[Manifest]:
    version = mutating_version(policy.gates.version)
    metadata = {"name": name, "labels": {EXPORT_LABEL: MUTATING_FORM}}
    yield {
        "apiVersion": f"{ADMISSION_GROUP}/{version}",
        "kind": MUTATING_POLICY.kind,
        "metadata": metadata,
        "spec": {
            "failurePolicy": "Ignore",
            "reinvocationPolicy": "Never",
            "matchConstraints": _match_constraints(profile, policy),
            "matchConditions": list(_match_conditions(profile)),
            "variables": list(_variables(profile, precedence)),
            "mutations": [
                {
                    "patchType": "JSONPatch",
                    "jsonPatch": {"expression": _patch(profile, precedence, constraints)},
                }
            ],
        },
    }
    if policy.mode_of(profile) is Mode.APPLY:
        yield {
            "apiVersion": f"{ADMISSION_GROUP}/{version}",
            "kind": MUTATING_BINDING.kind,
            "metadata": metadata,
            "spec": {"policyName": name},
        }


def _match_constraints(profile: Profile, policy: Policy) -> Manifest:
    """Write which pods the policy is evaluated for, by selectors that API servers index."""
    namespaces = _exclude(profile.namespace_selector, NAME_LABEL, policy.exempt_namespaces)
    pods = _exclude(profile.object_selector, SKIP_LABEL, {"true"})
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["pods"],
    }
    return {"namespaceSelector": namespaces, "objectSelector": pods, "resourceRules": [rule]}


def _exclude(selector: LabelSelector | None, key: str, values: Collection[str]) -> render.Rendered:
    """Add the requirement that a label has none of these values."""
    excluded = (LabelSelectorRequirement(key, NOT_IN, tuple(sorted(values))),) if values else ()
    chosen = selector or SELECT_ALL
    return render.selector(
        replace(chosen, match_expressions=(*chosen.match_expressions, *excluded))
    )


def _match_conditions(profile: Profile) -> Iterator[Manifest]:
    yield _condition("scheduler", scheduled_by(profile.scheduler_names))
    yield _condition("controller", controlled_by(controller_rows(profile)))
    yield _condition("labels", f"{cel.LABELS_OF_POD}.exists(key, {_OWN_LABEL})")
    yield _condition("not-bound", 'object.spec.?nodeName.orValue("") == ""')
    if not profile.gangs:
        gangs = "!has(object.spec.schedulingGroup) && !has(object.spec.workloadRef)"
        yield _condition("no-gang", gangs)
    if profile.merge is Merge.IF_EMPTY:
        yield _condition("no-constraints", f"!has({_LIST_FIELD}) || size({_LIST_FIELD}) == 0")


def _condition(name: str, expression: str) -> Manifest:
    return {"name": name, "expression": expression}


def _variables(profile: Profile, precedence: Precedence) -> Iterator[Manifest]:
    yield _condition("labels", _LABELS)
    if profile.merge is Merge.PER_TOPOLOGY_KEY:
        yield _condition("keys", _KEYS)
    if precedence.conditions:
        yield _condition("earlierProfile", " ||\n".join(f"({c})" for c in precedence.conditions))


def _patch(profile: Profile, precedence: Precedence, constraints: tuple[Constraint, ...]) -> str:
    """
    Write the expression of the patch, which appends one constraint after the other.

    A value that is a list of objects makes kube-apiserver 1.36 and 1.37 panic. Source: apiserver
    pkg/cel/mutation/dynamic/objects.go ``ConvertToNative``, whose result fits no list.
    """
    merges = profile.merge is Merge.PER_TOPOLOGY_KEY
    operations = _append_missing(constraints) if merges else _append_all(constraints)
    return f"variables.earlierProfile ? [] : {operations}" if precedence.conditions else operations


def _append_all(constraints: tuple[Constraint, ...]) -> str:
    steps = [_operation(_LIST, "[]"), *map(_append, constraints)]
    return f"[{', '.join(steps)}]"


def _append_missing(constraints: tuple[Constraint, ...]) -> str:
    """Append the constraints whose topology key the pod's own constraints lack."""
    steps = [f"(has({_LIST_FIELD}) ? [] : [{_operation(_LIST, '[]')}])"]
    for constraint in constraints:
        key = cel.text(constraint.topology_key)
        steps.append(f"({key} in variables.keys ? [] : [{_append(constraint)}])")
    return f"({' + '.join(steps)})"


def _append(constraint: Constraint) -> str:
    return _operation(f"{_LIST}/-", _write_constraint(constraint))


def _operation(path: str, value: str) -> str:
    return f'JSONPatch{{op: "add", path: {cel.text(path)}, value: {value}}}'


def _write_constraint(constraint: Constraint) -> str:
    """Write an object with the pod's labels as its selector, and with the keys that it lacks."""
    plain = render.constraint(replace(constraint, match_label_keys=()))
    members = {
        name: cel.text(value) if isinstance(value, str) else str(value)
        for name, value in plain.items()
    }
    if constraint.match_label_keys:
        keys = cel.texts(constraint.match_label_keys)
        members["matchLabelKeys"] = f"{keys}.filter(key, !(key in variables.labels))"
    members["labelSelector"] = f"{_CONSTRAINT}.labelSelector{{matchLabels: variables.labels}}"
    lines = ",\n".join(f"  {name}: {value}" for name, value in members.items())
    return f"{_CONSTRAINT}{{\n{lines}\n}}"

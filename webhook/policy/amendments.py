"""
Changes to the constraints of an object before the API rules judge them.

``amend_constraints`` drops fields whose feature gate is off, fills in omitted fields and completes
null selectors. It judges nothing.
"""

from collections.abc import Iterator, Sequence
from typing import TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace

from webhook.policy import render
from webhook.policy.advice import findings
from webhook.policy.advice.admission import effective_action
from webhook.policy.api import fielderrors, fieldgates
from webhook.policy.api.fieldgates import DroppedField
from webhook.policy.api.gates import Gate
from webhook.policy.api.rules import ApiViolation
from webhook.policy.defaulting.inject import (
    complete_selectors,
    is_excepted,
    profile_of,
    reason_to_leave_alone,
)
from webhook.policy.defaulting.profiles import FieldDefaults, Mode, Policy
from webhook.policy.facts import Facts
from webhook.policy.model import DO_NOT_SCHEDULE, Constraint, PodTemplate
from webhook.policy.patch import Operation, add, remove
from webhook.policy.paths import constraints_field, constraints_path, format_pointer
from webhook.policy.request import AdmissionRequest
from webhook.policy.rule_entry import Action

Constraints: TypeAlias = tuple[Constraint, ...]

_Pod = TypeVar("_Pod", bound=PodTemplate)

GATED = "TSC111"  # the policy rule about fields behind gates
LEAST_SKEW = 1  # what an omitted maxSkew means, KEP-895
NAMED_ENTRIES = 5  # paths of filled-in fields in one warning: more would not fit a line
INDEX_CHARACTERS = 9  # of the indexes in a line about a field; more would exceed the line


class Amendment(msgspec.Struct, frozen=True):
    """
    The changes to a constraint list.

    Attributes:
        constraints: The list to judge, after the changes. The list of an object that a controller
            created is judged after the changes too, but the object itself stays unchanged.
        operations: The patch from the requested list to this one.
        warnings: Warnings about dropped fields, one line per field.
        refused: The dropped fields as violations, if the configuration denies them.
        held: Whether the profile only recommends to complete selectors, which ``constraints`` then
            lack.
    """

    constraints: Constraints
    operations: tuple[Operation, ...] = ()
    drops: tuple[DroppedField, ...] = ()
    warnings: tuple[str, ...] = ()
    refused: tuple[ApiViolation, ...] = ()
    held: bool = False


def amend_constraints(request: AdmissionRequest, policy: Policy, facts: Facts) -> Amendment:
    """Change the constraints that an object was requested with."""
    requested = request.template.constraints if request.template else ()
    if not requested:
        return Amendment(())
    kept = fieldgates.drop_disabled_fields(requested, request.old_constraints, policy.gates)
    if kept.constraints is requested and all(map(_is_complete, requested)):
        return Amendment(requested)
    if request.controlled:
        return Amendment(kept.constraints)
    filled = fill_in_fields(kept.constraints, policy.field_defaults)
    completed, mode = _complete_selectors(filled, request, policy, facts)
    path = request.path or ()
    base = format_pointer(constraints_path(path))
    held: tuple[Operation, ...] = ()
    if mode is Mode.RECOMMEND and policy.mode is Mode.APPLY:
        held, completed = tuple(_add_fields(filled, completed, base)), filled
    if completed is requested and not held:
        return Amendment(requested)
    additions = tuple(_add_fields(kept.constraints, completed, base))
    removals = (
        remove(base if drop.entry is None else f"{base}/{drop.entry}/{drop.field}")
        for drop in kept.drops
    )
    at, action = constraints_field(path), effective_action(GATED, request, policy, facts)
    reports_drops = action in {Action.WARN, Action.DENY}
    warnings = tuple(_warn_of_drops(kept.drops, policy)) if reports_drops else ()
    warnings += _recommend_fields(held if policy.mode is Mode.APPLY else additions)
    refused = tuple(_refuse_drops(kept.drops, at, policy)) if action is Action.DENY else ()
    operations = (*removals, *additions)
    return Amendment(completed, operations, kept.drops, warnings, refused, held=bool(held))


def _is_complete(constraint: Constraint) -> bool:
    """Whether there is nothing to fill in; True for nearly all constraints."""
    return (
        constraint.max_skew != 0
        and constraint.when_unsatisfiable != ""
        and constraint.label_selector is not None
    )


def fill_in_fields(constraints: Constraints, which: FieldDefaults) -> Constraints:
    """
    Fill in omitted fields.

    The API server sends 0 for an omitted maxSkew, which cannot be distinguished from a requested
    0: therefore the configuration decides. Source: KEP-895.
    """
    if which is FieldDefaults.NONE:
        return constraints
    least_skew = LEAST_SKEW if which is FieldDefaults.ALL else 0
    filled = tuple(
        replace(
            constraint,
            max_skew=constraint.max_skew or least_skew,
            when_unsatisfiable=constraint.when_unsatisfiable or DO_NOT_SCHEDULE,
        )
        for constraint in constraints
    )
    return constraints if filled == constraints else filled


def _complete_selectors(
    constraints: Constraints, request: AdmissionRequest, policy: Policy, facts: Facts
) -> tuple[Constraints, Mode]:
    """Complete null selectors if the profile requests it; the mode is that of the profile."""
    pod = request.template
    if not request.creates_pod or pod is None:
        return constraints, policy.mode
    complete = all(constraint.label_selector is not None for constraint in constraints)
    if complete or reason_to_leave_alone(pod, request.namespace, policy):
        return constraints, policy.mode
    profile = profile_of(pod, request.namespace, policy, facts)
    if profile is None or not profile.complete_selectors:
        return constraints, policy.mode
    if is_excepted(pod, request.namespace, profile, facts):
        return constraints, policy.mode
    completed = complete_selectors(constraints, pod, request.namespace, facts)
    return completed, policy.mode_of(profile)


def _add_fields(before: Constraints, after: Constraints, base: str) -> Iterator[Operation]:
    """Patch the fields that were filled in; both lists have the same length."""
    if before is after:
        return
    for i, (old, new) in enumerate(zip(before, after, strict=True)):
        if new.when_unsatisfiable != old.when_unsatisfiable:
            yield add(f"{base}/{i}/whenUnsatisfiable", new.when_unsatisfiable)
        if new.max_skew != old.max_skew:
            yield add(f"{base}/{i}/maxSkew", new.max_skew)
        if new.label_selector is not None and old.label_selector is None:
            yield add(f"{base}/{i}/labelSelector", render.selector(new.label_selector))


def _recommend_fields(additions: Sequence[Operation]) -> tuple[str, ...]:
    """Describe the fields that recommend mode does not fill in, in at most one line."""
    paths = ", ".join(addition.path for addition in additions[:NAMED_ENTRIES])
    return (f"evenspread would fill in {paths}",) if paths else ()


def _warn_of_drops(drops: Sequence[DroppedField], policy: Policy) -> list[str]:
    """Write lines of at most 120 characters: one per field, the last one for all others."""
    entries: dict[tuple[Gate, str], list[int]] = {}
    for drop in drops:
        numbers = entries.setdefault((drop.gate, drop.field), [])
        numbers += () if drop.entry is None else (drop.entry,)
    done = "dropped" if policy.mode is Mode.APPLY else "would go"
    lines = [
        f"{GATED} topologySpreadConstraints{_name_fields(numbers, field)}: {done}, "
        f"{fieldgates.explain_briefly(gate, policy.gates)}"
        for (gate, field), numbers in entries.items()
    ]
    if len(lines) <= findings.LINES:
        return lines
    shown = lines[: findings.LINES - 1]
    left_out = len(lines) - len(shown)
    return [*shown, f"{GATED} {left_out} more fields: {done}, as their gates are off"]


def _name_fields(numbers: Sequence[int], field: str) -> str:
    """Name a field of several entries, as ``[0,1].minDomains``; empty for the whole list."""
    if not field:
        return ""
    indexes = ",".join(map(str, numbers))
    if len(indexes) > INDEX_CHARACTERS:
        indexes = f"{numbers[0]},..."
    return f"[{indexes}].{field}"


def _refuse_drops(drops: Sequence[DroppedField], at: str, policy: Policy) -> Iterator[ApiViolation]:
    for drop in drops:
        field = at if drop.entry is None else f"{at}[{drop.entry}].{drop.field}"
        why = fieldgates.explain_disabled_gate(drop.gate, policy.gates)
        yield ApiViolation(GATED, fielderrors.forbidden(field, why))


def with_constraints(pod: _Pod, constraints: Constraints) -> _Pod:
    """Replace the constraints of a pod; a pod without a specification stays unchanged."""
    if pod.spec is None or pod.spec.topology_spread_constraints is constraints:
        return pod
    return replace(pod, spec=replace(pod.spec, topology_spread_constraints=constraints))

"""
What is changed in the constraints that an object brings along, before they are judged.

Fields behind gates that are off go; omitted fields are filled in; null selectors are completed.
"""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from webhook.policy import render
from webhook.policy.advice import findings
from webhook.policy.advice.admission import effective_action
from webhook.policy.api import fielderrors, fieldgates
from webhook.policy.api.fieldgates import DroppedField
from webhook.policy.api.gates import Gate
from webhook.policy.api.rules import ApiViolation
from webhook.policy.catalogue import Action
from webhook.policy.defaulting.inject import complete_selectors, profile_of, reason_to_leave_alone
from webhook.policy.defaulting.profiles import FieldDefaults, Mode, Policy
from webhook.policy.facts import Facts
from webhook.policy.model import DO_NOT_SCHEDULE, Constraint, PodTemplate
from webhook.policy.patch import Operation, add, remove
from webhook.policy.paths import CONSTRAINTS_IN_POD, constraints_field, format_pointer
from webhook.policy.request import AdmissionRequest

Constraints: TypeAlias = tuple[Constraint, ...]

GATED = "TSC111"  # the policy rule about fields behind gates
LEAST_SKEW = 1  # what an omitted maxSkew means, KEP-895
NAMED_ENTRIES = 5  # members that are filled in, by one warning: more would not fit a line
NAMED_CHARACTERS = 9  # of the indexes in a line about a field; with more it would be too long


class Amendment(msgspec.Struct, frozen=True):
    """
    A constraint list after the changes.

    Attributes:
        constraints: The list to judge. That of an object made by a controller is judged like any
            other, but nothing is changed in it.
        operations: How to make it from the requested one.
        drops: What gates took away.
        warnings: What to tell about that, a line a field.
        refused: The same as violations, if the configuration denies them.
    """

    constraints: Constraints
    operations: tuple[Operation, ...] = ()
    drops: tuple[DroppedField, ...] = ()
    warnings: tuple[str, ...] = ()
    refused: tuple[ApiViolation, ...] = ()


def amend_constraints(request: AdmissionRequest, policy: Policy, facts: Facts) -> Amendment:
    """
    Change what an object brings along.

    Args:
        request: A create or an update of something that has a pod template.
        policy: Gates, field defaults and profiles.
        facts: The cluster as it is known.
    """
    asked = request.template.constraints if request.template else ()
    if not asked:
        return Amendment(())
    kept = fieldgates.drop_disabled_fields(asked, request.old_constraints, policy.gates)
    if kept.constraints is asked and all(map(_is_whole, asked)):
        return Amendment(asked)
    if request.controlled:
        return Amendment(kept.constraints)
    filled = _fill(kept.constraints, policy.field_defaults)
    completed = _complete(filled, request, policy, facts)
    if completed is asked:
        return Amendment(asked)
    path = request.path or ()
    base = format_pointer((*path, *CONSTRAINTS_IN_POD))
    additions = tuple(_additions(kept.constraints, completed, base))
    operations = (*_removals(kept.drops, base), *additions)
    at, action = constraints_field(path), effective_action(GATED, request, policy)
    is_told = action in {Action.WARN, Action.DENY}
    warnings = tuple(_told(kept.drops, policy)) if is_told else ()
    if policy.mode is Mode.RECOMMEND and additions:
        named = ", ".join(addition.path for addition in additions[:NAMED_ENTRIES])
        warnings += (f"evenspread would fill in {named}",)
    refused = tuple(_refused(kept.drops, at, policy)) if action is Action.DENY else ()
    return Amendment(completed, operations, kept.drops, warnings, refused)


def _is_whole(constraint: Constraint) -> bool:
    """Whether there is nothing to fill in; so it is with nearly all."""
    return (
        constraint.max_skew != 0
        and constraint.when_unsatisfiable != ""
        and constraint.label_selector is not None
    )


def _fill(constraints: Constraints, which: FieldDefaults) -> Constraints:
    """
    Fill in omitted fields.

    The API server sends 0 for an omitted maxSkew, so that one that was asked for cannot be told
    from it: hence the choice. Source: KEP-895.
    """
    if which is FieldDefaults.NONE:
        return constraints
    filled = constraints
    if any(not constraint.when_unsatisfiable for constraint in filled):
        filled = tuple(
            each if each.when_unsatisfiable else replace(each, when_unsatisfiable=DO_NOT_SCHEDULE)
            for each in filled
        )
    if which is FieldDefaults.ALL and any(constraint.max_skew == 0 for constraint in filled):
        filled = tuple(
            each if each.max_skew else replace(each, max_skew=LEAST_SKEW) for each in filled
        )
    return filled


def _complete(
    constraints: Constraints, request: AdmissionRequest, policy: Policy, facts: Facts
) -> Constraints:
    pod = request.template
    if not request.creates_pod or pod is None or _all_select(constraints):
        return constraints
    if reason_to_leave_alone(pod, request.namespace, policy):
        return constraints
    profile = profile_of(pod, request.namespace, policy, facts)
    if profile is None or not profile.complete_selectors:
        return constraints
    return complete_selectors(constraints, pod, request.namespace, facts)


def _all_select(constraints: Constraints) -> bool:
    return all(constraint.label_selector is not None for constraint in constraints)


def _removals(drops: Sequence[DroppedField], base: str) -> Iterator[Operation]:
    for drop in drops:
        yield remove(base if drop.entry is None else f"{base}/{drop.entry}/{drop.field}")


def _additions(before: Constraints, after: Constraints, base: str) -> Iterator[Operation]:
    """Members that were filled in; both lists are of one length, and ``add`` replaces."""
    if before is after:
        return
    for i, (old, new) in enumerate(zip(before, after, strict=True)):
        if new.when_unsatisfiable != old.when_unsatisfiable:
            yield add(f"{base}/{i}/whenUnsatisfiable", new.when_unsatisfiable)
        if new.max_skew != old.max_skew:
            yield add(f"{base}/{i}/maxSkew", new.max_skew)
        if new.label_selector is not None and old.label_selector is None:
            yield add(f"{base}/{i}/labelSelector", render.selector(new.label_selector))


def _told(drops: Sequence[DroppedField], policy: Policy) -> list[str]:
    """Lines of 120 characters at most, as those of advice: one a field, the last for the rest."""
    entries: dict[tuple[Gate, str], list[int]] = {}
    for drop in drops:
        numbers = entries.setdefault((drop.gate, drop.field), [])
        numbers += () if drop.entry is None else (drop.entry,)
    done = "dropped" if policy.mode is Mode.APPLY else "would go"
    lines = [
        f"{GATED} topologySpreadConstraints{_named(numbers, field)}: {done}, "
        f"{fieldgates.held_back_briefly(gate, policy.gates)}"
        for (gate, field), numbers in entries.items()
    ]
    if len(lines) <= findings.LINES:
        return lines
    told = lines[: findings.LINES - 1]
    return [*told, f"{GATED} {len(lines) - len(told)} more fields: {done}, as their gates are off"]


def _named(numbers: Sequence[int], field: str) -> str:
    """The field of these entries, as ``[0,1].minDomains``; empty for the whole list."""
    if not field:
        return ""
    named = ",".join(map(str, numbers))
    if len(named) > NAMED_CHARACTERS:
        named = f"{numbers[0]},..."
    return f"[{named}].{field}"


def _refused(drops: Sequence[DroppedField], at: str, policy: Policy) -> Iterator[ApiViolation]:
    for drop in drops:
        field = at if drop.entry is None else f"{at}[{drop.entry}].{drop.field}"
        why = fieldgates.why_held_back(drop.gate, policy.gates)
        yield ApiViolation(GATED, fielderrors.forbidden(field, why))


def with_constraints(pod: PodTemplate, constraints: Constraints) -> PodTemplate:
    """The same pod with another constraint list; one without a specification stays as it is."""
    if pod.spec is None or pod.spec.topology_spread_constraints is constraints:
        return pod
    return replace(pod, spec=replace(pod.spec, topology_spread_constraints=constraints))

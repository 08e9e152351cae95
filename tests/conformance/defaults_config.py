"""Conformance cases of default constraints: whether kube-scheduler takes such arguments."""

from collections.abc import Sequence

import msgspec

from tests.conformance.case import Answer, Case
from webhook.policy.api import schedulerargs
from webhook.policy.api.fielderrors import FieldError, aggregate
from webhook.policy.model import Constraint


def answer(case: Case) -> Answer:
    """
    Answer one case.

    Args:
        case: ``defaultingType`` and ``defaultConstraints``.

    Returns:
        ``valid``, and ``error`` if it is not.
    """
    given = case.get("defaultConstraints") or ()
    constraints = msgspec.convert(given, tuple[Constraint, ...])
    errors = check_arguments(case.get("defaultingType") or "", constraints)
    return {"valid": False, "error": aggregate(errors)} if errors else {"valid": True}


def check_arguments(defaulting_type: str, constraints: Sequence[Constraint]) -> list[FieldError]:
    """Validate arguments with an explicit type; return the errors in kube-scheduler's order."""
    errors = list(schedulerargs.defaulting_type_errors(defaulting_type, constraints))
    pairs = set[tuple[str, str]]()
    for i, constraint in enumerate(constraints):
        at = f"{schedulerargs.CONSTRAINTS}[{i}]"
        errors += schedulerargs.constraint_errors(constraint, at)
        pair = (constraint.topology_key, constraint.when_unsatisfiable)
        if pair in pairs:
            errors.append(schedulerargs.duplicate_error(constraint, at))
        pairs.add(pair)
    return errors

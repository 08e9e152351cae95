"""Conformance cases of default constraints: whether kube-scheduler takes such arguments."""

import msgspec

from tests.conformance.case import Answer, Case
from webhook.policy.api import schedulerargs
from webhook.policy.api.fielderrors import aggregate
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
    errors = schedulerargs.check(case.get("defaultingType") or "", constraints)
    return {"valid": False, "error": aggregate(errors)} if errors else {"valid": True}

"""
Default constraints of a profile that would keep the pods of a workload Pending.

``find_pending_defaults`` is the entry point. The constraints are not in the object: the mutating
webhook adds them to its pods, which a controller creates. The owner of the profile must change
them, so no such finding denies an object.
"""

from collections.abc import Iterable, Iterator

from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.findings import AdviceFinding
from webhook.policy.advice.rules import PolicyRule
from webhook.policy.advice.subject import Subject
from webhook.policy.defaulting.forecast import first_pod, forecast_injection
from webhook.policy.defaulting.inject import Injection
from webhook.policy.defaulting.profiles import Mode
from webhook.policy.kinds import POD
from webhook.policy.model import DO_NOT_SCHEDULE
from webhook.policy.rule_entry import Action

BLOCKING_RULES = ("TSC103", "TSC104", "TSC106")
"""Rules about pods that stay Pending, in the order in which their causes are likely."""


def find_pending_defaults(
    subject: Subject, context: AdviceContext, rows: Iterable[PolicyRule]
) -> Iterator[AdviceFinding]:
    """
    Find the first reason why the defaults of a profile keep the pods of a workload Pending.

    Args:
        rows: The rules that run; only those of ``BLOCKING_RULES`` matter.

    Returns:
        At most one finding, on the list of constraints; none if the pods would be Pending without
        the defaults, too.
    """
    injection = _forecast(subject, context)
    if injection is None:
        return
    found: dict[str, PolicyRule] = {row.id: row for row in rows if _applies(row, context)}
    given = _add_hard_defaults(subject, injection)
    checks = (found[rule] for rule in BLOCKING_RULES if rule in found)
    for row in checks:
        before = {item.problem for item in row.check(subject, context)}
        for violation in row.check(given, context):
            if violation.problem not in before:
                prefix = f"with the defaults of profile {injection.profile}"
                yield AdviceFinding(
                    row.id,
                    subject.list_path,
                    f"{prefix}, {violation.problem}",
                    f"# change the defaults of profile {injection.profile}",
                    f"{prefix}, {violation.brief or violation.problem}",
                )
                return


def _applies(row: PolicyRule, context: AdviceContext) -> bool:
    return context.policy.actions[row.id] is not Action.OFF and row.runs(context)


def _forecast(subject: Subject, context: AdviceContext) -> Injection | None:
    """Forecast the defaults of its pods; None if they get none that the object lacks."""
    policy = context.policy
    if not policy.profiles or policy.mode is Mode.RECOMMEND:
        return None
    if subject.kind == POD or subject.is_bare:
        return None
    pod = first_pod(subject.kind, subject.metadata.name, subject.pod)
    injection = forecast_injection(pod, subject.namespace, policy, context.facts)
    return None if injection.is_in_place else injection


def _add_hard_defaults(subject: Subject, injection: Injection) -> Subject:
    """Return the subject with its own constraints and the defaults; soft defaults block no pod."""
    constraints = injection.applied_to(subject.pod.constraints)
    number = len(constraints) - len(injection.entries)
    hard = (one for one in constraints[number:] if one.when_unsatisfiable == DO_NOT_SCHEDULE)
    return subject.with_constraints((*constraints[:number], *hard))

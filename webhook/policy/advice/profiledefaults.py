"""
Default constraints of a profile that do not fit the pods of a workload.

``find_unfit_defaults`` finds those that would keep the pods Pending, and those whose matchLabelKeys
the pods lack; ``put_first`` lets TSC115 suggest to change the former before the pods get them. The
constraints are not in the object: the mutating webhook adds them to its pods, which a controller
creates. The owner of the profile must change them, so no such finding denies an object. A finding
on pods that are Pending without the defaults, too, names no profile.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from operator import eq

from msgspec.structs import replace

from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.countedgroups import counts_only_itself
from webhook.policy.advice.fields import correct_keys
from webhook.policy.advice.findings import WAIT_FOR_NODES, AdviceFinding, RuleViolation
from webhook.policy.advice.foreseendefaults import (
    add_hard_defaults,
    add_keyless_defaults,
    forecast,
)
from webhook.policy.advice.rules import PolicyRule
from webhook.policy.advice.subject import Subject
from webhook.policy.defaulting.inject import Injection
from webhook.policy.model import HOSTNAME, SCHEDULE_ANYWAY, Constraint
from webhook.policy.rule_entry import Action

BLOCKING_RULES = (
    *("TSC103", "TSC104", "TSC105", "TSC116"),  # one constraint, for every pod
    *("TSC109", "TSC119", "TSC106"),  # several constraints, or pods that run
    *("TSC108", "TSC121"),  # what may come
)
"""Rules about pods that stay Pending, in the order in which their causes are likely."""

_KEY_RULE = "TSC103"  # of keys that nodes lack
_JOINT_RULES = frozenset({"TSC106", "TSC109", "TSC118", "TSC119"})  # of constraints together
_ELSEWHERE = frozenset({"TSC108", "TSC119"})  # may be corrected in other objects, too
_SCALE_DOWN_RULE = "TSC118"
_PENDING_RULE = "TSC106"  # of pods that are Pending now

IGNORED_KEYS_RULE = "TSC117"
"""Rule about keys that the pods lack: the default works without them, so it is only recorded."""

_LACKING_RULE = "TSC115"  # of pods that lack the defaults

_SOFT = Constraint(1, HOSTNAME, SCHEDULE_ANYWAY)
"""A constraint that keeps no pod Pending."""


def find_unfit_defaults(
    subject: Subject, context: AdviceContext, rows: Iterable[PolicyRule]
) -> Iterator[AdviceFinding]:
    """
    Find the first reason why the defaults of a profile keep the pods of a workload Pending.

    Then find the first soft default on a key that no node has (TSC103), which spreads nothing, and
    the first default whose matchLabelKeys the pods lack (TSC117), or that a scale-down can violate
    (TSC118). Pods that get defaults and stay Pending without them are reported first, as those of a
    workload with constraints are.

    Args:
        rows: The rules that run; only those of ``BLOCKING_RULES``, TSC117 and TSC118 matter.

    Returns:
        At most five findings, on the list of constraints.
    """
    injection = forecast(subject, context)
    if injection is None:
        return
    found: dict[str, PolicyRule] = {row.id: row for row in rows if _applies(row, context)}
    blocking = [found[rule] for rule in BLOCKING_RULES if rule in found]
    scaling = [found[_SCALE_DOWN_RULE]] if _SCALE_DOWN_RULE in found and subject.scaling else []
    violations = [_find_first(subject, context, one, injection) for one in (blocking, scaling)]
    if _KEY_RULE in found:
        violations.append(_find_keyless(subject, context, found[_KEY_RULE], injection))
    if IGNORED_KEYS_RULE in found:
        violations.append(_find_ignored(subject, context, found[IGNORED_KEYS_RULE], injection))
    if _PENDING_RULE in found:
        for violation in _find_unplaced(subject, context, found[_PENDING_RULE]):
            yield AdviceFinding(_PENDING_RULE, *violation)
    for rule, violation in chain.from_iterable(violations):
        instead = _suggest(rule, violation, injection.profile)
        changed = violation._replace(field=subject.list_path, instead=instead)
        yield AdviceFinding(rule, *changed.by_defaults(injection.profile))


def _suggest(rule: str, violation: RuleViolation, profile: str) -> str:
    """
    Suggest to change the defaults, or what the rule suggests to change elsewhere.

    Returns:
        A YAML comment.
    """
    instead, is_comment = violation.instead, violation.instead.startswith("#")
    if instead == WAIT_FOR_NODES or rule == _SCALE_DOWN_RULE:
        return instead
    if rule in _ELSEWHERE and is_comment:
        return f"{instead}; the constraint is in profile {profile}"
    # The key that nodes have is the same for all pods of the profile; other values may not be.
    value = f": {instead}" if rule == _KEY_RULE and not is_comment else ""
    return f"# change the defaults of profile {profile}{value}"


def put_first(
    findings: Sequence[AdviceFinding], unfit: Sequence[AdviceFinding]
) -> Iterator[AdviceFinding]:
    """
    Suggest what to do about defaults that keep pods Pending before the pods get them (TSC115).

    Args:
        findings: All findings on a subject.
        unfit: Those of ``find_unfit_defaults``.
    """
    first = next((one for one in unfit if one.rule in BLOCKING_RULES), None)
    for finding in findings:
        if first is None or finding.rule != _LACKING_RULE:
            yield finding
        else:
            then = finding.instead.removeprefix("# ")
            yield replace(finding, instead=f"{first.instead}; then: {then}")


def _find_first(
    subject: Subject, context: AdviceContext, rows: Iterable[PolicyRule], injection: Injection
) -> Iterator[tuple[str, RuleViolation]]:
    """Find the first violation that the hard defaults cause, and its rule."""
    given = add_hard_defaults(subject, injection)
    if given.constraints == subject.constraints:
        return  # soft defaults
    for row in rows:
        for violation in islice(_find_caused(row, subject, given, context), 1):
            yield row.id, violation
            return


def _find_keyless(
    subject: Subject, context: AdviceContext, row: PolicyRule, injection: Injection
) -> Iterator[tuple[str, RuleViolation]]:
    """Find the first soft default on a key that no node has; no pod stays Pending by it."""
    given = add_keyless_defaults(subject, injection, context.facts)
    if given.constraints == subject.constraints:
        return  # most workloads
    for violation in islice(_find_caused(row, subject, given, context), 1):
        yield row.id, violation


def _find_caused(
    row: PolicyRule, subject: Subject, given: Subject, context: AdviceContext
) -> Iterator[RuleViolation]:
    """Find the violations of a subject with defaults that it has not without them."""
    violations = list(row.check(given, context))
    if not violations:
        return  # most workloads
    judged = _add_soft(subject) if row.id == _PENDING_RULE else subject
    before = list(row.check(judged, context))
    if before and row.id in _JOINT_RULES:
        return  # its own constraints have the problem, in other numbers perhaps
    known = {violation.problem for violation in before}
    yield from (violation for violation in violations if violation.problem not in known)


def _find_unplaced(
    subject: Subject, context: AdviceContext, row: PolicyRule
) -> Iterator[RuleViolation]:
    """Find why pods stay Pending whatever constraints they get, unless the rule reports it."""
    if not subject.constraints:
        yield from row.check(_add_soft(subject), context)


def _add_soft(subject: Subject) -> Subject:
    """Return the subject with a constraint, which TSC106 demands, that keeps no pod Pending."""
    return subject if subject.constraints else subject.with_constraints((_SOFT,))


def _find_ignored(
    subject: Subject, context: AdviceContext, row: PolicyRule, injection: Injection
) -> Iterator[tuple[str, RuleViolation]]:
    """
    Find the first default whose keys the pods lack.

    Profiles apply to workloads of several kinds, and kube-scheduler ignores the keys of the others.
    So a default is not reported if the pods carry one of its keys, nor if none of them resembles or
    stands for a label that the pods do carry. A key that differs for every pod always is.
    """
    added = (entry.constraint for entry in injection.entries)
    given = subject.with_constraints(tuple(one for one in added if _lacks_keys(one, subject)))
    for violation in islice(row.check(given, context), 1):
        yield row.id, violation


def _lacks_keys(constraint: Constraint, subject: Subject) -> bool:
    keys = constraint.match_label_keys
    if counts_only_itself(constraint, subject):
        return True
    corrected = correct_keys(constraint, subject)
    return any(corrected) and not any(map(eq, keys, corrected))


def _applies(row: PolicyRule, context: AdviceContext) -> bool:
    return context.policy.actions[row.id] is not Action.OFF and row.runs(context)

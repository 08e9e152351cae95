"""
Advice on one subject: every rule asked, and what they say sorted by what is to be done about it.

The configuration gives each rule an action. What an action leads to depends on the object:

* ``deny`` denies, but not what a controller made, whose owner was asked already, nor an update
  that leaves pod template and constraints as they were; of these it is only recorded;
* ``warn`` warns whoever wrote the object; what a controller made, or was not changed, is recorded;
* ``audit`` is recorded;
* ``off``: the rule is not even asked.

Whoever asks decides whether it is the time to deny: only the validating hook sees the object as
it will be stored.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from webhook.policy.advice import exemptions
from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.findings import LINES, AdviceFinding, format_warnings, to_finding
from webhook.policy.advice.rules import POLICY_RULES, PolicyRule, RuleScope
from webhook.policy.advice.subject import Subject
from webhook.policy.api import fieldgates, rules
from webhook.policy.api.gates import Gate, Gates
from webhook.policy.catalogue import DEFAULT_ACTIONS, Action


class ExemptFinding(NamedTuple):
    """A finding that an annotation exempts from, and the reason that it gives."""

    finding: AdviceFinding
    reason: str


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """
    What there is to say about a subject; each finding stands in one of these.

    Attributes:
        denied: For which the object is to be refused.
        warned: Of which the one who wrote it is told.
        audited: Which are recorded only.
        exempted: Which the object's annotation asks to overlook, and may.
        refused: Exemptions that hold for nothing, told as warnings.
    """

    denied: tuple[AdviceFinding, ...] = ()
    warned: tuple[AdviceFinding, ...] = ()
    audited: tuple[AdviceFinding, ...] = ()
    exempted: tuple[ExemptFinding, ...] = ()
    refused: tuple[AdviceFinding, ...] = ()

    @property
    def violations(self) -> tuple[rules.RuleViolation, ...]:
        """What is denied, in the form in which API rules deny."""
        return tuple(rules.RuleViolation(each.rule, each.error) for each in self.denied)

    def without_denial(self) -> "Advice":
        """The same advice, with warnings instead of denials."""
        if not self.denied:
            return self
        return replace(self, denied=(), warned=self.denied + self.warned)

    def lines(self, most: int = LINES) -> tuple[str, ...]:
        """The warnings as kubectl shows them, refused exemptions first; at most so many lines."""
        return format_warnings((*self.refused, *self.warned), most)


NO_ADVICE = Advice()
"""The advice on what is in order."""


def advise(
    subject: Subject,
    context: AdviceContext,
    actions: Mapping[str, Action] = DEFAULT_ACTIONS,
    *,
    not_exemptible: frozenset[str] = frozenset(),
    rows: Iterable[PolicyRule] = POLICY_RULES,
) -> Advice:
    """
    Ask the rules about a subject.

    Args:
        subject: A workload or a pod.
        context: The policy and the cluster. Without a cluster it is an admission: only rules that
            are for everywhere are asked, and none while the gate of advice is off.
        actions: What is done about the findings of each rule.
        not_exemptible: Rules from which no annotation exempts.
        rows: The rules to ask.
    """
    if context.cluster is None and Gate.ADVICE not in context.gates:
        return NO_ADVICE
    findings = list(_findings(subject, context, actions, rows))
    read = exemptions.parse_exemptions(subject.metadata.annotations, not_exemptible)
    if not findings and not read.refused:
        return NO_ADVICE
    sorted_by: dict[Action, list[AdviceFinding]] = {action: [] for action in Action}
    for finding in findings:
        if finding.rule not in read.reasons:
            sorted_by[_consequence(actions[finding.rule], subject)].append(finding)
    is_told = _consequence(Action.WARN, subject) is Action.WARN
    return Advice(
        denied=tuple(sorted_by[Action.DENY]),
        warned=tuple(sorted_by[Action.WARN]),
        audited=tuple(sorted_by[Action.AUDIT]),
        exempted=tuple(
            ExemptFinding(each, read.reasons[each.rule])
            for each in findings
            if each.rule in read.reasons
        ),
        refused=read.refused if is_told else (),
    )


def _findings(
    subject: Subject,
    context: AdviceContext,
    actions: Mapping[str, Action],
    rows: Iterable[PolicyRule],
) -> Iterator[AdviceFinding]:
    in_force = _without_gated(subject, context.gates)
    for row in rows:
        if actions[row.id] is Action.OFF:
            continue
        if context.cluster is not None or row.where is RuleScope.EVERYWHERE:
            judged = subject if row.as_written else in_force
            for remark in row.check(judged, context):
                yield to_finding(row.id, remark)


def _without_gated(subject: Subject, gates: Gates) -> Subject:
    """The subject without the fields that feature gates hold back."""
    written = subject.pod.constraints
    kept = fieldgates.drop_disabled_fields(written, None, gates).constraints
    return subject if kept is written else subject.with_constraints(kept)


def _consequence(action: Action, subject: Subject) -> Action:
    """What an action leads to, given whose the object is."""
    return Action.AUDIT if subject.controlled or subject.settled else action

"""
Advise on one subject: run the rules, and sort their findings by the action on them.

The configuration gives each rule an action. Its effect depends on the object:

* ``deny`` denies the object. It only records what a controller created, whose owner was judged
  already, and updates that leave the pod template and the constraints as they were.
* ``warn`` warns the user, and only records in the same two cases.
* ``audit`` records.
* ``off`` skips the rule.

The caller decides whether denying is possible: only the validating webhook sees the object as it
will be stored.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from webhook.policy.advice import exemptions
from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.findings import LINES, AdviceFinding, format_warnings
from webhook.policy.advice.profiledefaults import IGNORED_KEYS_RULE, find_unfit_defaults, put_first
from webhook.policy.advice.profilerules import apply_profile
from webhook.policy.advice.rules import POLICY_RULES, PolicyRule
from webhook.policy.advice.subject import Subject
from webhook.policy.api import fieldgates, rules
from webhook.policy.api.gates import Gate, Gates
from webhook.policy.policyexceptions import PolicyException, find_exceptions
from webhook.policy.rule_entry import Action


class ExemptFinding(NamedTuple):
    """
    A finding that the object is exempt from, with the reason given there.

    Attributes:
        exception: Name of the SpreadPolicyException; empty for the annotation of the object.
    """

    finding: AdviceFinding
    reason: str
    exception: str = ""


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """
    The findings on a subject; every finding is in one of these lists.

    Attributes:
        denied: Findings to deny the object for.
        warned: Findings to warn the user of.
        audited: Findings to record only.
        exempted: Findings that the object's annotation, or an exception, exempts it from.
        refused: Exemptions without effect, as warnings.
        held: Rules whose denials are only reported, since a profile recommends them.
    """

    denied: tuple[AdviceFinding, ...] = ()
    warned: tuple[AdviceFinding, ...] = ()
    audited: tuple[AdviceFinding, ...] = ()
    exempted: tuple[ExemptFinding, ...] = ()
    refused: tuple[AdviceFinding, ...] = ()
    held: frozenset[str] = frozenset()

    @property
    def is_held(self) -> bool:
        """Whether all its denials are only reported."""
        return all(finding.rule in self.held for finding in self.denied)

    @property
    def violations(self) -> tuple[rules.ApiViolation, ...]:
        """The denied findings that count, in the type of the API rules' violations."""
        held = frozenset[str]() if self.is_held else self.held
        counted = (finding for finding in self.denied if finding.rule not in held)
        return tuple(rules.ApiViolation(finding.rule, finding.error) for finding in counted)

    def without_denial(self) -> "Advice":
        """Return the advice with its denials as warnings."""
        if not self.denied:
            return self
        return replace(self, denied=(), warned=self.denied + self.warned)

    def lines(self, most: int = LINES) -> tuple[str, ...]:
        """Format the warnings for kubectl, refused exemptions first; at most ``most`` lines."""
        return format_warnings((*self.refused, *self.warned), most)


NO_ADVICE = Advice()  # the advice on an object without findings


def join_advice(parts: Iterable[Advice | None]) -> Advice | None:
    """Join the advice on the pod templates of one object; None if there is none on any."""
    given = [advice for advice in parts if advice is not None]
    if not given:
        return None
    return Advice(
        denied=tuple(finding for advice in given for finding in advice.denied),
        warned=tuple(finding for advice in given for finding in advice.warned),
        audited=tuple(finding for advice in given for finding in advice.audited),
        exempted=tuple(finding for advice in given for finding in advice.exempted),
        refused=tuple(dict.fromkeys(finding for advice in given for finding in advice.refused)),
        held=frozenset[str]().union(*(advice.held for advice in given)),
    )


def advise(
    subject: Subject,
    context: AdviceContext,
    rows: Iterable[PolicyRule] = POLICY_RULES,
    is_justified: Callable[[AdviceFinding], bool] | None = None,
) -> Advice:
    """
    Run the rules on a subject.

    Args:
        is_justified: Whether to keep a finding; None keeps all.

    A context without ``cluster`` is that of an admission: only rules of scope EVERYWHERE run, and
    none if the feature gate for advice is off. The actions are those for the subject's profile.
    """
    if context.cluster is None and Gate.ADVICE not in context.gates:
        return NO_ADVICE
    context = apply_profile(context, subject)
    policy = context.policy
    rows = tuple(rows)
    findings = list(filter(is_justified, _run_rules(subject, context, rows)))
    in_force = _without_gated(subject, context.gates)
    of_profile = tuple(filter(is_justified, find_unfit_defaults(in_force, context, rows)))
    findings = list(put_first((*findings, *of_profile), of_profile))
    exempt = exemptions.parse_exemptions(subject.metadata.annotations, policy.not_exemptible)
    if not findings and not exempt.refused:
        return NO_ADVICE
    by_action: dict[Action, list[AdviceFinding]] = {action: [] for action in Action}
    exceptions = find_exceptions(
        context.facts.exceptions(subject.namespace), subject.labels, policy.not_exemptible
    )
    exempting = exceptions.keys() | exempt.reasons.keys()
    kept = [one for one in findings if one.rule not in exempting]
    for finding in _join_causes(kept, subject):
        action = policy.actions[finding.rule]
        if finding.profile:
            action = _spare_owner(finding.rule, action)
        by_action[_limit_action(action, subject)].append(finding)
    warns = _limit_action(Action.WARN, subject) is Action.WARN
    return Advice(
        denied=tuple(by_action[Action.DENY]),
        warned=tuple(by_action[Action.WARN]),
        audited=tuple(by_action[Action.AUDIT]),
        exempted=tuple(
            _exempt(finding, exempt.reasons, exceptions)
            for finding in findings
            if finding.rule in exempting
        ),
        refused=exempt.refused if warns else (),
        held=policy.held_denials,
    )


def _exempt(
    finding: AdviceFinding,
    reasons: Mapping[str, str],
    exceptions: Mapping[str, PolicyException],
) -> ExemptFinding:
    """Exempt from a finding by the annotation, which is nearer to the object, or an exception."""
    if finding.rule in reasons:
        return ExemptFinding(finding, reasons[finding.rule])
    exception = exceptions[finding.rule]
    return ExemptFinding(finding, exception.reason, exception.name)


def _run_rules(
    subject: Subject, context: AdviceContext, rows: Iterable[PolicyRule]
) -> Iterator[AdviceFinding]:
    # All rules but one see the constraints without the fields that feature gates disable, which
    # is what kube-scheduler acts on. TSC111 reports exactly those fields.
    in_force = _without_gated(subject, context.gates)
    is_bare, actions = subject.is_bare, context.policy.actions
    for row in rows:
        judged = subject if row.as_written else in_force
        if not (judged.constraints or row.without_constraints):
            continue  # most rules, for most workloads
        if actions[row.id] is Action.OFF or (is_bare and not row.on_bare_lists):
            continue
        if row.runs(context):
            for violation in row.check(judged, context):
                yield AdviceFinding(row.id, *violation)


_CLOSING = frozenset({"TSC104", "TSC105", "TSC116"})  # of domains that no pod can go to
_STOPPING = "TSC119"  # of rollouts that cannot finish
_PENDING = "TSC106"  # of pods without a node now
_PARTS = frozenset({"TSC107", "TSC114"})  # of revisions counted together, and of uneven pods


def _join_causes(findings: Sequence[AdviceFinding], subject: Subject) -> Iterator[AdviceFinding]:
    """
    Join findings with the same cause and the same fix.

    If closed domains, or too few, leave the next pod without a node, TSC106 suggests what TSC105,
    TSC116 or TSC104 suggests, and becomes a part of that finding. If a rollout cannot finish, and
    all replicas have a node, the next pod is its first one: TSC106 becomes a part of TSC119, and so
    do TSC107 and TSC114, which suggest the same.
    """
    causes = [one for one in findings if one.rule in _CLOSING or one.rule == _STOPPING]
    joined: dict[AdviceFinding, str] = {}
    left: list[AdviceFinding] = []
    for finding in findings:
        cause = next((one for one in causes if _is_part(finding, one, subject)), None)
        if cause is None:
            left.append(finding)
        elif finding.rule == _PENDING:
            joined[cause] = f"{joined.get(cause, '')}; now {finding.problem}"
    for finding in left:
        added = joined.get(finding)
        yield replace(finding, problem=finding.problem + added) if added else finding


def _is_part(finding: AdviceFinding, cause: AdviceFinding, subject: Subject) -> bool:
    is_same = (finding.field, finding.instead) == (cause.field, cause.instead)
    if cause.rule in _CLOSING:
        return finding.rule == _PENDING and is_same
    if finding.rule == _PENDING:
        return subject.has_all_pods
    return finding.rule in _PARTS and is_same


def _without_gated(subject: Subject, gates: Gates) -> Subject:
    written = subject.pod.constraints
    kept = fieldgates.drop_disabled_fields(written, None, gates).constraints
    return subject if kept is written else subject.with_constraints(kept)


def _spare_owner(rule: str, action: Action) -> Action:
    """Reduce an action on the defaults of a profile: the owner of the object did not write them."""
    if rule == IGNORED_KEYS_RULE:
        return Action.AUDIT
    return Action.WARN if action is Action.DENY else action


def _limit_action(action: Action, subject: Subject) -> Action:
    """Reduce an action to AUDIT for a controller's objects, and for updates without new pods."""
    return Action.AUDIT if subject.controlled or subject.settled else action

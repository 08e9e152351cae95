"""What rules say about one object, in the form of a report: with lines, fingerprints, fixes."""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import NamedTuple

from webhook.audit.inventory import AuditSubject
from webhook.audit.report import AuditFinding, AuditSeverity, WorkloadReport
from webhook.audit.snapshot import UnreadableObject
from webhook.policy.advice import findings
from webhook.policy.advice.advise import Advice
from webhook.policy.api.warnings import ApiWarning
from webhook.policy.catalogue import CATALOGUE, TYPE_INVALID, explain_command

FINGERPRINT_DIGITS = (
    16  # hexadecimal digits, 64 bits: among a million findings hardly two are alike
)

_NULL_SELECTOR = ("TSC021", "TSC102")  # the warning of the API, and the advice that says more


class RuleMessage(NamedTuple):
    """
    What a rule says.

    Attributes:
        field: Its path in the object.
        problem: What is wrong.
        instead: What to write instead; empty for what the rule says to all.
        reason: Why the object is exempted from the rule; empty if it is not.
    """

    field: str
    problem: str
    instead: str = ""
    reason: str = ""


class FindingBuilder:
    """What is said about one object."""

    def __init__(self, audited: AuditSubject) -> None:
        """Take the object."""
        self._origin = audited.origin
        subject = audited.subject
        name = subject.metadata.name or subject.metadata.generate_name
        self._object = f"{subject.kind}|{subject.namespace}/{name}"

    def finding(self, rule: str, weight: AuditSeverity, said: RuleMessage) -> AuditFinding:
        """Complete what a rule says."""
        return AuditFinding(
            rule=rule,
            weight=weight,
            field=said.field,
            line=self._origin.line(said.field) if self._origin else 0,
            problem=said.problem,
            instead=said.instead or CATALOGUE[rule].fix,
            read_on=explain_command(rule),
            fingerprint=_fingerprint(rule, self._object, said.field),
            reason=said.reason,
        )

    def advised(self, advice: Advice) -> Iterator[AuditFinding]:
        """Give the advice, by what it leads to."""
        for weight, told in (
            (AuditSeverity.DENY, advice.denied),
            (AuditSeverity.WARN, (*advice.refused, *advice.warned)),
            (AuditSeverity.AUDIT, advice.audited),
        ):
            for each in told:
                yield self._of(each, weight)

    def exempted(self, advice: Advice) -> Iterator[AuditFinding]:
        """Give the advice that the object asks to overlook."""
        for each, reason in advice.exempted:
            yield self._of(each, AuditSeverity.AUDIT, reason)

    def warned(
        self, cautions: Iterable[ApiWarning], told: Sequence[AuditFinding]
    ) -> list[AuditFinding]:
        """Give what the API server would warn about, unless the advice says it already."""
        said = {(each.rule, each.field) for each in told}
        plain, advice = _NULL_SELECTOR
        split = [(each.rule, *each.text.split(": ", 1)) for each in cautions]
        return [
            self.finding(rule, AuditSeverity.WARN, RuleMessage(field, problem))
            for rule, field, problem in split
            if rule != plain or (advice, field) not in said
        ]

    def _of(
        self, each: findings.AdviceFinding, weight: AuditSeverity, reason: str = ""
    ) -> AuditFinding:
        return self.finding(
            each.rule, weight, RuleMessage(each.field, each.problem, each.instead, reason)
        )


def report_type_error(each: UnreadableObject) -> WorkloadReport:
    """Report an object with a value of the wrong type."""
    about = f"{each.kind}|{each.namespace}/{each.name}"
    finding = AuditFinding(
        rule=TYPE_INVALID,
        weight=AuditSeverity.DENY,
        field=each.field,
        line=each.field_line,
        problem=each.problem,
        instead=CATALOGUE[TYPE_INVALID].fix,
        read_on=f"kubectl explain {each.kind.lower()}",
        fingerprint=_fingerprint(TYPE_INVALID, about, each.field),
    )
    return WorkloadReport(
        api_version=each.api_version,
        kind=each.kind,
        namespace=each.namespace,
        name=each.name,
        source=each.source,
        line=each.line,
        findings=(finding,),
    )


def _fingerprint(rule: str, about: str, field: str) -> str:
    return sha256(f"{rule}|{about}|{field}".encode()).hexdigest()[:FINGERPRINT_DIGITS]

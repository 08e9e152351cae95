"""What rules say about one object, in the form of a report: with lines, fingerprints, fixes."""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import NamedTuple

from webhook.audit.inventory import Audited
from webhook.audit.report import Finding, Weight, WorkloadReport
from webhook.audit.rulebook import RULEBOOK, TYPE_INVALID, read_on
from webhook.audit.snapshot import Unreadable
from webhook.policy.advice import findings
from webhook.policy.advice.advise import Advice
from webhook.policy.api.warnings import Caution

FINGERPRINT = 16  # hexadecimal digits, 64 bits: among a million findings hardly two are alike

_NULL_SELECTOR = ("TSC021", "TSC102")  # the warning of the API, and the advice that says more


class Said(NamedTuple):
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


class Words:
    """What is said about one object."""

    def __init__(self, audited: Audited) -> None:
        """Take the object."""
        self._origin = audited.origin
        subject = audited.subject
        name = subject.metadata.name or subject.metadata.generate_name
        self._object = f"{subject.kind}|{subject.namespace}/{name}"

    def finding(self, rule: str, weight: Weight, said: Said) -> Finding:
        """Complete what a rule says."""
        return Finding(
            rule=rule,
            weight=weight,
            field=said.field,
            line=self._origin.line(said.field) if self._origin else 0,
            problem=said.problem,
            instead=said.instead or RULEBOOK[rule].fix,
            read_on=read_on(rule),
            fingerprint=_fingerprint(rule, self._object, said.field),
            reason=said.reason,
        )

    def advised(self, advice: Advice) -> Iterator[Finding]:
        """Give the advice, by what it leads to."""
        for weight, told in (
            (Weight.DENY, advice.denied),
            (Weight.WARN, (*advice.refused, *advice.warned)),
            (Weight.AUDIT, advice.audited),
        ):
            for each in told:
                yield self._of(each, weight)

    def exempted(self, advice: Advice) -> Iterator[Finding]:
        """Give the advice that the object asks to overlook."""
        for each, reason in advice.exempted:
            yield self._of(each, Weight.AUDIT, reason)

    def warned(self, cautions: Iterable[Caution], told: Sequence[Finding]) -> list[Finding]:
        """Give what the API server would warn about, unless the advice says it already."""
        said = {(each.rule, each.field) for each in told}
        plain, advice = _NULL_SELECTOR
        split = [(each.rule, *each.text.split(": ", 1)) for each in cautions]
        return [
            self.finding(rule, Weight.WARN, Said(field, problem))
            for rule, field, problem in split
            if rule != plain or (advice, field) not in said
        ]

    def _of(self, each: findings.Finding, weight: Weight, reason: str = "") -> Finding:
        return self.finding(each.rule, weight, Said(each.field, each.problem, each.instead, reason))


def mistyped(each: Unreadable) -> WorkloadReport:
    """Report an object with a value of the wrong type."""
    about = f"{each.kind}|{each.namespace}/{each.name}"
    finding = Finding(
        rule=TYPE_INVALID,
        weight=Weight.DENY,
        field=each.field,
        line=each.field_line,
        problem=each.problem,
        instead=RULEBOOK[TYPE_INVALID].fix,
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
    return sha256(f"{rule}|{about}|{field}".encode()).hexdigest()[:FINGERPRINT]

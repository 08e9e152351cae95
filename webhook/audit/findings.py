"""
Findings of an audit: violations of rules, completed with lines, fingerprints and fixes.

``FindingBuilder`` builds the findings about one object. It applies no rule itself.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256

from msgspec.structs import replace

from webhook.audit.exemptionreport import ExemptionSource
from webhook.audit.inventory import AuditSubject
from webhook.audit.report import AuditFinding, AuditSeverity, WorkloadReport
from webhook.audit.snapshot import UnreadableObject
from webhook.policy.advice.advise import Advice
from webhook.policy.advice.findings import AdviceFinding
from webhook.policy.api.predict import ApiWarning
from webhook.policy.api.rules import ApiViolation
from webhook.policy.api.schema import StrictFinding
from webhook.policy.catalogue import CATALOGUE, TYPE_INVALID, explain_command
from webhook.policy.corrections import suggest_correction, suggest_type

FINGERPRINT_DIGITS = 16  # hexadecimal: 64 bits, so that no two of a million findings collide

_NULL_SELECTOR = ("TSC021", "TSC102")  # the warning of the API, and the advice that explains it


class FindingBuilder:
    """Builds the findings about one object."""

    def __init__(self, audited: AuditSubject) -> None:
        """Build findings about this object."""
        self._origin = audited.origin
        self._subject = subject = audited.subject
        name = subject.metadata.name or subject.metadata.generate_name
        self._object = f"{subject.kind}|{subject.namespace}/{name}"

    def build(
        self,
        severity: AuditSeverity,
        found: AdviceFinding,
        reason: str = "",
        exception: str = "",
    ) -> AuditFinding:
        """
        Build a finding.

        Args:
            severity: What the violation leads to.
            found: The violation; with an empty ``instead`` the general fix of the rule applies.
            reason: Reason of an exemption; empty if the object is not exempt.
            exception: Name of the SpreadPolicyException that exempts it; empty for the annotation.
        """
        source = ExemptionSource.EXCEPTION if exception else ExemptionSource.ANNOTATION
        return AuditFinding(
            rule=found.rule,
            severity=severity,
            field=found.field,
            line=self._origin.line(found.field) if self._origin else 0,
            problem=found.problem,
            instead=found.instead or CATALOGUE[found.rule].fix,
            read_on=explain_command(found.rule),
            fingerprint=_fingerprint(found.rule, self._object, found.field),
            reason=reason,
            exempted_by=source if reason else None,
            exception=exception,
        )

    def build_strict(
        self, found: Iterable[StrictFinding], severity: AuditSeverity
    ) -> Iterator[AuditFinding]:
        """Build the findings of unknown and duplicate fields."""
        return (_build_strict(item, severity, self._object) for item in found)

    def build_exempted_strict(
        self, found: Iterable[StrictFinding], reasons: Mapping[str, str]
    ) -> Iterator[AuditFinding]:
        """Build those of rules that an annotation exempts the object from, with the reasons."""
        for item in self.build_strict(found, AuditSeverity.AUDIT):
            source = ExemptionSource.ANNOTATION
            yield replace(item, reason=reasons[item.rule], exempted_by=source)

    def build_violations(
        self, violations: Iterable[ApiViolation], severity: AuditSeverity
    ) -> list[AuditFinding]:
        """Build the findings of API rules; kube-apiserver reports some errors twice."""
        pod, at = self._subject.pod, self._subject.list_path
        findings = (
            AdviceFinding(
                item.rule, item.error.field, item.error.message, suggest_correction(item, pod, at)
            )
            for item in violations
        )
        return [self.build(severity, finding) for finding in dict.fromkeys(findings)]

    def build_advice(self, advice: Advice) -> Iterator[AuditFinding]:
        """Build the findings of policy rules, by severity."""
        for severity, items in (
            (AuditSeverity.DENY, advice.denied),
            (AuditSeverity.WARN, (*advice.refused, *advice.warned)),
            (AuditSeverity.AUDIT, advice.audited),
        ):
            for item in items:
                yield self.build(severity, item)

    def build_warnings(
        self, warnings: Iterable[ApiWarning], known: Sequence[AuditFinding]
    ) -> list[AuditFinding]:
        """Build the warnings of the API server, without those that advice repeats."""
        reported = {(item.rule, item.field) for item in known}
        plain, advice = _NULL_SELECTOR
        split = [(item.rule, *item.text.split(": ", 1)) for item in warnings]
        return [
            self.build(AuditSeverity.WARN, AdviceFinding(rule, field, problem, instead=""))
            for rule, field, problem in split
            if rule != plain or (advice, field) not in reported
        ]


def report_type_errors(
    unreadable: UnreadableObject,
    strict_severity: AuditSeverity,
    includes_rule: Callable[[str], bool],
) -> WorkloadReport:
    """
    Build the report on an object with values of wrong types.

    Args:
        strict_severity: Severity of its unknown and duplicate fields.
        includes_rule: Whether to report the findings of a rule.
    """
    about = f"{unreadable.kind}|{unreadable.namespace}/{unreadable.name}"
    findings = [
        AuditFinding(
            rule=TYPE_INVALID,
            severity=AuditSeverity.DENY,
            field=value.field,
            line=value.field_line,
            problem=value.problem,
            instead=suggest_type(value.problem, value.field),
            read_on=f"kubectl explain {unreadable.kind.lower()}",
            fingerprint=_fingerprint(TYPE_INVALID, about, value.field),
        )
        for value in (unreadable, *unreadable.more)
    ]
    findings += (_build_strict(item, strict_severity, about) for item in unreadable.strict)
    return WorkloadReport(
        api_version=unreadable.api_version,
        kind=unreadable.kind,
        namespace=unreadable.namespace,
        name=unreadable.name,
        source=unreadable.source,
        line=unreadable.line,
        findings=tuple(item for item in findings if includes_rule(item.rule)),
    )


def _build_strict(found: StrictFinding, severity: AuditSeverity, about: str) -> AuditFinding:
    return AuditFinding(
        rule=found.rule,
        severity=severity,
        field=found.field,
        line=found.line,
        problem=found.problem,
        instead=found.instead,
        read_on=explain_command(found.rule),
        fingerprint=_fingerprint(found.rule, about, found.field),
    )


def _fingerprint(rule: str, about: str, field: str) -> str:
    return sha256(f"{rule}|{about}|{field}".encode()).hexdigest()[:FINGERPRINT_DIGITS]

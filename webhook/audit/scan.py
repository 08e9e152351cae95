"""
The audit itself: every rule asked about every subject, and the answers made into a report.

An object that the API refuses can never run, so nothing else is said of it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import msgspec

from webhook.audit.findings import FindingBuilder, RuleMessage, report_type_error
from webhook.audit.inventory import AuditSubject, Inventory
from webhook.audit.report import (
    SEVERITY_RANKS,
    AuditFinding,
    AuditReport,
    AuditSeverity,
    AuditSummary,
    DefaultsReport,
    WorkloadReport,
)
from webhook.audit.snapshot import UnreadableObject
from webhook.audit.spreads import measure_spreads
from webhook.policy.advice.advise import Advice, advise
from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.rules import POLICY_RULES
from webhook.policy.advice.subject import Subject
from webhook.policy.api import apiserver, rules
from webhook.policy.catalogue import DEFAULT_ACTIONS, TYPE_INVALID, Action
from webhook.policy.defaulting.forecast import first_pod, forecast_injection
from webhook.policy.defaulting.inject import inject
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.kinds import POD
from webhook.policy.model import MAX_CONSTRAINTS
from webhook.policy.paths import constraints_field

T = TypeVar("T")


class AuditOptions(NamedTuple):
    """
    What an audit asks.

    Attributes:
        policy: Gates and profiles.
        actions: What findings of each rule lead to.
        not_exemptible: Rules from which no annotation exempts.
        rules: Those that are asked; empty for all.
        namespaces: Those that are looked at; empty for all.
    """

    policy: Policy
    actions: Mapping[str, Action] = DEFAULT_ACTIONS
    not_exemptible: frozenset[str] = frozenset()
    rules: frozenset[str] = frozenset()
    namespaces: frozenset[str] = frozenset()

    def asks(self, rule: str) -> bool:
        """Whether a rule is asked."""
        return not self.rules or rule in self.rules

    def covers(self, namespace: str) -> bool:
        """Whether a namespace is looked at."""
        return not self.namespaces or namespace in self.namespaces


def _no_progress(items: Sequence[T]) -> Iterable[T]:
    return items


def scan(
    inventory: Inventory,
    unreadable: Sequence[UnreadableObject],
    question: AuditOptions,
    progress: Callable[[Sequence[AuditSubject]], Iterable[AuditSubject]] = _no_progress,
) -> AuditReport:
    """
    Ask every rule about every subject.

    Args:
        inventory: The subjects, and their cluster.
        unreadable: Objects that no API server would take.
        question: What to ask.
        progress: Gives the subjects one after the other, and may show how far that is.
    """
    grounds = AdviceContext(question.policy, inventory.cluster, inventory.survey)
    scanner = Scanner(question, grounds)
    chosen = [each for each in inventory.audited if question.covers(each.subject.namespace)]
    reports = [scanner.report_on(each) for each in progress(chosen)]
    if question.asks(TYPE_INVALID):
        reports += [
            report_type_error(each) for each in unreadable if question.covers(each.namespace)
        ]
    reports.sort(key=lambda each: (each.namespace, each.kind, each.name, each.source, each.line))
    return AuditReport(
        kubernetes=str(question.policy.gates.version),
        summary=summarise(reports, nodes=len(inventory.cluster.node_store)),
        workloads=tuple(reports),
    )


def summarise(reports: Sequence[WorkloadReport], *, nodes: int, known: int = 0) -> AuditSummary:
    """Count everything."""
    weights = [finding.weight for each in reports for finding in each.findings]
    asked = [each for each in reports if any(row.max_skew is not None for row in each.spreads)]
    uneven = sum(any(row.excess > 0 for row in each.spreads) for each in asked)
    return AuditSummary(
        workloads=len(reports),
        pods=sum(each.pods for each in reports),
        nodes=nodes,
        deny=weights.count(AuditSeverity.DENY),
        warn=weights.count(AuditSeverity.WARN),
        audit=weights.count(AuditSeverity.AUDIT),
        exempted=sum(len(each.exempted) for each in reports),
        known=known,
        spread=len(asked) - uneven,
        uneven=uneven,
    )


class SubjectFindings(NamedTuple):
    """What is wrong with a subject, the hardest first, and what it is exempted from."""

    found: tuple[AuditFinding, ...]
    exempted: tuple[AuditFinding, ...]


class Scanner:
    """Asks about one subject after the other."""

    def __init__(self, question: AuditOptions, grounds: AdviceContext) -> None:
        """
        Ask nothing yet.

        Args:
            question: What to ask.
            grounds: With a survey, as an audit has one.
        """
        self._question = question
        self._grounds = grounds
        self._rows = tuple(row for row in POLICY_RULES if question.asks(row.id))

    def judge(self, audited: AuditSubject) -> SubjectFindings:
        """Ask every rule about one subject."""
        subject, words = audited.subject, FindingBuilder(audited)
        answer = apiserver.predict_response(
            apiserver.Request(kind=subject.kind, path=subject.path, template=subject.pod),
            self._grounds.gates,
        )
        found = [
            words.finding(
                each.rule, AuditSeverity.DENY, RuleMessage(each.error.field, each.error.message)
            )
            for each in _too_many(subject) or answer.findings
        ]
        exempted: list[AuditFinding] = []
        if not found:
            advice = self._advise(subject)
            found += words.advised(advice)
            found += words.warned(answer.warned, found)
            exempted += words.exempted(advice)
        asked = [each for each in found if self._question.asks(each.rule)]
        return SubjectFindings(
            tuple(sorted(asked, key=lambda each: SEVERITY_RANKS[each.weight])), tuple(exempted)
        )

    def report_on(self, audited: AuditSubject) -> WorkloadReport:
        """Make the report on one subject."""
        subject, origin = audited.subject, audited.origin
        judged = self.judge(audited)
        survey = self._grounds.cluster
        assert survey is not None, "an audit has one"
        return WorkloadReport(
            api_version=audited.api_version,
            kind=subject.kind.kind,
            namespace=subject.namespace,
            name=subject.metadata.name or subject.metadata.generate_name,
            source=origin.source if origin else "",
            line=origin.line() if origin else 0,
            replicas=subject.replicas,
            pods=sum(group.number for group in subject.running),
            findings=judged.found,
            exempted=judged.exempted,
            spreads=measure_spreads(subject, survey, self._grounds.gates),
            defaults=self._defaults(subject),
        )

    def _advise(self, subject: Subject) -> Advice:
        return advise(
            subject,
            self._grounds,
            self._question.actions,
            not_exemptible=self._question.not_exemptible,
            rows=self._rows,
        )

    def _defaults(self, subject: Subject) -> DefaultsReport | None:
        policy, facts, namespace = self._question.policy, self._grounds.facts, subject.namespace
        if not policy.profiles:
            return None
        if subject.kind == POD:
            injection = inject(subject.pod, namespace, policy, facts)
        else:
            pod = first_pod(subject.kind, subject.metadata.name, subject.pod)
            injection = forecast_injection(pod, namespace, policy, facts)
        if not injection.entries:
            return None
        written = tuple(msgspec.json.decode(entry.written) for entry in injection.entries)
        return DefaultsReport(profile=injection.profile, constraints=written)


def _too_many(subject: Subject) -> list[rules.ApiViolation]:
    """What the hooks deny and the API server takes."""
    constraints = subject.pod.constraints
    if len(constraints) <= MAX_CONSTRAINTS:
        return []
    return [rules.too_many(constraints, constraints_field(subject.path))]

"""
Scan: every rule applied to every subject, as an ``AuditReport``.

``scan`` is the entry point; ``Scanner`` examines one subject. An object that the API server refuses
never runs, so the report has no further findings about it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import msgspec

from webhook.audit.findings import FindingBuilder, report_type_error
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
from webhook.audit.spreads import measure_spreads
from webhook.policy.advice.advise import advise
from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.findings import AdviceFinding
from webhook.policy.advice.rules import POLICY_RULES
from webhook.policy.advice.subject import Subject
from webhook.policy.api import predict, rules
from webhook.policy.catalogue import TYPE_INVALID
from webhook.policy.defaulting.forecast import first_pod, forecast_injection
from webhook.policy.defaulting.inject import inject
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.kinds import POD
from webhook.policy.model import MAX_CONSTRAINTS
from webhook.policy.paths import constraints_field


@dataclass(frozen=True)
class AuditOptions:
    """
    The options of an audit.

    Attributes:
        policy: Gates, profiles, and the actions of rules.
        rules: The rules to apply; empty for all.
        namespace: The only namespace to audit; empty for all.
    """

    policy: Policy
    rules: frozenset[str] = frozenset()
    namespace: str = ""

    def includes_rule(self, rule: str) -> bool:
        """Whether to apply a rule."""
        return not self.rules or rule in self.rules

    def includes_namespace(self, namespace: str) -> bool:
        """Whether to audit a namespace."""
        return self.namespace in ("", namespace)


def scan(
    inventory: Inventory,
    options: AuditOptions,
    progress: Callable[[Sequence[AuditSubject]], Iterable[AuditSubject]] = iter,
) -> AuditReport:
    """
    Apply every rule to every subject.

    Args:
        progress: Yields the subjects, and may show the progress.
    """
    context = AdviceContext(options.policy, inventory.cluster, inventory.state)
    scanner = Scanner(options, context)
    chosen = [
        item for item in inventory.audited if options.includes_namespace(item.subject.namespace)
    ]
    reports = [scanner.report_on(item) for item in progress(chosen)]
    if options.includes_rule(TYPE_INVALID):
        reports += [
            report_type_error(item)
            for item in inventory.unreadable
            if options.includes_namespace(item.namespace)
        ]
    reports.sort(key=lambda item: (item.namespace, item.kind, item.name, item.source, item.line))
    return AuditReport(
        kubernetes=str(options.policy.gates.version),
        summary=summarise(reports, nodes=len(inventory.cluster.node_store)),
        workloads=tuple(reports),
    )


def summarise(reports: Sequence[WorkloadReport], *, nodes: int, known: int = 0) -> AuditSummary:
    """Count workloads, pods and findings."""
    severities = [item.severity for report in reports for item in report.findings]
    constrained = [
        report for report in reports if any(row.max_skew is not None for row in report.spreads)
    ]
    uneven = sum(any(row.excess > 0 for row in report.spreads) for report in constrained)
    return AuditSummary(
        workloads=len(reports),
        pods=sum(report.pods for report in reports),
        nodes=nodes,
        deny=severities.count(AuditSeverity.DENY),
        warn=severities.count(AuditSeverity.WARN),
        audit=severities.count(AuditSeverity.AUDIT),
        exempted=sum(len(report.exempted) for report in reports),
        known=known,
        spread=len(constrained) - uneven,
        uneven=uneven,
    )


@dataclass(frozen=True)
class SubjectFindings:
    """The findings about a subject, most severe first, and those it is exempt from."""

    found: tuple[AuditFinding, ...]
    exempted: tuple[AuditFinding, ...]


class Scanner:
    """Applies the rules to one subject at a time."""

    def __init__(self, options: AuditOptions, context: AdviceContext) -> None:
        """Prepare the rules; the context has the state of the cluster."""
        self._options = options
        self._context = context
        self._rows = tuple(row for row in POLICY_RULES if options.includes_rule(row.id))

    def evaluate(self, audited: AuditSubject) -> SubjectFindings:
        """Apply every rule to one subject."""
        subject, builder = audited.subject, FindingBuilder(audited)
        answer = predict.predict_response(
            predict.Request(kind=subject.kind, path=subject.path, template=subject.pod),
            self._context.gates,
        )
        found = [
            builder.build(
                AuditSeverity.DENY,
                AdviceFinding(item.rule, item.error.field, item.error.message, instead=""),
            )
            for item in _find_too_many(subject) or answer.findings
        ]
        exempted: list[AuditFinding] = []
        if not found:
            advice = advise(subject, self._context, self._rows)
            found += builder.build_advice(advice)
            found += builder.build_warnings(answer.warned, found)
            exempted += (builder.build(AuditSeverity.AUDIT, *item) for item in advice.exempted)
        included = [item for item in found if self._options.includes_rule(item.rule)]
        return SubjectFindings(
            tuple(sorted(included, key=lambda item: SEVERITY_RANKS[item.severity])), tuple(exempted)
        )

    def report_on(self, audited: AuditSubject) -> WorkloadReport:
        """Build the report on one subject."""
        subject, origin = audited.subject, audited.origin
        result = self.evaluate(audited)
        state = self._context.cluster
        assert state is not None, "an audit always has one"
        return WorkloadReport(
            api_version=audited.api_version,
            kind=subject.kind.kind,
            namespace=subject.namespace,
            name=subject.metadata.name or subject.metadata.generate_name,
            source=origin.source if origin else "",
            line=origin.line() if origin else 0,
            replicas=subject.replicas,
            pods=sum(group.number for group in subject.running),
            findings=result.found,
            exempted=result.exempted,
            spreads=measure_spreads(subject, state, self._context.gates),
            defaults=self._defaults(subject),
        )

    def _defaults(self, subject: Subject) -> DefaultsReport | None:
        policy, facts, namespace = self._options.policy, self._context.facts, subject.namespace
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


def _find_too_many(subject: Subject) -> list[rules.ApiViolation]:
    """Find too many constraints, which our webhooks deny and the API server accepts."""
    constraints = subject.pod.constraints
    is_too_long = len(constraints) > MAX_CONSTRAINTS
    return [rules.too_many(constraints, constraints_field(subject.path))] if is_too_long else []

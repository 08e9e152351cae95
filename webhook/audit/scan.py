"""
Scan: every rule applied to every subject, as an ``AuditReport``.

``scan`` is the entry point; ``Scanner`` examines one subject. An object that the API server refuses
gets advice on its readable fields too, so that one audit finds everything.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import msgspec
from msgspec.structs import replace

from webhook.audit.defaultedpods import count_defaulted
from webhook.audit.exemptible import ExemptibleScopes
from webhook.audit.exemptionreport import ExceptionReport, report_exceptions
from webhook.audit.exemptions import ProjectExemptions
from webhook.audit.findings import FindingBuilder, report_type_errors
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
from webhook.cluster.policyexceptions import END_OF_TIME
from webhook.policy.advice.advise import advise
from webhook.policy.advice.broken import find_broken_fields, neutralize
from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.exemptions import parse_exemptions
from webhook.policy.advice.profilerules import apply_profile
from webhook.policy.advice.rules import POLICY_RULES
from webhook.policy.advice.subject import Subject
from webhook.policy.amendments import fill_in_fields, with_constraints
from webhook.policy.api import predict, rules
from webhook.policy.defaulting.forecast import first_pod, forecast_injection
from webhook.policy.defaulting.inject import inject
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.kinds import POD
from webhook.policy.model import MAX_CONSTRAINTS, LabelSelector
from webhook.policy.paths import constraints_field
from webhook.policy.selectors import SELECT_ALL, matches


@dataclass(frozen=True)
class AuditOptions:
    """
    The options of an audit.

    Attributes:
        policy: Gates, profiles, and the actions of rules.
        rules: The rules to apply; empty for all.
        namespace: The only namespace to audit; empty for all.
        excluded: The rules to leave out.
        exemptions: Exemptions of the project, which learn what they exempt.
        strict: Whether unknown and duplicate fields deny an object, as with kubectl, and so do
            constraints for which its pods are refused.
        labels: Selects the objects to audit by their own labels.
        now: The time of the audit, by which exceptions expire; aware.
    """

    policy: Policy
    rules: frozenset[str] = frozenset()
    namespace: str = ""
    excluded: frozenset[str] = frozenset()
    exemptions: ProjectExemptions = field(default_factory=ProjectExemptions)
    strict: bool = False
    labels: LabelSelector = SELECT_ALL
    now: datetime = END_OF_TIME

    @property
    def strict_severity(self) -> AuditSeverity:
        """The severity of unknown and duplicate fields, and of pods that are refused."""
        return AuditSeverity.DENY if self.strict else AuditSeverity.WARN

    def includes_rule(self, rule: str) -> bool:
        """Whether to apply a rule."""
        return (not self.rules or rule in self.rules) and rule not in self.excluded

    def includes_namespace(self, namespace: str) -> bool:
        """Whether to audit a namespace."""
        return self.namespace in ("", namespace)

    def includes_subject(self, subject: Subject) -> bool:
        """Whether to audit a subject."""
        return self.includes_object(subject.namespace, subject.metadata.labels)

    def includes_object(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Whether to audit an object of a namespace with these labels of its own."""
        return self.includes_namespace(namespace) and matches(self.labels, labels)


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
    inventory.set_time(options.now)
    context = AdviceContext(options.policy, inventory.cluster, inventory.state)
    scanner = Scanner(options, context)
    chosen = [item for item in inventory.audited if options.includes_subject(item.subject)]
    reports = [scanner.report_on(item) for item in progress(chosen)]
    unreadable = (
        report_type_errors(item, options.strict_severity, options.includes_rule)
        for item in inventory.unreadable
        if options.includes_object(item.namespace, item.labels)
    )
    reports += (report for report in unreadable if report.findings)
    reports.sort(key=lambda item: (item.namespace, item.kind, item.name, item.source, item.line))
    return AuditReport(
        kubernetes=str(options.policy.gates.version),
        summary=summarise(reports, nodes=len(inventory.cluster.node_store)),
        workloads=tuple(reports),
        exceptions=_report_exceptions(inventory, context, options, reports),
    )


def _report_exceptions(
    inventory: Inventory,
    context: AdviceContext,
    options: AuditOptions,
    reports: Sequence[WorkloadReport],
) -> tuple[ExceptionReport, ...]:
    """Report the exceptions of the audited namespaces."""
    exempted = Counter(
        (report.namespace, finding.exception)
        for report in reports
        for finding in report.exempted
        if finding.exception
    )
    audited = [one for one in inventory.exceptions if options.includes_namespace(one.namespace)]
    scopes = ExemptibleScopes((item.subject for item in inventory.audited), context, audited)
    return report_exceptions(audited, exempted, options.now, scopes.can_exempt)


def summarise(reports: Sequence[WorkloadReport], *, nodes: int, known: int = 0) -> AuditSummary:
    """Count workloads, pods and findings."""
    severities = [item.severity for report in reports for item in report.findings]
    constrained = [
        report for report in reports if any(row.max_skew is not None for row in report.spreads)
    ]
    uneven = sum(any(row.excess > 0 for row in report.spreads) for report in constrained)
    even = sum(all(row.is_even for row in report.spreads) for report in constrained)
    return AuditSummary(
        workloads=len(reports),
        pods=sum(report.pods for report in reports),
        nodes=nodes,
        deny=severities.count(AuditSeverity.DENY),
        warn=severities.count(AuditSeverity.WARN),
        audit=severities.count(AuditSeverity.AUDIT),
        exempted=sum(len(report.exempted) for report in reports),
        known=known,
        spread=even,
        uneven=uneven,
        uncounted=len(constrained) - even - uneven,
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
        self._profiles = {profile.name for profile in options.policy.profiles}

    def fill_in(self, audited: AuditSubject) -> AuditSubject:
        """Fill in the omitted fields that the server fills in before it judges an object."""
        pod = audited.subject.pod
        filled = fill_in_fields(pod.constraints, self._options.policy.field_defaults)
        if filled is pod.constraints:
            return audited
        subject = replace(audited.subject, pod=with_constraints(pod, filled))
        return audited._replace(subject=subject)

    def evaluate(self, audited: AuditSubject) -> SubjectFindings:
        """Apply every rule to one subject that ``fill_in`` returned; none if it is not judged."""
        if not audited.is_judged:
            return SubjectFindings((), ())
        subject, builder = audited.subject, FindingBuilder(audited)
        request = predict.Request(
            kind=subject.kind,
            path=subject.path,
            template=subject.pod,
            stored=subject.stored,
            unjudged=subject.unjudged,
        )
        answer = predict.predict_response(request, self._context.gates)
        too_many = _find_too_many(subject)
        violations = too_many or answer.violations
        found = builder.build_violations(too_many or answer.findings, AuditSeverity.DENY)
        found += builder.build_violations(answer.refused, self._options.strict_severity)
        strict, exempted = self._build_strict(audited, builder)
        found += strict
        if len(subject.pod.constraints) <= MAX_CONSTRAINTS:
            broken = find_broken_fields(violations, audited.strict, subject)
            judged = neutralize(subject) if violations else subject
            advice = advise(judged, self._context, self._rows, broken.justify)
            found += builder.build_advice(advice)
            version = self._context.gates.version
            warnings = predict.find_warnings(request, answer.stored, subject.list_path, version)
            sound = (item for item in warnings if not broken.mislead(item.rule, item.entry))
            found += builder.build_warnings(sound, found)
            exempted += (builder.build(AuditSeverity.AUDIT, *item) for item in advice.exempted)
        return self._select(found, exempted, subject)

    def _build_strict(
        self, audited: AuditSubject, builder: FindingBuilder
    ) -> tuple[list[AuditFinding], list[AuditFinding]]:
        """Build the findings of unknown and duplicate fields, and those that are exempted."""
        if not audited.strict:
            return [], []
        annotations = audited.subject.metadata.annotations
        reasons = parse_exemptions(annotations, self._options.policy.not_exemptible).reasons
        reported = [item for item in audited.strict if not item.is_elsewhere]
        found = (item for item in reported if item.rule not in reasons)
        exempted = (item for item in reported if item.rule in reasons)
        return (
            list(builder.build_strict(found, self._options.strict_severity)),
            list(builder.build_exempted_strict(exempted, reasons)),
        )

    def _select(
        self, found: Iterable[AuditFinding], exempted: Sequence[AuditFinding], subject: Subject
    ) -> SubjectFindings:
        """Select the findings of the rules to apply, and split off those that are exempted."""
        included = (item for item in found if self._options.includes_rule(item.rule))
        forbidden = apply_profile(self._context, subject).policy.not_exemptible
        kept, others = self._options.exemptions.split(included, subject, forbidden)
        return SubjectFindings(
            tuple(sorted(kept, key=lambda item: SEVERITY_RANKS[item.severity])),
            (*exempted, *others),
        )

    def report_on(self, audited: AuditSubject) -> WorkloadReport:
        """Build the report on one subject."""
        audited = self.fill_in(audited)
        subject, origin = audited.listed, audited.origin
        result = self.evaluate(audited)
        state = self._context.cluster
        assert state is not None, "an audit always has one"
        defaults = self._defaults(subject)
        keys = [item["topologyKey"] for item in defaults.constraints] if defaults else []
        spreads = measure_spreads(subject, state, self._context.gates, keys)
        uneven_keys = {row.topology_key for row in spreads if row.excess > 0}
        return WorkloadReport(
            api_version=audited.api_version,
            kind=subject.kind.kind,
            namespace=subject.namespace,
            name=subject.metadata.name or subject.metadata.generate_name,
            part=subject.part,
            source=origin.source if origin else "",
            line=origin.line() if origin else 0,
            replicas=subject.replicas,
            pods=sum(group.number for group in subject.running),
            findings=result.found,
            exempted=result.exempted,
            spreads=spreads,
            defaults=defaults,
            defaulted=count_defaulted(subject.running, self._profiles, uneven_keys),
        )

    def _defaults(self, subject: Subject) -> DefaultsReport | None:
        policy, facts, namespace = self._options.policy, self._context.facts, subject.namespace
        if not policy.profiles or subject.is_bare:
            return None
        if subject.kind == POD:
            injection = inject(subject.pod, namespace, policy, facts)
        else:
            pod = first_pod(subject.kind, subject.metadata.name, subject.pod)
            injection = forecast_injection(pod, namespace, policy, facts)
        if injection.recommended or not injection.entries:
            return None
        written = tuple(msgspec.json.decode(entry.written) for entry in injection.entries)
        return DefaultsReport(profile=injection.profile, constraints=written)


def _find_too_many(subject: Subject) -> list[rules.ApiViolation]:
    """Find too many constraints, which our webhooks deny and the API server accepts."""
    constraints = subject.pod.constraints
    is_too_long = len(constraints) > MAX_CONSTRAINTS
    return [rules.too_many(constraints, constraints_field(subject.path))] if is_too_long else []

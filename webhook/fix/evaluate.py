"""Findings of a set of objects, and of the same objects after a change."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Self

from msgspec.structs import replace

from webhook.audit.collect import ManifestCollector
from webhook.audit.exemptions import ProjectExemptions
from webhook.audit.findings import report_type_errors
from webhook.audit.inventory import AuditSubject, Inventory
from webhook.audit.merge import merge_snapshots
from webhook.audit.report import SEVERITY_RANKS, AuditFinding, AuditSeverity, WorkloadReport
from webhook.audit.scan import AuditOptions, Scanner
from webhook.audit.snapshot import Snapshot
from webhook.config.configuration import Configuration
from webhook.errors import SourceError
from webhook.fix.changes import Change, FixObstacle, apply_changes
from webhook.manifests import Document
from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.subject import Subject
from webhook.policy.api.rules import API_RULES
from webhook.policy.api.schema import UNKNOWN_FIELD
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.kinds import DEFAULT_NAMESPACE
from webhook.policy.model import LabelSelector
from webhook.policy.selectors import SELECT_ALL, matches

NOT_FIXED = FixObstacle("no change that could be written would fix it")

PENDING_RULES = frozenset({"TSC103", "TSC104", "TSC106", "TSC109"})
"""Advice about pods that stay Pending: no change may cause a finding of these rules."""


@dataclass(frozen=True)
class FixOptions:
    """
    The rules to evaluate by, and those whose findings to fix.

    Attributes:
        configuration: Kinds, actions and exemptions.
        policy: Gates and profiles.
        rules: Ids of the rules whose findings are fixed; empty for all.
        requested: Those of which fixes that weaken or tighten a constraint are made, too.
        level: The lowest severity whose findings are fixed; named rules are fixed at any.
        excluded: Ids of the rules whose findings are neither fixed nor reported.
        exemptions: Exemptions of the project, whose findings are neither fixed nor reported.
        namespace: Namespace of objects that name none.
        strict: Whether unknown and duplicate fields deny an object.
        labels: Selects the objects to fix by their own labels.
        only: The only namespace whose objects are fixed; empty for all.
    """

    configuration: Configuration
    policy: Policy
    rules: frozenset[str] = frozenset()
    requested: frozenset[str] = frozenset()
    level: AuditSeverity = AuditSeverity.AUDIT
    excluded: frozenset[str] = frozenset()
    exemptions: ProjectExemptions = field(default_factory=ProjectExemptions)
    namespace: str = DEFAULT_NAMESPACE
    strict: bool = False
    labels: LabelSelector = SELECT_ALL
    only: str = ""

    @property
    def audit(self) -> AuditOptions:
        """The options of the audits that find what to fix."""
        return AuditOptions(self.policy, exemptions=self.exemptions, strict=self.strict)

    def includes(self, audited: AuditSubject) -> bool:
        """Whether findings about an object are fixed and reported."""
        subject = audited.subject
        return self.only in ("", subject.namespace) and matches(
            self.labels, subject.metadata.labels
        )

    def selects(self, finding: AuditFinding) -> bool:
        """Whether a finding is reported, as fixed or as left."""
        named = not self.rules or finding.rule in self.rules
        return named and finding.rule not in self.excluded

    def fixes(self, finding: AuditFinding) -> bool:
        """Whether a reported finding is to be fixed."""
        return bool(self.rules) or SEVERITY_RANKS[finding.severity] <= SEVERITY_RANKS[self.level]


@dataclass(frozen=True)
class EvaluatedObject:
    """An object of a file, and its findings."""

    document: Document
    audited: AuditSubject
    findings: tuple[AuditFinding, ...]


class Evaluation:
    """
    Objects that are evaluated together, as one cluster.

    Attributes:
        problems: Errors of cluster objects that cannot be read.
        type_errors: Reports on objects with values of wrong types; no rule can evaluate them.
        grounds: The policy and the cluster.
    """

    def __init__(
        self,
        inventory: Inventory,
        options: FixOptions,
        problems: Sequence[SourceError] = (),
        type_errors: Sequence[WorkloadReport] = (),
    ) -> None:
        """Evaluate what an inventory contains."""
        self._make_collector = partial(ManifestCollector, options.configuration, options.namespace)
        self.problems, self.type_errors = problems, type_errors
        self._inventory = inventory
        self.grounds = AdviceContext(options.policy, inventory.cluster, inventory.state)
        self._scanner = Scanner(options.audit, self.grounds)

    @classmethod
    def of_documents(
        cls, objects: Iterable[Document], context: Snapshot, options: FixOptions
    ) -> Self:
        """Collect the objects of files; ``context`` is the cluster around them."""
        collector = ManifestCollector(options.configuration, options.namespace)
        for document in objects:
            collector.add(document)
        whole = merge_snapshots([collector.snapshot, context])
        inventory = Inventory(whole, options.configuration.owner_selectors)
        audit = options.audit
        type_errors = tuple(
            report_type_errors(item, audit.strict_severity, audit.includes_rule)
            for item in collector.snapshot.unreadable
        )
        return cls(inventory, options, collector.problems, type_errors)

    def evaluate_objects(
        self, selects: Callable[[AuditSubject], bool] | None = None
    ) -> Iterator[EvaluatedObject]:
        """
        Evaluate the objects that have a pod template.

        Args:
            selects: Whether to evaluate a subject; None selects all.
        """
        for audited in self._inventory.audited:
            document = audited.origin.document if audited.origin else None
            if document is None or not audited.is_judged:
                continue  # a controller that only its pods name, or that refers to a template
            if selects is None or selects(audited):
                yield EvaluatedObject(document, audited, self._scanner.evaluate(audited).found)

    def find_obstacle(
        self, evaluated: EvaluatedObject, finding: AuditFinding, changes: Iterable[Change]
    ) -> FixObstacle | None:
        """
        Evaluate an object with the changes that should fix a finding.

        Returns:
            Why they must not be made; None if the finding disappears and no worse one appears.
        """
        try:
            value = apply_changes(changes, evaluated.document.value)
        except LookupError:
            return FixObstacle("the field that would contain the change is not written")
        collector = self._make_collector()
        collector.add(replace(evaluated.document, value=value))
        before = evaluated.audited.subject
        workloads = collector.snapshot.workloads
        changed = next((one for one in workloads if one.subject.path == before.path), None)
        if changed is None:
            return FixObstacle("the object could not be read any more")
        subject = _complete_subject(changed.subject, before)
        audited = evaluated.audited._replace(subject=subject, strict=changed.strict)
        after = self._scanner.evaluate(audited).found
        return _compare_findings(finding, evaluated.findings, after)


def _complete_subject(changed: Subject, before: Subject) -> Subject:
    """Add to a changed object what is known from other objects: pods, autoscalers, creators."""
    subject = replace(changed, running=before.running, scaling=before.scaling)
    if before.creator is None:
        return subject
    return replace(
        subject,
        creator=before.creator,
        is_shared=before.is_shared,
        replicas=before.replicas,
        given_labels=before.given_labels,
    )


def _compare_findings(
    finding: AuditFinding, before: Sequence[AuditFinding], after: Sequence[AuditFinding]
) -> FixObstacle | None:
    if finding.rule == UNKNOWN_FIELD:
        # Other findings about the value were hidden before, and are not caused by the change.
        is_left = any((one.rule, one.field) == (finding.rule, finding.field) for one in after)
        return NOT_FIXED if is_left else None
    had = Counter(found.rule for found in before)
    has = Counter(found.rule for found in after)
    if has[finding.rule] >= had[finding.rule]:
        return NOT_FIXED
    # Advice is not evaluated while API rules are broken: findings that appear then are not caused.
    is_refused = bool(API_RULES.keys() & had.keys())
    forbidden = API_RULES.keys() if is_refused else API_RULES.keys() | PENDING_RULES
    for found in after:
        if found.rule in forbidden and has[found.rule] > had[found.rule]:
            return FixObstacle(f"the proposed value would cause {found.rule}: {found.problem}")
    return None

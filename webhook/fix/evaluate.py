"""Findings of a set of objects, and of the same objects after a change."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
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
from webhook.audit.snapshot import Snapshot, UnreadableObject
from webhook.cluster.policyexceptions import END_OF_TIME
from webhook.config.configuration import Configuration
from webhook.errors import SourceError
from webhook.fix.changes import Change, FixObstacle, apply_changes
from webhook.fix.harm import find_lost_place, find_worse, lowers_min_domains, makes_keys_known
from webhook.fix.report import name_of
from webhook.manifests import Document
from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.subject import Subject
from webhook.policy.api.rules import API_RULES
from webhook.policy.api.schema import DUPLICATE_FIELD, UNKNOWN_FIELD, StrictFinding
from webhook.policy.corrections import suggest_type
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.kinds import DEFAULT_NAMESPACE
from webhook.policy.model import LabelSelector
from webhook.policy.paths import FieldPath
from webhook.policy.selectors import SELECT_ALL

NOT_FIXED = FixObstacle("no change that could be written would fix it")


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
        now: The time by which exceptions expire; aware.
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
    now: datetime = END_OF_TIME

    @property
    def audit(self) -> AuditOptions:
        """The options of the audits that find what to fix."""
        return AuditOptions(
            self.policy,
            namespace=self.only,
            exemptions=self.exemptions,
            strict=self.strict,
            labels=self.labels,
            now=self.now,
        )

    def includes(self, audited: AuditSubject) -> bool:
        """Whether findings about an object are fixed and reported."""
        return self.audit.includes_subject(audited.subject)

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

    @property
    def name(self) -> str:
        """Kind, namespace and name."""
        return name_of(self.audited)

    @property
    def is_refused(self) -> bool:
        """Whether it breaks an API rule."""
        return any(found.rule in API_RULES for found in self.findings)


@dataclass(frozen=True)
class UndecodedObject:
    """An object of a file with values of wrong types, which no rule can evaluate."""

    document: Document
    report: WorkloadReport
    strict: tuple[StrictFinding, ...] = ()

    @property
    def name(self) -> str:
        """Kind, namespace and name."""
        return f"{self.report.kind} {self.report.namespace}/{self.report.name}"

    @property
    def findings(self) -> tuple[AuditFinding, ...]:
        """The values of wrong types, and the unknown and duplicate fields."""
        return self.report.findings

    def is_duplicate(self, path: FieldPath) -> bool:
        """Whether a field is written several times, so that the intended value is not known."""
        return any(one.rule == DUPLICATE_FIELD and one.path == path for one in self.strict)


class Evaluation:
    """
    Objects that are evaluated together, as one cluster.

    Attributes:
        problems: Errors of cluster objects that cannot be read.
        undecoded: Objects with values of wrong types.
        grounds: The policy and the cluster.
    """

    def __init__(
        self,
        inventory: Inventory,
        options: FixOptions,
        problems: Sequence[SourceError] = (),
        undecoded: Sequence[UndecodedObject] = (),
    ) -> None:
        """Evaluate what an inventory contains."""
        self._make_collector = partial(ManifestCollector, options.configuration, options.namespace)
        self._options = options
        self.problems, self.undecoded = problems, undecoded
        self._inventory = inventory
        self.grounds = AdviceContext(options.policy, inventory.cluster, inventory.state)
        self._scanner = Scanner(options.audit, self.grounds)

    @classmethod
    def of_documents(
        cls, objects: Iterable[Document], context: Snapshot, options: FixOptions
    ) -> Self:
        """Collect the objects of files; ``context`` is the cluster around them."""
        collector = ManifestCollector(options.configuration, options.namespace)
        unreadable: list[tuple[Document, UnreadableObject]] = []
        for document in objects:
            collector.add(document)
            if len(collector.snapshot.unreadable) > len(unreadable):
                unreadable.append((document, collector.snapshot.unreadable[-1]))
        whole = merge_snapshots([collector.snapshot, context])
        inventory = Inventory(whole, options.configuration.owner_selectors)
        inventory.set_time(options.now)
        audit = options.audit
        undecoded = tuple(
            UndecodedObject(
                document,
                report_type_errors(item, audit.strict_severity, audit.includes_rule),
                item.strict,
            )
            for document, item in unreadable
            if audit.includes_object(item.namespace, item.labels)
        )
        return cls(inventory, options, collector.problems, undecoded)

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
                continue  # only its pods name it, it refers to a template, or it is a finished Job
            if selects is None or selects(audited):
                yield self._evaluate(document, audited)

    def _evaluate(self, document: Document, audited: AuditSubject) -> EvaluatedObject:
        filled = self._scanner.fill_in(audited)
        return EvaluatedObject(document, filled, self._scanner.evaluate(filled).found)

    def find_obstacle(
        self, evaluated: EvaluatedObject, finding: AuditFinding, changes: Iterable[Change]
    ) -> FixObstacle | None:
        """
        Evaluate an object with the changes that should fix a finding.

        Returns:
            Why they must not be made; None if the finding disappears and no worse one appears.
        """
        after = self._evaluate_changed(evaluated, changes)
        if isinstance(after, FixObstacle):
            return after
        if _is_left(finding, evaluated.findings, after.findings):
            return NOT_FIXED
        if finding.rule == UNKNOWN_FIELD:
            # Other findings about the value were hidden before, and are not caused by the change.
            return self._find_lost_place(evaluated, after)
        return self._find_harm(evaluated, after)

    def has_type_after(self, undecoded: UndecodedObject, field: str, change: Change) -> bool:
        """Whether the value of a field has the right type after a change."""
        value = apply_changes([change], undecoded.document.value)
        document = replace(undecoded.document, value=value)
        collector = self._make_collector()
        collector.add(document)
        left = (part for one in collector.snapshot.unreadable for part in (one, *one.more))
        return all(one.field != field for one in left)

    def fit_together(self, evaluated: EvaluatedObject, changes: Iterable[Change]) -> bool:
        """Whether changes, of which each has no obstacle, have none when they are made together."""
        after = self._evaluate_changed(evaluated, changes)
        return not isinstance(after, FixObstacle) and self._find_harm(evaluated, after) is None

    def becomes_worse(self, before: EvaluatedObject, after: EvaluatedObject) -> bool:
        """Whether an object that its API accepts is refused after changes, or replicas wait."""
        if before.is_refused:
            return False
        gains_unknown_key = makes_keys_known(
            after.audited.subject, before.audited.subject, self.grounds
        )
        is_worse = after.is_refused or gains_unknown_key
        return is_worse or self._find_lost_place(before, after) is not None

    def _evaluate_changed(
        self, evaluated: EvaluatedObject, changes: Iterable[Change]
    ) -> EvaluatedObject | FixObstacle:
        try:
            value = apply_changes(changes, evaluated.document.value)
        except LookupError:
            return FixObstacle("the field that would contain the change is not written")
        document = replace(evaluated.document, value=value)
        collector = self._make_collector()
        collector.add(document)
        before = evaluated.audited.subject
        workloads = collector.snapshot.workloads
        changed = next((one for one in workloads if one.subject.path == before.path), None)
        if changed is None:
            return _describe_unreadable(collector.snapshot.unreadable)
        subject = _complete_subject(changed.subject, before)
        audited = evaluated.audited._replace(subject=subject, strict=changed.strict)
        return self._evaluate(document, audited)

    def _find_harm(self, before: EvaluatedObject, after: EvaluatedObject) -> FixObstacle | None:
        had_place = not makes_keys_known(
            before.audited.subject, after.audited.subject, self.grounds
        )
        worse = find_worse(before.findings, after.findings, self._is_fixed, had_place=had_place)
        return worse or self._find_lost_place(before, after)

    def _is_fixed(self, finding: AuditFinding) -> bool:
        """Whether the same run fixes a finding."""
        has_fix = not finding.instead.startswith("#")
        if lowers_min_domains(finding):
            has_fix = has_fix and finding.rule in self._options.requested
        return has_fix and self._options.selects(finding) and self._options.fixes(finding)

    def _find_lost_place(
        self, before: EvaluatedObject, after: EvaluatedObject
    ) -> FixObstacle | None:
        changed = before.audited.subject, after.audited.subject
        # Constraints that the API refuses place no pod, so that no place can be lost.
        if before.is_refused or makes_keys_known(*changed, self.grounds):
            return None
        return find_lost_place(*changed, self.grounds)


def _describe_unreadable(objects: Sequence[UnreadableObject]) -> FixObstacle:
    """Say which value of a changed object would be refused for its type."""
    for found in objects:
        refused = f"{found.field} would be refused: {found.problem}"
        correction = suggest_type(found.problem, found.field)
        return FixObstacle(f"written there, {refused}: first {correction}")
    return FixObstacle("the object would have no pod template any more")


def _complete_subject(changed: Subject, before: Subject) -> Subject:
    """Add to a changed object what is known from others, such as pods and autoscalers."""
    subject = replace(
        changed,
        running=before.running,
        scaling=before.scaling,
        group=before.group,
        runtime_class=before.runtime_class,
    )
    if before.creator is None:
        return subject
    return replace(
        subject,
        creator=before.creator,
        is_shared=before.is_shared,
        replicas=before.replicas,
        given_labels=before.given_labels,
        recreates=before.recreates,
        limits=before.limits,
    )


def _is_left(
    finding: AuditFinding, before: Sequence[AuditFinding], after: Sequence[AuditFinding]
) -> bool:
    """Whether a finding is there after a change, too."""
    had, has = (sum(_is_same(finding, one) for one in found) for found in (before, after))
    return has >= had


def _is_same(finding: AuditFinding, other: AuditFinding) -> bool:
    """Whether a finding is about the same error as another one before or after a change."""
    if finding.rule == UNKNOWN_FIELD:
        return (finding.rule, finding.field) == (other.rule, other.field)
    if finding.rule == "TSC103":  # some nodes may lack a corrected key, too: another error
        return (finding.rule, finding.problem) == (other.rule, other.problem)
    return finding.rule == other.rule

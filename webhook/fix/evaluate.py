"""What the rules say of objects that were read, and what they would say if these were changed."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from webhook.audit.collect import ManifestCollector
from webhook.audit.findings import report_type_error
from webhook.audit.inventory import AuditSubject, Inventory
from webhook.audit.report import AuditFinding, WorkloadReport
from webhook.audit.scan import AuditOptions, Scanner
from webhook.config import Configuration
from webhook.errors import SourceError
from webhook.fix.changes import Change, FixObstacle, apply_changes
from webhook.manifests import Document
from webhook.policy.advice.context import AdviceContext
from webhook.policy.api.rules import API_RULES
from webhook.policy.defaulting.profiles import Policy

PENDING_RULES = frozenset({"TSC103", "TSC104", "TSC106", "TSC109"})
"""Advice that tells of pods which stay Pending: no change may lead to it."""


class FixOptions(NamedTuple):
    """
    What is judged by, and what is mended.

    Attributes:
        configuration: Kinds, actions and exemptions.
        policy: Gates and profiles.
        rules: Those whose findings are mended; empty for all.
    """

    configuration: Configuration
    policy: Policy
    rules: frozenset[str] = frozenset()

    def asks(self, rule: str) -> bool:
        """Whether findings of a rule are mended, or told."""
        return not self.rules or rule in self.rules


class EvaluatedObject(NamedTuple):
    """An object of a file, and what is wrong with it."""

    document: Document
    audited: AuditSubject
    findings: tuple[AuditFinding, ...]


class Evaluation:
    """
    A number of objects, judged together.

    Attributes:
        problems: Objects of the cluster that cannot be read.
    """

    def __init__(
        self, objects: Iterable[Document], around: Iterable[Document], law: FixOptions
    ) -> None:
        """
        Take the objects, and the cluster that they are in.

        Args:
            objects: Those to judge.
            around: Objects that are facts only.
            law: What to judge by.
        """
        self._law = law
        gathering = self._gathering()
        for document in around:
            gathering.add(document, requested=False)
        for document in objects:
            gathering.add(document)
        self._snapshot = gathering.snapshot
        self.problems: Sequence[SourceError] = gathering.problems
        configuration = law.configuration
        self._inventory = Inventory(gathering.snapshot, configuration.owner_selectors)
        self.grounds = AdviceContext(law.policy, self._inventory.cluster, self._inventory.state)
        question = AuditOptions(law.policy, configuration.actions, configuration.not_exemptible)
        self._scanner = Scanner(question, self.grounds)

    def _gathering(self) -> ManifestCollector:
        configuration = self._law.configuration
        return ManifestCollector(configuration.pod_templates, configuration.owner_selectors)

    def judged(self) -> Iterator[EvaluatedObject]:
        """Judge every object of a file that has a pod template."""
        for each in self._inventory.audited:
            document = each.origin.document if each.origin else None
            if document is not None:
                yield EvaluatedObject(document, each, self._scanner.evaluate(each).found)

    def mistyped(self) -> Iterator[WorkloadReport]:
        """Report the objects that have values of wrong types."""
        return map(report_type_error, self._snapshot.unreadable)

    def objection(
        self, judged: EvaluatedObject, finding: AuditFinding, changes: Iterable[Change]
    ) -> FixObstacle | None:
        """
        Say why a change would not do.

        Args:
            judged: The object.
            finding: What is to be mended.
            changes: With paths from the object.

        Returns:
            None if the finding goes, and no graver one comes.
        """
        value = apply_changes(changes, judged.document.value)
        gathering = self._gathering()
        gathering.add(replace(judged.document, value=value))
        if not gathering.snapshot.workloads:
            return FixObstacle("the object could not be read any more")
        running = judged.audited.subject.running
        subject = replace(gathering.snapshot.workloads[0].subject, running=running)
        after = self._scanner.evaluate(judged.audited._replace(subject=subject)).found
        return _objection(finding, judged.findings, after)


def _objection(
    finding: AuditFinding, before: Sequence[AuditFinding], after: Sequence[AuditFinding]
) -> FixObstacle | None:
    had = Counter(each.rule for each in before)
    has = Counter(each.rule for each in after)
    if has[finding.rule] >= had[finding.rule]:
        return FixObstacle("what could be written would not fix it")
    dreaded = (
        API_RULES.keys() if API_RULES.keys() & had.keys() else API_RULES.keys() | PENDING_RULES
    )
    worse = (each for each in after if each.rule in dreaded and has[each.rule] > had[each.rule])
    found = next(worse, None)
    if found is None:
        return None
    return FixObstacle(f"what it says to write would lead to {found.rule}: {found.problem}")

"""What the rules say of objects that were read, and what they would say if these were changed."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from webhook.audit.collect import Gathering
from webhook.audit.inventory import Audited, Inventory
from webhook.audit.report import Finding, WorkloadReport
from webhook.audit.scan import Question, Scanner
from webhook.audit.wording import mistyped
from webhook.config import Configuration
from webhook.errors import SourceError
from webhook.fix.changes import Change, FixObstacle, apply_changes
from webhook.manifests import Document
from webhook.policy.advice.grounds import Grounds
from webhook.policy.api.rules import RULES
from webhook.policy.defaulting.profiles import Policy

API_RULES = frozenset(rule.id for rule in RULES)

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
    audited: Audited
    findings: tuple[Finding, ...]


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
            gathering.add(document, asked=False)
        for document in objects:
            gathering.add(document)
        self._snapshot = gathering.snapshot
        self.problems: Sequence[SourceError] = gathering.problems
        configuration = law.configuration
        self._inventory = Inventory(gathering.snapshot, configuration.owner_selectors)
        self.grounds = Grounds(law.policy, self._inventory.cluster, self._inventory.survey)
        question = Question(law.policy, configuration.actions, configuration.not_exemptible)
        self._scanner = Scanner(question, self.grounds)

    def _gathering(self) -> Gathering:
        configuration = self._law.configuration
        return Gathering(configuration.pod_templates, configuration.owner_selectors)

    def judged(self) -> Iterator[EvaluatedObject]:
        """Judge every object of a file that has a pod template."""
        for each in self._inventory.audited:
            document = each.origin.document if each.origin else None
            if document is not None:
                yield EvaluatedObject(document, each, self._scanner.judge(each).found)

    def mistyped(self) -> Iterator[WorkloadReport]:
        """Report the objects that have values of wrong types."""
        return map(mistyped, self._snapshot.unreadable)

    def objection(
        self, judged: EvaluatedObject, finding: Finding, changes: Iterable[Change]
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
        after = self._scanner.judge(judged.audited._replace(subject=subject)).found
        return _objection(finding, judged.findings, after)


def _objection(
    finding: Finding, before: Sequence[Finding], after: Sequence[Finding]
) -> FixObstacle | None:
    had = Counter(each.rule for each in before)
    has = Counter(each.rule for each in after)
    if has[finding.rule] >= had[finding.rule]:
        return FixObstacle("what could be written would not fix it")
    dreaded = API_RULES if API_RULES & had.keys() else API_RULES | PENDING_RULES
    worse = (each for each in after if each.rule in dreaded and has[each.rule] > had[each.rule])
    found = next(worse, None)
    if found is None:
        return None
    return FixObstacle(f"what it says to write would lead to {found.rule}: {found.problem}")

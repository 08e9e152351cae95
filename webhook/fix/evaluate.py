"""Findings of a set of objects, and of the same objects after a change."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from msgspec.structs import replace

from webhook.audit.collect import ManifestCollector
from webhook.audit.findings import report_type_error
from webhook.audit.inventory import AuditSubject, Inventory
from webhook.audit.report import AuditFinding
from webhook.audit.scan import AuditOptions, Scanner
from webhook.config import Configuration
from webhook.errors import SourceError
from webhook.fix.changes import Change, FixObstacle, apply_changes
from webhook.manifests import Document
from webhook.policy.advice.context import AdviceContext
from webhook.policy.api.rules import API_RULES
from webhook.policy.defaulting.profiles import Policy

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
    """

    configuration: Configuration
    policy: Policy
    rules: frozenset[str] = frozenset()

    def selects(self, finding: AuditFinding) -> bool:
        """Whether a finding is to be fixed and reported."""
        return not self.rules or finding.rule in self.rules


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
        self, objects: Iterable[Document], context: Iterable[Document], options: FixOptions
    ) -> None:
        """Collect the objects of files, and as context the other objects of their cluster."""
        configuration = options.configuration
        self._make_collector = partial(ManifestCollector, configuration)
        collector = self._make_collector()
        for document in context:
            collector.add(document, requested=False)
        for document in objects:
            collector.add(document)
        self.type_errors = tuple(map(report_type_error, collector.snapshot.unreadable))
        self.problems: Sequence[SourceError] = collector.problems
        self._inventory = Inventory(collector.snapshot, configuration.owner_selectors)
        self.grounds = AdviceContext(options.policy, self._inventory.cluster, self._inventory.state)
        self._scanner = Scanner(AuditOptions(options.policy), self.grounds)

    def evaluate_objects(self) -> Iterator[EvaluatedObject]:
        """Evaluate the objects that have a pod template."""
        for audited in self._inventory.audited:
            document = audited.origin.document if audited.origin else None
            if document is not None:  # else it is a controller that only its pods name
                yield EvaluatedObject(document, audited, self._scanner.evaluate(audited).found)

    def find_obstacle(
        self, evaluated: EvaluatedObject, finding: AuditFinding, changes: Iterable[Change]
    ) -> FixObstacle | None:
        """
        Evaluate an object with the changes that should fix a finding.

        Returns:
            Why they must not be made; None if the finding disappears and no worse one appears.
        """
        value = apply_changes(changes, evaluated.document.value)
        collector = self._make_collector()
        collector.add(replace(evaluated.document, value=value))
        if not collector.snapshot.workloads:
            return FixObstacle("the object could not be read any more")
        running = evaluated.audited.subject.running
        subject = replace(collector.snapshot.workloads[0].subject, running=running)
        after = self._scanner.evaluate(evaluated.audited._replace(subject=subject)).found
        return _compare_findings(finding, evaluated.findings, after)


def _compare_findings(
    finding: AuditFinding, before: Sequence[AuditFinding], after: Sequence[AuditFinding]
) -> FixObstacle | None:
    had = Counter(found.rule for found in before)
    has = Counter(found.rule for found in after)
    if has[finding.rule] >= had[finding.rule]:
        return FixObstacle("no change that could be written would fix it")
    # Advice is not evaluated while API rules are broken: findings that appear then are not caused.
    is_refused = bool(API_RULES.keys() & had.keys())
    forbidden = API_RULES.keys() if is_refused else API_RULES.keys() | PENDING_RULES
    for found in after:
        if found.rule in forbidden and has[found.rule] > had[found.rule]:
            return FixObstacle(f"the proposed value would cause {found.rule}: {found.problem}")
    return None

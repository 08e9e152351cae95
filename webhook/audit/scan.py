"""
The audit itself: every rule asked about every subject, and the answers made into a report.

An object that the API refuses can never run, so nothing else is said of it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import msgspec

from webhook.audit.inventory import Audited, Inventory
from webhook.audit.report import RANKS, Defaults, Finding, Report, Summary, Weight, WorkloadReport
from webhook.audit.rulebook import TYPE_INVALID
from webhook.audit.snapshot import Unreadable
from webhook.audit.spreading import spreads_of
from webhook.audit.wording import Said, Words, mistyped
from webhook.policy.advice.advise import Advice, advise
from webhook.policy.advice.grounds import Grounds
from webhook.policy.advice.rows import ROWS
from webhook.policy.advice.subject import Subject
from webhook.policy.api import apiserver, rules
from webhook.policy.catalogue import DEFAULT_ACTIONS, Action
from webhook.policy.defaulting.forecast import first_pod, foresee
from webhook.policy.defaulting.inject import inject
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.workloads import POD

T = TypeVar("T")


class Question(NamedTuple):
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
    unreadable: Sequence[Unreadable],
    question: Question,
    progress: Callable[[Sequence[Audited]], Iterable[Audited]] = _no_progress,
) -> Report:
    """
    Ask every rule about every subject.

    Args:
        inventory: The subjects, and their cluster.
        unreadable: Objects that no API server would take.
        question: What to ask.
        progress: Gives the subjects one after the other, and may show how far that is.
    """
    grounds = Grounds(question.policy, inventory.cluster, inventory.survey)
    scanner = Scanner(question, grounds)
    chosen = [each for each in inventory.audited if question.covers(each.subject.namespace)]
    reports = [scanner.report_on(each) for each in progress(chosen)]
    if question.asks(TYPE_INVALID):
        reports += [mistyped(each) for each in unreadable if question.covers(each.namespace)]
    reports.sort(key=lambda each: (each.namespace, each.kind, each.name, each.source, each.line))
    return Report(
        kubernetes=str(question.policy.gates.version),
        summary=summarise(reports, nodes=len(inventory.cluster.node_store)),
        workloads=tuple(reports),
    )


def summarise(reports: Sequence[WorkloadReport], *, nodes: int, known: int = 0) -> Summary:
    """Count everything."""
    weights = [finding.weight for each in reports for finding in each.findings]
    asked = [each for each in reports if any(row.max_skew is not None for row in each.spreads)]
    uneven = sum(any(row.excess > 0 for row in each.spreads) for each in asked)
    return Summary(
        workloads=len(reports),
        pods=sum(each.pods for each in reports),
        nodes=nodes,
        deny=weights.count(Weight.DENY),
        warn=weights.count(Weight.WARN),
        audit=weights.count(Weight.AUDIT),
        exempted=sum(len(each.exempted) for each in reports),
        known=known,
        spread=len(asked) - uneven,
        uneven=uneven,
    )


class Judged(NamedTuple):
    """What is wrong with a subject, the hardest first, and what it is exempted from."""

    found: tuple[Finding, ...]
    exempted: tuple[Finding, ...]


class Scanner:
    """Asks about one subject after the other."""

    def __init__(self, question: Question, grounds: Grounds) -> None:
        """
        Ask nothing yet.

        Args:
            question: What to ask.
            grounds: With a survey, as an audit has one.
        """
        self._question = question
        self._grounds = grounds
        self._rows = tuple(row for row in ROWS if question.asks(row.id))

    def judge(self, audited: Audited) -> Judged:
        """Ask every rule about one subject."""
        subject, words = audited.subject, Words(audited)
        answer = apiserver.answer(
            apiserver.Request(kind=subject.kind, path=subject.path, template=subject.pod),
            self._grounds.gates,
        )
        found = [
            words.finding(each.rule, Weight.DENY, Said(each.error.field, each.error.message))
            for each in _too_many(subject) or answer.findings
        ]
        exempted: list[Finding] = []
        if not found:
            advice = self._advise(subject)
            found += words.advised(advice)
            found += words.warned(answer.warned, found)
            exempted += words.exempted(advice)
        asked = [each for each in found if self._question.asks(each.rule)]
        return Judged(tuple(sorted(asked, key=lambda each: RANKS[each.weight])), tuple(exempted))

    def report_on(self, audited: Audited) -> WorkloadReport:
        """Make the report on one subject."""
        subject, origin = audited.subject, audited.origin
        judged = self.judge(audited)
        survey = self._grounds.survey
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
            spreads=spreads_of(subject, survey, self._grounds.gates),
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

    def _defaults(self, subject: Subject) -> Defaults | None:
        policy, facts, namespace = self._question.policy, self._grounds.facts, subject.namespace
        if not policy.profiles:
            return None
        if subject.kind == POD:
            injection = inject(subject.pod, namespace, policy, facts)
        else:
            pod = first_pod(subject.kind, subject.metadata.name, subject.pod)
            injection = foresee(pod, namespace, policy, facts)
        if not injection.entries:
            return None
        written = tuple(msgspec.json.decode(entry.written) for entry in injection.entries)
        return Defaults(profile=injection.profile, constraints=written)


def _too_many(subject: Subject) -> list[rules.Finding]:
    """What the hooks deny and the API server takes."""
    constraints = subject.pod.constraints
    if len(constraints) <= rules.MOST_CONSTRAINTS:
        return []
    return [rules.too_many(constraints, apiserver.list_path(subject.path))]

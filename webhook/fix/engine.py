"""
Files mended in rounds: judge all objects, edit, read again, until nothing is left that can be done.

One finding hides others: what the API refuses is not advised on, and of changes that get into each
other's way only the first is made in a round. Nothing is written to a file here.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from webhook.audit.report import AuditFinding
from webhook.errors import SourceError
from webhook.fix.changes import FixObstacle
from webhook.fix.conflicts import Proposal, RejectedProposal
from webhook.fix.evaluate import EvaluatedObject, Evaluation, FixOptions
from webhook.fix.file import FileDraft
from webhook.fix.finding import FindingContext
from webhook.fix.remedies import FIX_REMEDIES, find_solution
from webhook.fix.report import (
    FixedFinding,
    RemainingFinding,
    describe_changes,
    describe_remaining,
    name_of,
)
from webhook.manifests import Document

MOST_ROUNDS = 30
"""A round makes at least one change; of one object real ones need four."""


class FixOutcome(NamedTuple):
    """
    What became of files.

    Attributes:
        texts: Source -> its text, of all files, changed or not.
        fixed: What was mended, in the order of doing so.
        left: What was not.
        problems: Objects of the cluster that cannot be read, and files that could not be edited.
    """

    texts: Mapping[str, str]
    fixed: tuple[FixedFinding, ...]
    left: tuple[RemainingFinding, ...]
    problems: tuple[SourceError, ...]


def fix_files(
    texts: Mapping[str, str],
    around: Sequence[Document],
    law: FixOptions,
    *,
    as_read: bool = False,
) -> FixOutcome:
    """
    Mend files.

    Args:
        texts: Source -> text.
        around: Objects of the cluster that are facts only.
        law: What to judge by, and what to fix.
        as_read: Whether lines of what is left are those of the texts as they were.
    """
    files = {source: FileDraft(source, text) for source, text in texts.items()}
    fixed: list[FixedFinding] = []
    problems: list[SourceError] = []
    kept: list[RemainingFinding] = []
    for number in range(MOST_ROUNDS + 1):
        objects = (each for file in files.values() for each in file.objects())
        judging = Evaluation(objects, around, law)
        proposals, kept = _propose(judging, files, law)
        if number == MOST_ROUNDS:
            kept += [_left(each, "it was still changing") for each in proposals]
            break
        made = _make(proposals, files)
        kept += [_left(each, obstacle.reason) for each, obstacle in made.refused]
        problems += made.problems
        fixed += made.fixed
        if not made.again:
            problems[:0] = judging.problems
            break
    return FixOutcome(
        {source: file.text for source, file in files.items()},
        tuple(each for each in fixed if not files[each.source].spoilt),
        tuple(_as_read(each, files[each.source]) if as_read else each for each in kept),
        tuple(problems),
    )


def _as_read(each: RemainingFinding, file: FileDraft) -> RemainingFinding:
    return replace(each, line=file.first_line(each.line))


def _propose(
    judging: Evaluation, files: Mapping[str, FileDraft], law: FixOptions
) -> tuple[list[Proposal], list[RemainingFinding]]:
    """Say of every finding what mends it, or why it is left."""
    proposals: list[Proposal] = []
    kept: list[RemainingFinding] = []
    for judged in judging.judged():
        source, name = judged.document.source, name_of(judged.audited)
        for finding in judged.findings:
            if law.asks(finding.rule) and source in files:
                spoilt = files[source].spoilt
                found = FixObstacle(spoilt) if spoilt else _proposal(judging, judged, finding, law)
                if isinstance(found, FixObstacle):
                    kept.append(describe_remaining(finding, source, name, found.reason))
                else:
                    proposals.append(found)
    for report in judging.mistyped():
        name = f"{report.kind} {report.namespace}/{report.name}"
        kept += [
            describe_remaining(finding, report.source, name, FIX_REMEDIES[finding.rule].leaves)
            for finding in report.findings
            if law.asks(finding.rule) and report.source in files
        ]
    return proposals, kept


def _proposal(
    judging: Evaluation, judged: EvaluatedObject, finding: AuditFinding, law: FixOptions
) -> Proposal | FixObstacle:
    context = FindingContext(
        finding, judged.document.value, judged.audited.subject, judging.grounds
    )
    changes = find_solution(context, law.rules)
    if isinstance(changes, FixObstacle):
        return changes
    objection = judging.objection(judged, finding, changes)
    return objection or Proposal(judged, finding, changes, describe_changes(changes, context))


def _left(proposal: Proposal, reason: str) -> RemainingFinding:
    judged = proposal.judged
    return describe_remaining(
        proposal.finding, judged.document.source, name_of(judged.audited), reason
    )


class _Round(NamedTuple):
    """What a round did; ``again`` if another one may do more."""

    fixed: list[FixedFinding]
    refused: list[RejectedProposal]
    problems: list[SourceError]
    again: bool


def _make(proposals: Sequence[Proposal], files: Mapping[str, FileDraft]) -> _Round:
    made = _Round([], [], [], again=False)
    by_file: defaultdict[str, list[Proposal]] = defaultdict(list)
    for proposal in proposals:
        by_file[proposal.judged.document.source].append(proposal)
    for source, asked in by_file.items():
        file = files[source]
        settled = file.plan(asked)
        made.refused.extend(each for one in settled for each in one.refused)
        accepted = [each for one in settled for each in one.accepted]
        fixed = [_mended(each, file) for each in accepted]
        problem = file.edit(settled) if accepted else None
        made = made._replace(again=made.again or bool(accepted))
        if problem is None:
            made.fixed.extend(fixed)
        else:
            made.problems.append(problem)
    return made


def _mended(proposal: Proposal, file: FileDraft) -> FixedFinding:
    finding = proposal.finding
    return FixedFinding(
        rule=finding.rule,
        weight=finding.severity,
        source=file.source,
        line=file.first_line(finding.line),
        object=name_of(proposal.judged.audited),
        field=finding.field,
        problem=finding.problem,
        wrote=proposal.wrote,
    )

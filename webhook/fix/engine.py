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
from webhook.fix.changes import Obstacle
from webhook.fix.conflicts import Proposal, Refusal
from webhook.fix.evaluate import Judged, Judging, Law
from webhook.fix.file import Draft
from webhook.fix.finding import Case
from webhook.fix.remedies import REMEDIES, solve
from webhook.fix.report import Left, Mended, left, name_of, told
from webhook.manifests import Document

MOST_ROUNDS = 30
"""A round makes at least one change; of one object real ones need four."""


class Outcome(NamedTuple):
    """
    What became of files.

    Attributes:
        texts: Source -> its text, of all files, changed or not.
        fixed: What was mended, in the order of doing so.
        left: What was not.
        problems: Objects of the cluster that cannot be read, and files that could not be edited.
    """

    texts: Mapping[str, str]
    fixed: tuple[Mended, ...]
    left: tuple[Left, ...]
    problems: tuple[SourceError, ...]


def mend(
    texts: Mapping[str, str],
    around: Sequence[Document],
    law: Law,
    *,
    as_read: bool = False,
) -> Outcome:
    """
    Mend files.

    Args:
        texts: Source -> text.
        around: Objects of the cluster that are facts only.
        law: What to judge by, and what to mend.
        as_read: Whether lines of what is left are those of the texts as they were.
    """
    files = {source: Draft(source, text) for source, text in texts.items()}
    fixed: list[Mended] = []
    problems: list[SourceError] = []
    kept: list[Left] = []
    for number in range(MOST_ROUNDS + 1):
        objects = (each for file in files.values() for each in file.objects())
        judging = Judging(objects, around, law)
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
    return Outcome(
        {source: file.text for source, file in files.items()},
        tuple(each for each in fixed if not files[each.source].spoilt),
        tuple(_as_read(each, files[each.source]) if as_read else each for each in kept),
        tuple(problems),
    )


def _as_read(each: Left, file: Draft) -> Left:
    return replace(each, line=file.first_line(each.line))


def _propose(
    judging: Judging, files: Mapping[str, Draft], law: Law
) -> tuple[list[Proposal], list[Left]]:
    """Say of every finding what mends it, or why it is left."""
    proposals: list[Proposal] = []
    kept: list[Left] = []
    for judged in judging.judged():
        source, name = judged.document.source, name_of(judged.audited)
        for finding in judged.findings:
            if law.asks(finding.rule) and source in files:
                spoilt = files[source].spoilt
                found = Obstacle(spoilt) if spoilt else _proposal(judging, judged, finding, law)
                if isinstance(found, Obstacle):
                    kept.append(left(finding, source, name, found.reason))
                else:
                    proposals.append(found)
    for report in judging.mistyped():
        name = f"{report.kind} {report.namespace}/{report.name}"
        kept += [
            left(finding, report.source, name, REMEDIES[finding.rule].leaves)
            for finding in report.findings
            if law.asks(finding.rule) and report.source in files
        ]
    return proposals, kept


def _proposal(
    judging: Judging, judged: Judged, finding: AuditFinding, law: Law
) -> Proposal | Obstacle:
    case = Case(finding, judged.document.value, judged.audited.subject, judging.grounds)
    changes = solve(case, law.rules)
    if isinstance(changes, Obstacle):
        return changes
    objection = judging.objection(judged, finding, changes)
    return objection or Proposal(judged, finding, changes, told(changes, case))


def _left(proposal: Proposal, reason: str) -> Left:
    judged = proposal.judged
    return left(proposal.finding, judged.document.source, name_of(judged.audited), reason)


class _Made(NamedTuple):
    """What a round did; ``again`` if another one may do more."""

    fixed: list[Mended]
    refused: list[Refusal]
    problems: list[SourceError]
    again: bool


def _make(proposals: Sequence[Proposal], files: Mapping[str, Draft]) -> _Made:
    made = _Made([], [], [], again=False)
    by_file: defaultdict[str, list[Proposal]] = defaultdict(list)
    for proposal in proposals:
        by_file[proposal.judged.document.source].append(proposal)
    for source, asked in by_file.items():
        file = files[source]
        settled = file.settle(asked)
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


def _mended(proposal: Proposal, file: Draft) -> Mended:
    finding = proposal.finding
    return Mended(
        rule=finding.rule,
        weight=finding.severity,
        source=file.source,
        line=file.first_line(finding.line),
        object=name_of(proposal.judged.audited),
        field=finding.field,
        problem=finding.problem,
        wrote=proposal.wrote,
    )

"""
Fixes of files in rounds: evaluate all objects, edit, read again, until no proposal is left.

``fix_files`` is the entry point. Rounds are needed because one finding hides others (advice is not
evaluated while the API would refuse an object), and because a round makes only the first of several
conflicting changes. This module must not write files.
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
"""A round makes at least one change; the files of real objects need four."""


class FixOutcome(NamedTuple):
    """
    The result of fixing files.

    Attributes:
        texts: Source -> its text, of all files, changed or not.
        fixed: The fixed findings, in the order of the changes.
        left: The other findings.
        problems: Errors of cluster objects that cannot be read, and of files that were not edited.
    """

    texts: Mapping[str, str]
    fixed: tuple[FixedFinding, ...]
    left: tuple[RemainingFinding, ...]
    problems: tuple[SourceError, ...]


def fix_files(
    texts: Mapping[str, str],
    context: Sequence[Document],
    options: FixOptions,
    *,
    as_read: bool = False,
) -> FixOutcome:
    """
    Fix the findings of files.

    Args:
        texts: Source -> text.
        context: The other objects of the cluster; never changed.
        options: The rules to evaluate by, and those whose findings to fix.
        as_read: Whether remaining findings have the lines of the original texts.
    """
    files = {source: FileDraft(source, text) for source, text in texts.items()}
    fixed: list[FixedFinding] = []
    problems: list[SourceError] = []
    left: list[RemainingFinding] = []
    for number in range(MOST_ROUNDS + 1):
        objects = (document for file in files.values() for document in file.objects())
        evaluation = Evaluation(objects, context, options)
        proposals, left = _propose(evaluation, files, options)
        if number == MOST_ROUNDS:
            left += [
                _describe_proposal(proposal, "it was still changing") for proposal in proposals
            ]
            break
        result = _run_round(proposals, files)
        left += [_describe_proposal(one, obstacle.reason) for one, obstacle in result.rejected]
        problems += result.problems
        fixed += result.fixed
        if not result.again:
            problems[:0] = evaluation.problems
            break
    return FixOutcome(
        {source: file.text for source, file in files.items()},
        # A locked file has its original text again, whatever earlier rounds fixed.
        tuple(finding for finding in fixed if not files[finding.source].locked),
        tuple(_with_original_line(finding, files) if as_read else finding for finding in left),
        tuple(problems),
    )


def _with_original_line(
    finding: RemainingFinding, files: Mapping[str, FileDraft]
) -> RemainingFinding:
    return replace(finding, line=files[finding.source].original_line(finding.line))


def _propose(
    evaluation: Evaluation, files: Mapping[str, FileDraft], options: FixOptions
) -> tuple[list[Proposal], list[RemainingFinding]]:
    """Find for every finding the changes that fix it, or the reason why it is left."""
    proposals: list[Proposal] = []
    left: list[RemainingFinding] = []
    for evaluated in evaluation.evaluate_objects():
        source, name = evaluated.document.source, name_of(evaluated.audited)
        for finding in evaluated.findings:
            if options.selects(finding.rule) and source in files:
                locked = files[source].locked
                found = (
                    FixObstacle(locked)
                    if locked
                    else _find_proposal(evaluation, evaluated, finding, options)
                )
                if isinstance(found, FixObstacle):
                    left.append(describe_remaining(finding, source, name, found.reason))
                else:
                    proposals.append(found)
    for report in evaluation.report_type_errors():
        name = f"{report.kind} {report.namespace}/{report.name}"
        left += [
            describe_remaining(finding, report.source, name, FIX_REMEDIES[finding.rule].leaves)
            for finding in report.findings
            if options.selects(finding.rule) and report.source in files
        ]
    return proposals, left


def _find_proposal(
    evaluation: Evaluation, evaluated: EvaluatedObject, finding: AuditFinding, options: FixOptions
) -> Proposal | FixObstacle:
    context = FindingContext(
        finding, evaluated.document.value, evaluated.audited.subject, evaluation.grounds
    )
    changes = find_solution(context, options.rules)
    if isinstance(changes, FixObstacle):
        return changes
    obstacle = evaluation.find_obstacle(evaluated, finding, changes)
    return obstacle or Proposal(evaluated, finding, changes, describe_changes(changes, context))


def _describe_proposal(proposal: Proposal, reason: str) -> RemainingFinding:
    source, name = proposal.evaluated.document.source, name_of(proposal.evaluated.audited)
    return describe_remaining(proposal.finding, source, name, reason)


class _RoundResult(NamedTuple):
    """The result of a round; ``again`` if another round may fix more."""

    fixed: list[FixedFinding]
    rejected: list[RejectedProposal]
    problems: list[SourceError]
    again: bool


def _run_round(proposals: Sequence[Proposal], files: Mapping[str, FileDraft]) -> _RoundResult:
    result = _RoundResult([], [], [], again=False)
    by_file: defaultdict[str, list[Proposal]] = defaultdict(list)
    for proposal in proposals:
        by_file[proposal.evaluated.document.source].append(proposal)
    for source, proposed in by_file.items():
        file = files[source]
        plans = file.plan(proposed)
        result.rejected.extend(one for plan in plans for one in plan.rejected)
        accepted = [proposal for plan in plans for proposal in plan.accepted]
        fixed = [_describe_fixed(proposal, file) for proposal in accepted]
        problem = file.edit(plans) if accepted else None
        result = result._replace(again=result.again or bool(accepted))
        if problem is None:
            result.fixed.extend(fixed)
        else:
            result.problems.append(problem)
    return result


def _describe_fixed(proposal: Proposal, file: FileDraft) -> FixedFinding:
    finding = proposal.finding
    return FixedFinding(
        rule=finding.rule,
        weight=finding.severity,
        source=file.source,
        line=file.original_line(finding.line),
        object=name_of(proposal.evaluated.audited),
        field=finding.field,
        problem=finding.problem,
        wrote=proposal.wrote,
    )

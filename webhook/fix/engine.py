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
from webhook.fix.remedies import NO_VALUE, find_solution
from webhook.fix.report import (
    FixedFinding,
    RemainingFinding,
    describe_changes,
    describe_remaining,
    name_of,
)
from webhook.manifests import Document

MOST_ROUNDS = 30  # a round makes at least one change; the files of real objects need four


class FixOutcome(NamedTuple):
    """
    The result of fixing files.

    Attributes:
        texts: Source -> its text, of all files, changed or not.
        fixed: The fixed findings, in the order of the changes.
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
    left: list[RemainingFinding] = []
    problems: Sequence[SourceError] = ()
    for number in range(MOST_ROUNDS + 1):
        objects = (document for file in files.values() for document in file.objects())
        evaluation = Evaluation(objects, context, options)
        problems = evaluation.problems
        proposals, left = _propose(evaluation, files, options)
        if number == MOST_ROUNDS:
            left += [_describe_remaining(one, "it was still changing") for one in proposals]
            break
        fixed_now, rejected = _run_round(proposals, files)
        left += [_describe_remaining(one, obstacle.reason) for one, obstacle in rejected]
        fixed += fixed_now
        if not fixed_now:
            break
    if as_read:
        left = [
            replace(finding, line=files[finding.source].original_line(finding.line))
            for finding in left
        ]
    return FixOutcome(
        {source: file.text for source, file in files.items()},
        # A locked file has its original text again, whatever earlier rounds fixed.
        tuple(finding for finding in fixed if not files[finding.source].locked),
        tuple(left),
        (*problems, *(file.problem for file in files.values() if file.problem)),
    )


def _propose(
    evaluation: Evaluation, files: Mapping[str, FileDraft], options: FixOptions
) -> tuple[list[Proposal], list[RemainingFinding]]:
    """Find for every finding the changes that fix it, or the reason why it is left."""
    proposals: list[Proposal] = []
    left: list[RemainingFinding] = []
    for evaluated in evaluation.evaluate_objects():
        source, name = evaluated.document.source, name_of(evaluated.audited)
        for finding in filter(options.selects, evaluated.findings):
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
    for report in evaluation.type_errors:
        name = f"{report.kind} {report.namespace}/{report.name}"
        left += [
            describe_remaining(finding, report.source, name, NO_VALUE.reason)
            for finding in filter(options.selects, report.findings)
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


def _describe_remaining(proposal: Proposal, reason: str) -> RemainingFinding:
    source, name = proposal.evaluated.document.source, name_of(proposal.evaluated.audited)
    return describe_remaining(proposal.finding, source, name, reason)


def _run_round(
    proposals: Sequence[Proposal], files: Mapping[str, FileDraft]
) -> tuple[list[FixedFinding], list[RejectedProposal]]:
    """Edit the files; return the fixed findings, and the proposals that cannot be carried out."""
    fixed: list[FixedFinding] = []
    rejected: list[RejectedProposal] = []
    by_file: defaultdict[str, list[Proposal]] = defaultdict(list)
    for proposal in proposals:
        by_file[proposal.evaluated.document.source].append(proposal)
    for source, proposed in by_file.items():
        file = files[source]
        plans = file.plan(proposed)
        rejected += (one for plan in plans for one in plan.rejected)
        fixed += [_describe_fixed(one, file) for plan in plans for one in plan.accepted]
        file.edit(plans)
    return fixed, rejected


def _describe_fixed(proposal: Proposal, file: FileDraft) -> FixedFinding:
    finding = proposal.finding
    return FixedFinding(
        rule=finding.rule,
        severity=finding.severity,
        source=file.source,
        line=file.original_line(finding.line),
        object=name_of(proposal.evaluated.audited),
        field=finding.field,
        problem=finding.problem,
        wrote=proposal.wrote,
    )

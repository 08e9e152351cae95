"""
Fixes of files in rounds: evaluate all objects, edit, read again, until no proposal is left.

``fix_files`` is the entry point. Rounds are needed because one finding hides others (advice is not
evaluated on fields that the API would refuse), and because a round makes only the first of several
conflicting changes. This module must not write files.
"""

import dataclasses
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple, TypeAlias

from msgspec.structs import replace

from webhook.audit.renderers.names import format_reference
from webhook.audit.report import AuditFinding
from webhook.audit.snapshot import Snapshot
from webhook.errors import SourceError
from webhook.fix.changes import FixObstacle
from webhook.fix.conflicts import DocumentPlan, Proposal, RejectedProposal
from webhook.fix.evaluate import EvaluatedObject, Evaluation, FixOptions, UndecodedObject
from webhook.fix.file import FileDraft
from webhook.fix.finding import FindingContext
from webhook.fix.remedies import find_solution
from webhook.fix.report import (
    BELOW_LEVEL,
    FixedFinding,
    RemainingFinding,
    describe_changes,
    describe_remaining,
)
from webhook.fix.wrongtypes import correct_type
from webhook.policy.api.schema import UNKNOWN_FIELD
from webhook.policy.paths import FieldPath, format_path

MOST_ROUNDS = 30  # a round makes at least one change; the files of real objects need four

WEIGHED_TOGETHER = frozenset({"TSC104", "TSC106", "TSC109", "TSC112", "TSC119"})
"""
Rules whose values depend on all hard constraints: each is found anew after other changes.

After one of these changes, another may be needless, or leave pods Pending.
"""

UNSETTLED = FixObstacle("it was still changing")
HELD = FixObstacle(
    "it has no effect as it is: with the field, kube-apiserver would refuse the object, or it is "
    "not shown that all replicas would have a place"
)


class FixOutcome(NamedTuple):
    """
    The result of fixing files.

    Attributes:
        texts: Source -> its text, of all files, changed or not.
        fixed: The fixed findings, in the order of the changes.
        left: The other findings, with their lines in ``texts``.
        problems: Errors of cluster objects that cannot be read, and of files that were not edited.
        files: Source -> its edits.
    """

    texts: Mapping[str, str]
    fixed: tuple[FixedFinding, ...]
    left: tuple[RemainingFinding, ...]
    problems: tuple[SourceError, ...]
    files: Mapping[str, FileDraft]

    def left_as_read(self, sources: Container[str]) -> Iterator[RemainingFinding]:
        """Yield the findings that are left; in some files, with the lines as they were read."""
        for finding in self.left:
            file = self.files[finding.source]
            is_new = finding.source not in sources
            yield finding if is_new else replace(finding, line=file.original_line(finding.line))


_ObjectKey: TypeAlias = tuple[str, str, FieldPath]
"""Source and name of an object, and the path of its pod template."""


class _Run(NamedTuple):
    """
    The result of all rounds.

    Attributes:
        evaluation: The last one.
        first: The objects as they were.
        last: The objects as they are.
    """

    outcome: FixOutcome
    evaluation: Evaluation
    first: Sequence[EvaluatedObject]
    last: Sequence[EvaluatedObject]


def fix_files(texts: Mapping[str, str], context: Snapshot, options: FixOptions) -> FixOutcome:
    """
    Fix the findings of texts; the caller writes the files, so that an error changes none of them.

    A field that is misspelled or misplaced has no effect, and hides other errors. If an object is
    worse off in the end than it was at first, its misspelled and misplaced fields are left.

    Args:
        texts: Source -> text.
        context: The cluster around the files; never changed.
        options: The rules to evaluate by, and those whose findings to fix.
    """
    held = frozenset[_ObjectKey]()
    while True:
        run = _run_rounds(texts, context, options, held)
        harmed = _find_harmed(run) - held
        if not harmed:
            return run.outcome
        held |= harmed


def _run_rounds(
    texts: Mapping[str, str],
    context: Snapshot,
    options: FixOptions,
    held: Container[_ObjectKey],
) -> _Run:
    """Run rounds until nothing changes; ``held`` are the objects whose unknown fields are left."""
    files = {source: FileDraft(source, text) for source, text in texts.items()}
    fixed: list[FixedFinding] = []
    first: Sequence[EvaluatedObject] | None = None
    rounds = 0
    while True:
        objects = (document for file in files.values() for document in file.objects())
        evaluation = Evaluation.of_documents(objects, context, options)
        judged = [*evaluation.evaluate_objects(options.includes)]
        first = judged if first is None else first
        proposals, left = _propose(evaluation, judged, files, options, held)
        if rounds == MOST_ROUNDS:
            fixed_now, rejected = list[FixedFinding](), [(one, UNSETTLED) for one in proposals]
        else:
            fixed_now, rejected = _run_round(proposals, files, evaluation)
        fixed += fixed_now
        rounds += 1
        if not fixed_now:
            break
    left += [_describe_remaining(one, obstacle.reason) for one, obstacle in rejected]
    outcome = FixOutcome(
        {source: file.text for source, file in files.items()},
        # A locked file has its original text again, whatever earlier rounds fixed.
        tuple(finding for finding in fixed if not files[finding.source].locked),
        tuple(dict.fromkeys(left)),
        (*evaluation.problems, *(file.problem for file in files.values() if file.problem)),
        files,
    )
    return _Run(outcome, evaluation, first, judged)


def _identify(judged: EvaluatedObject) -> _ObjectKey:
    return judged.document.source, judged.name, judged.audited.subject.path


def _find_harmed(run: _Run) -> frozenset[_ObjectKey]:
    """Find the objects that lose a place by changes after which a field has an effect."""
    named = {(one.source, one.object) for one in run.outcome.fixed if one.rule == UNKNOWN_FIELD}
    last = {_identify(one): one for one in run.last}
    return frozenset(
        key
        for one in run.first
        if (key := _identify(one))[:2] in named
        and key in last
        and run.evaluation.becomes_worse(one, last[key])
    )


def _propose(
    evaluation: Evaluation,
    judged: Sequence[EvaluatedObject],
    files: Mapping[str, FileDraft],
    options: FixOptions,
    held: Container[_ObjectKey],
) -> tuple[list[Proposal], list[RemainingFinding]]:
    """Find for every finding the changes that fix it, or the reason why it is left."""
    proposals: list[Proposal] = []
    left: list[RemainingFinding] = []
    objects: Iterable[EvaluatedObject | UndecodedObject] = chain(judged, evaluation.undecoded)
    for one in objects:
        source = one.document.source
        locked = FixObstacle(files[source].locked) if files[source].locked else None
        is_held = isinstance(one, EvaluatedObject) and _identify(one) in held
        for finding in filter(options.selects, one.findings):
            kept = HELD if is_held and finding.rule == UNKNOWN_FIELD else None
            found = locked or kept or _find_any_proposal(evaluation, one, finding, options)
            if isinstance(found, FixObstacle):
                below = not options.fixes(finding)
                left.append(
                    describe_remaining(finding, source, one.name, found.reason, below_level=below)
                )
            else:
                proposals.append(found)
    return proposals, left


def _find_any_proposal(
    evaluation: Evaluation,
    judged: EvaluatedObject | UndecodedObject,
    finding: AuditFinding,
    options: FixOptions,
) -> Proposal | FixObstacle:
    if isinstance(judged, EvaluatedObject):
        return find_proposal(evaluation, judged, finding, options)
    changes = correct_type(evaluation, judged, finding)
    if isinstance(changes, FixObstacle):
        return changes
    return Proposal(judged, finding, changes, describe_changes(changes, judged.document.value))


def find_proposal(
    evaluation: Evaluation, evaluated: EvaluatedObject, finding: AuditFinding, options: FixOptions
) -> Proposal | FixObstacle:
    """Find the changes that fix a finding, or the reason why it is left."""
    found = _find_changes(evaluation, evaluated, finding, options)
    if isinstance(found, FixObstacle) or options.fixes(finding):
        return found
    return FixObstacle(BELOW_LEVEL.format(severity=finding.severity, rule=finding.rule))


def _find_changes(
    evaluation: Evaluation, evaluated: EvaluatedObject, finding: AuditFinding, options: FixOptions
) -> Proposal | FixObstacle:
    context = FindingContext(
        finding,
        evaluated.document.value,
        evaluated.audited.subject,
        evaluation.grounds,
        evaluated.audited.strict,
        evaluated.is_refused,
    )
    changes = find_solution(context, options.requested)
    paths = [context.path]
    if not isinstance(changes, FixObstacle):
        paths += (change.path for change in changes)  # written anew, the field would be there twice
    if misspelled := next(filter(None, map(context.find_misspelled, paths)), None):
        return FixObstacle(f"{format_path(misspelled.path)} comes first")
    if isinstance(changes, FixObstacle):
        return changes
    for change in changes:
        if context.is_duplicate(change.path):
            return FixObstacle(f"first keep one of the fields {format_path(change.path)}")
    obstacle = evaluation.find_obstacle(evaluated, finding, changes)
    wrote = describe_changes(changes, context.value)
    alone = finding.rule in WEIGHED_TOGETHER
    return obstacle or Proposal(evaluated, finding, changes, wrote, alone=alone)


def _describe_remaining(proposal: Proposal, reason: str) -> RemainingFinding:
    evaluated = proposal.evaluated
    return describe_remaining(proposal.finding, evaluated.document.source, evaluated.name, reason)


def _run_round(
    proposals: Sequence[Proposal], files: Mapping[str, FileDraft], evaluation: Evaluation
) -> tuple[list[FixedFinding], list[RejectedProposal]]:
    """Edit the files; return the fixed findings, and the proposals that cannot be carried out."""
    fixed: list[FixedFinding] = []
    rejected: list[RejectedProposal] = []
    by_file: defaultdict[str, list[Proposal]] = defaultdict(list)
    for proposal in proposals:
        by_file[proposal.evaluated.document.source].append(proposal)
    for source, proposed in by_file.items():
        file = files[source]
        plans = _plan(file, proposed, evaluation)
        rejected += (one for plan in plans for one in plan.rejected)
        described = (_describe_fixed(one, file) for plan in plans for one in plan.accepted)
        # One edit may fix several errors of a field, such as a key that is repeated twice.
        fixed += {replace(finding, problem=""): finding for finding in described}.values()
        file.edit(plans)
    return fixed, rejected


def _plan(
    file: FileDraft, proposals: Sequence[Proposal], evaluation: Evaluation
) -> list[DocumentPlan]:
    """Plan the changes of a file; changes that harm an object only together, one after another."""
    plans = file.plan(proposals)
    accepted: defaultdict[int, list[Proposal]] = defaultdict(list)  # by the object
    for plan in plans:
        for proposal in plan.accepted:
            accepted[id(proposal.evaluated)].append(proposal)
    harmful = {
        key
        for key, together in accepted.items()
        if len(together) > 1
        and isinstance(evaluated := together[0].evaluated, EvaluatedObject)
        and not evaluation.fit_together(
            evaluated, [change for one in together for change in one.changes]
        )
    }
    if not harmful:
        return plans
    return file.plan(
        [
            dataclasses.replace(one, alone=True) if id(one.evaluated) in harmful else one
            for one in proposals
        ]
    )


def _describe_fixed(proposal: Proposal, file: FileDraft) -> FixedFinding:
    finding, document = proposal.finding, proposal.evaluated.document
    return FixedFinding(
        rule=finding.rule,
        severity=finding.severity,
        source=file.source,
        line=file.original_line(finding.line),
        object=proposal.evaluated.name,
        field=finding.field,
        problem=finding.problem,
        instead=finding.instead,
        wrote=proposal.wrote,
        resource=format_reference(document.group_kind, document.name),
    )

"""
Fixes that a report suggests, one for each finding, for tools that show them to a person.

``suggest_fixes`` is the entry point. Unlike ``engine``, it edits nothing: each fix consists of
edits of the original text, as if it were the only one.
"""

from functools import cache, lru_cache
from typing import Any, TypeAlias

from webhook.audit.inventory import AuditSubject, Inventory
from webhook.audit.rendering import FindingKey, SuggestedFix, TextReplacement, finding_key
from webhook.audit.report import AuditReport
from webhook.errors import SourceError
from webhook.fix.changes import FixObstacle, apply_changes
from webhook.fix.conflicts import DocumentPlan, Proposal, plan_document
from webhook.fix.engine import find_proposal
from webhook.fix.evaluate import Evaluation, FixOptions
from webhook.manifests import Document, parse
from webhook.manifests.edits import apply_edits, find_line_starts, find_region
from webhook.manifests.files import read_text

LARGEST_DOCUMENT = 64 * 1024
"""
Characters of a document whose findings get fixes. The document is read again for each fix, which
takes 10 ms at this size; larger ones are dumps of clusters, which no author edits by hand.
"""

_Place: TypeAlias = tuple[str, str, str, str]
"""File, kind, namespace and name of a workload."""


def suggest_fixes(
    inventory: Inventory, report: AuditReport, options: FixOptions
) -> dict[FindingKey, SuggestedFix]:
    """
    Find the fixes for the findings of a report.

    Args:
        inventory: What was audited; only objects of files that still have the same text get fixes.
        options: The rules to evaluate by.
    """
    wanted = {
        (workload.source, workload.kind, workload.namespace, workload.name): workload
        for workload in report.workloads
        if workload.source and workload.findings
    }
    evaluation = Evaluation(inventory, options)
    read = cache(_SourceText)
    fixes: dict[FindingKey, SuggestedFix] = {}
    for evaluated in evaluation.evaluate_objects(lambda item: _place_of(item) in wanted):
        if len(evaluated.document.text.content) > LARGEST_DOCUMENT:
            continue
        workload = wanted[_place_of(evaluated.audited)]
        for finding in evaluated.findings:
            proposal = find_proposal(evaluation, evaluated, finding, options)
            if isinstance(proposal, FixObstacle):
                continue
            replacements = _replace(proposal, evaluated.document, read(evaluated.document.source))
            if replacements:
                fix = SuggestedFix(proposal.wrote, replacements)
                fixes[finding_key(workload, finding)] = fix
    return fixes


class _SourceText:
    """The text of a file as it is now; empty if it cannot be read, as the standard input."""

    def __init__(self, source: str) -> None:
        try:
            self.text = read_text(source)
        except SourceError:
            self.text = ""
        self.line_starts = find_line_starts(self.text)
        self.values_of = lru_cache(1)(_read_values)  # findings come document by document


def _replace(
    proposal: Proposal, document: Document, source: _SourceText
) -> tuple[TextReplacement, ...]:
    """Carry out one proposal on the text of its file; nothing if that is not possible."""
    content, start = document.text.content, document.text.start
    plan = plan_document(document.text.tree, [proposal])
    has_same_text = source.text[start : start + len(content)] == content
    if not (plan.accepted and has_same_text and _reads_as_planned(plan, content, source)):
        return ()
    edits = (edit.shift(start) for edit in plan.edits)
    return tuple(
        TextReplacement(find_region(source.line_starts, edit), edit.text) for edit in edits
    )


def _reads_as_planned(plan: DocumentPlan, content: str, source: _SourceText) -> bool:
    """Whether the edited text has the planned values; a difference is a bug of evenspread."""
    after = _read_values(apply_edits(plan.edits, content))
    return after == [apply_changes(plan.changes, value) for value in source.values_of(content)]


def _read_values(content: str) -> list[Any]:
    return [item.value for item in parse(content, "") if isinstance(item, Document)]


def _place_of(audited: AuditSubject) -> _Place:
    subject, source = audited.subject, audited.origin.source if audited.origin else ""
    name = subject.metadata.name or subject.metadata.generate_name
    return source, subject.kind.kind, subject.namespace, name

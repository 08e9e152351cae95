"""The report of ``evenspread fix``: fixed and remaining findings, for people and for programs."""

from collections.abc import Iterable
from typing import Any

import msgspec

from webhook.audit.inventory import AuditSubject
from webhook.audit.report import SEVERITY_RANKS, AuditFinding, AuditSeverity
from webhook.fix.changes import Change, Put
from webhook.fix.finding import ABSENT, FindingContext
from webhook.policy.advice import flow
from webhook.policy.advice.findings import clip
from webhook.policy.paths import FieldPath, format_path

DESCRIPTION_CHARACTERS = 300  # of a description; two constraints need as many


class FixedFinding(msgspec.Struct, frozen=True, kw_only=True):
    """
    A finding that was fixed.

    Attributes:
        rule: The id of the rule.
        source: The file.
        line: In the original file, from 1.
        object: As ``Deployment shop/web``.
        field: The path in the object.
        problem: The message of the finding.
        wrote: A description of the changes.
    """

    rule: str
    weight: AuditSeverity
    source: str
    line: int
    object: str
    field: str
    problem: str
    wrote: str


class RemainingFinding(msgspec.Struct, frozen=True, kw_only=True):
    """
    A finding that was not fixed.

    Attributes:
        line: In the current file, from 1.
        instead: The value that the finding proposes.
        reason: Why the value was not written.
    """

    rule: str
    weight: AuditSeverity
    source: str
    line: int
    object: str
    field: str
    problem: str
    instead: str
    reason: str


class FixReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    The result of all findings.

    Attributes:
        changed: The files that differ, in the order in which they were read.
        written: Whether these files were written.
    """

    api_version: str = "evenspread.io/v1alpha1"
    kind: str = "FixReport"
    written: bool
    changed: tuple[str, ...]
    fixed: tuple[FixedFinding, ...]
    left: tuple[RemainingFinding, ...]

    def exceeds(self, weight: AuditSeverity | None) -> bool:
        """Whether a finding of at least a severity is left; False for None."""
        return weight is not None and any(
            SEVERITY_RANKS[finding.weight] <= SEVERITY_RANKS[weight] for finding in self.left
        )


def name_of(audited: AuditSubject) -> str:
    """Name an object as in ``Deployment shop/web``."""
    subject = audited.subject
    name = subject.metadata.name or subject.metadata.generate_name
    return f"{subject.kind.kind} {subject.namespace}/{name}"


def describe_remaining(
    finding: AuditFinding, source: str, name: str, reason: str
) -> RemainingFinding:
    """Describe a finding that was not fixed."""
    return RemainingFinding(
        rule=finding.rule,
        weight=finding.severity,
        source=source,
        line=finding.line,
        object=name,
        field=finding.field,
        problem=finding.problem,
        instead=finding.instead,
        reason=reason,
    )


def describe_changes(changes: Iterable[Change], context: FindingContext) -> str:
    """Describe changes in words."""
    parts = (_describe(change, context.written(change.path)) for change in changes)
    return clip("; ".join(parts), DESCRIPTION_CHARACTERS)


def _describe(change: Change, before: Any) -> str:
    name = change.path[-1]
    if isinstance(change, Put):
        written = _member(change.path, change.value)
        return f"added {written}" if before is ABSENT else f"wrote {written}, not {_value(before)}"
    if isinstance(name, int):
        within = format_path(change.path[:-1]).rpartition(".")[2]
        shown = f" ({before})" if isinstance(before, str) else ""
        return f"removed entry {name} of {within}{shown}"
    return f"removed {flow.member(name, before)}"


def _member(path: FieldPath, value: Any) -> str:
    name = path[-1]
    if isinstance(name, str):
        return flow.member(name, value)
    return f"{flow.flow(value)} in {format_path(path[:-1]).rpartition('.')[2]}"


def _value(value: Any) -> str:
    return flow.flow(value) if value != "" else '""'

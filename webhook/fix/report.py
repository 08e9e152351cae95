"""What was mended and what was left, as a value that people are told of and programs can read."""

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

API_VERSION = "evenspread.io/v1alpha1"
KIND = "FixReport"

DESCRIPTION_CHARACTERS = 300  # of what was written; a list of two constraints has as many


class FixedFinding(msgspec.Struct, frozen=True, kw_only=True):
    """
    A finding that is none any more.

    Attributes:
        rule: Its id.
        source: The file.
        line: Where it was, in the file as it was read; from 1.
        object: As ``Deployment shop/web``.
        field: Its path in the object.
        problem: What was wrong.
        wrote: What was done about it.
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
    A finding that stays.

    Attributes:
        line: Where it is, in the file as it is now; from 1.
        instead: What the finding says to write.
        reason: Why that was not done.
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
    What became of the findings.

    Attributes:
        changed: Files that were written, or would be, in the order in which they were read.
        written: Whether they were.
    """

    api_version: str = API_VERSION
    kind: str = KIND
    written: bool
    changed: tuple[str, ...]
    fixed: tuple[FixedFinding, ...]
    left: tuple[RemainingFinding, ...]

    def exceeds(self, weight: AuditSeverity | None) -> bool:
        """Whether a finding is left that is at least this hard; None asks for none."""
        return weight is not None and any(
            SEVERITY_RANKS[each.weight] <= SEVERITY_RANKS[weight] for each in self.left
        )


def name_of(audited: AuditSubject) -> str:
    """Name an object as ``Deployment shop/web``."""
    subject = audited.subject
    name = subject.metadata.name or subject.metadata.generate_name
    return f"{subject.kind.kind} {subject.namespace}/{name}"


def describe_remaining(
    finding: AuditFinding, source: str, name: str, reason: str
) -> RemainingFinding:
    """Tell of a finding that stays."""
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
    """Say in words what changes do."""
    said = (_told(change, context.written(change.path)) for change in changes)
    return clip("; ".join(said), DESCRIPTION_CHARACTERS)


def _told(change: Change, before: Any) -> str:
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

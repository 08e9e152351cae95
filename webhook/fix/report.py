"""The report of ``evenspread fix``: fixed and remaining findings, for people and for programs."""

from collections.abc import Iterable
from typing import Any

import msgspec

from webhook.audit.inventory import AuditSubject
from webhook.audit.report import SEVERITY_RANKS, AuditFinding, AuditSeverity
from webhook.fix.changes import Change, Move, Put, Wrap
from webhook.fix.finding import ABSENT
from webhook.policy.advice import flow
from webhook.policy.advice.findings import clip
from webhook.policy.paths import find_value, format_path

BELOW_LEVEL = "its severity is {severity}: --level {severity} fixes it, as does --rules {rule}"
"""Why a finding of a severity below the requested level is not fixed, if it has a fix."""

NOT_WRITTEN = "the file could not be written"

DESCRIPTION_CHARACTERS = 300  # of a description; two constraints need as many


class FileFinding(msgspec.Struct, frozen=True, kw_only=True):
    """
    A finding about an object of a file.

    Attributes:
        severity: What the finding leads to at admission.
        line: From 1, in the original file if the finding was fixed, else in the current file.
        object: As ``Deployment shop/web``.
        field: The path in the object.
        instead: The advice.
    """

    rule: str
    severity: AuditSeverity = msgspec.field(name="weight")
    source: str
    line: int
    object: str
    field: str
    problem: str
    instead: str


class FixedFinding(FileFinding, frozen=True, kw_only=True):
    """
    A finding that was fixed.

    Attributes:
        wrote: A description of the changes.
        resource: The object as kubectl names it, as ``deployment.apps/web``.
    """

    wrote: str
    resource: str


class RemainingFinding(FileFinding, frozen=True, kw_only=True):
    """
    A finding that was not fixed, and why.

    Attributes:
        below_level: Whether its severity is below the requested level.
    """

    reason: str
    below_level: bool = msgspec.field(name="belowLevel", default=False)

    @property
    def has_fix(self) -> bool:
        """Whether its severity is the only reason."""
        return self.reason == BELOW_LEVEL.format(severity=self.severity, rule=self.rule)


class FixReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    The result of all findings.

    Attributes:
        changed: The files that differ, in the order in which they were read.
        written: Whether these files were written.
        diff: The unified diff of the files, if they were not written.
    """

    api_version: str = "evenspread.io/v1alpha1"
    kind: str = "FixReport"
    written: bool
    changed: tuple[str, ...]
    fixed: tuple[FixedFinding, ...]
    left: tuple[RemainingFinding, ...]
    diff: str | msgspec.UnsetType = msgspec.UNSET

    def exceeds(self, severity: AuditSeverity | None) -> bool:
        """Whether a finding of at least a severity is left; False for None."""
        return severity is not None and any(
            SEVERITY_RANKS[finding.severity] <= SEVERITY_RANKS[severity] for finding in self.left
        )


def name_of(audited: AuditSubject) -> str:
    """Name an object as in ``Deployment shop/web``."""
    subject = audited.subject
    name = subject.metadata.name or subject.metadata.generate_name
    return f"{subject.kind.kind} {subject.namespace}/{name}"


def describe_remaining(
    finding: AuditFinding, source: str, name: str, reason: str, *, below_level: bool = False
) -> RemainingFinding:
    """Describe a finding that was not fixed."""
    return RemainingFinding(
        rule=finding.rule,
        severity=finding.severity,
        source=source,
        line=finding.line,
        object=name,
        field=finding.field,
        problem=finding.problem,
        instead=finding.instead,
        reason=reason,
        below_level=below_level,
    )


def describe_unwritten(fixed: FixedFinding) -> RemainingFinding:
    """Describe a finding whose fix could not be written; its line is that in the file as it is."""
    return RemainingFinding(
        rule=fixed.rule,
        severity=fixed.severity,
        source=fixed.source,
        line=fixed.line,
        object=fixed.object,
        field=fixed.field,
        problem=fixed.problem,
        instead=fixed.instead,
        reason=NOT_WRITTEN,
    )


def describe_changes(changes: Iterable[Change], value: Any) -> str:
    """Describe changes of an object in words; ``value`` is the object as it is written."""
    parts = (_describe(change, find_value(value, change.path, ABSENT)) for change in changes)
    return clip("; ".join(parts), DESCRIPTION_CHARACTERS)


def _describe(change: Change, before: Any) -> str:
    step, parent = change.path[-1], format_path(change.path[:-1]).rpartition(".")[2]
    if isinstance(change, Move) and change.renames:
        return f"renamed {step} to {change.target[-1]}"
    if isinstance(change, Move | Wrap):
        return f"moved {format_path(change.path)} to {format_path(change.target)}"
    if isinstance(change, Put):
        item = f"{flow.flow(change.value)} in {parent}"
        written = flow.member(step, change.value) if isinstance(step, str) else item
        old = "" if before is ABSENT else f", not {flow.flow(before)}"
        return f"wrote {written}{old}" if old else f"added {written}"
    if isinstance(step, int):
        is_short = isinstance(before, str) or parent == "matchExpressions"
        shown = f" ({flow.flow(before)})" if is_short else ""
        return f"removed {parent}[{step}]{shown}"
    return f"removed {flow.member(step, before)}"

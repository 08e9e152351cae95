"""
What renderers of an audit need besides the report: the threshold, fixes, and unreadable files.

The report itself stays free of them, since they depend on options and not on what is audited.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias

import msgspec

from webhook.audit.report import AuditFinding, AuditSeverity, WorkloadReport
from webhook.errors import SourceError
from webhook.manifests.edits import TextRegion


class TextReplacement(msgspec.Struct, frozen=True):
    """The replacement of a part of a file; an empty region is an insertion."""

    region: TextRegion
    text: str


class SuggestedFix(msgspec.Struct, frozen=True):
    """
    The edits of a file that fix one finding, if no other edit is made.

    Attributes:
        description: What they write.
        replacements: At least one, in the order of the text.
    """

    description: str
    replacements: tuple[TextReplacement, ...]


FindingKey: TypeAlias = tuple[str, int, str]
"""File, line and fingerprint of a finding."""


def finding_key(workload: WorkloadReport, finding: AuditFinding) -> FindingKey:
    """Return the key of a finding of a report."""
    return workload.source, finding.line, finding.fingerprint


class RenderOptions(msgspec.Struct, frozen=True):
    """
    What a renderer may need.

    Attributes:
        threshold: Lowest severity that counts as a failure; None for no failures.
        fixes: Fixes of findings, for formats that contain any.
        problems: Files and objects that could not be read.
    """

    threshold: AuditSeverity | None = AuditSeverity.DENY
    fixes: Mapping[FindingKey, SuggestedFix] = MappingProxyType({})
    problems: tuple[SourceError, ...] = ()

"""
Exemptions of a project file: findings that an audit lists apart, with the reason.

``ProjectExemptions`` is the entry point. Exemptions by annotation belong to
``webhook.policy.advice.exemptions``; they take precedence.
"""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from webhook.audit.exemptionreport import ExemptionSource
from webhook.audit.report import AuditFinding, AuditSeverity
from webhook.config.project import Exemption
from webhook.policy.advice.subject import Subject


class ProjectExemptions:
    """The exemptions of a project, and which of them had an effect."""

    def __init__(self, exemptions: Sequence[Exemption] = ()) -> None:
        """Start with unused exemptions; of several that cover a finding, the first one counts."""
        self._exemptions = tuple(exemptions)
        self._used: set[str] = set()

    @property
    def unused(self) -> list[Exemption]:
        """The exemptions that exempted nothing so far."""
        return [exemption for exemption in self._exemptions if exemption.where not in self._used]

    def split(
        self,
        findings: Iterable[AuditFinding],
        subject: Subject,
        not_exemptible: frozenset[str] = frozenset(),
    ) -> tuple[list[AuditFinding], list[AuditFinding]]:
        """
        Split the findings about a subject.

        Args:
            not_exemptible: Rules from which the subject cannot be exempted.

        Returns:
            The findings that stay, and the exempted ones, of severity AUDIT and with a reason.
        """
        covering = self._list_covering(subject)
        if not covering:
            return list(findings), []
        kept: list[AuditFinding] = []
        exempted: list[AuditFinding] = []
        for finding in findings:
            found = next((item for item in covering if finding.rule in item.rules), None)
            if found is None or finding.rule in not_exemptible:
                kept.append(finding)
            else:
                self._used.add(found.where)
                exempted.append(_exempt(finding, found.reason))
        return kept, exempted

    def _list_covering(self, subject: Subject) -> list[Exemption]:
        metadata = subject.metadata
        name = metadata.name or metadata.generate_name
        kind, namespace = subject.kind.kind, subject.namespace
        return [
            exemption
            for exemption in self._exemptions
            if exemption.covers(kind, namespace, name, metadata.labels)
        ]


def _exempt(finding: AuditFinding, reason: str) -> AuditFinding:
    severity, source = AuditSeverity.AUDIT, ExemptionSource.PROJECT
    return replace(finding, severity=severity, reason=reason, exempted_by=source)

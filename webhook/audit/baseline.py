"""
Baselines: reports of earlier audits, whose findings are known and not reported again.

A fingerprint of rule, object and field identifies a finding; its message contains numbers that
change.
"""

from collections import Counter
from pathlib import Path

import msgspec
from msgspec.structs import replace

from webhook.audit.report import AUDIT_REPORT_API_VERSION, AUDIT_REPORT_KIND, AuditReport
from webhook.audit.scan import summarise
from webhook.cluster.protocol import DECODE_ERRORS
from webhook.errors import SourceError


def load_baseline(file: str) -> Counter[str]:
    """
    Load the findings of an earlier report.

    Returns:
        Fingerprint -> number of findings.

    Raises:
        SourceError: The file cannot be read, or is no audit report.
    """
    return Counter(finding.fingerprint for _, finding in load_report(file).findings())


def load_report(file: str) -> AuditReport:
    """
    Load a report that ``audit -o json`` wrote.

    Raises:
        SourceError: The file cannot be read, or is no audit report.
    """
    try:
        report = msgspec.json.decode(Path(file).read_bytes(), type=AuditReport)
    except OSError as error:
        raise SourceError(file, f"cannot be read: {error.strerror or error}") from error
    except DECODE_ERRORS as error:
        raise SourceError(file, f"is no audit report: {error}; {_HOW}") from error
    if (report.api_version, report.kind) != (AUDIT_REPORT_API_VERSION, AUDIT_REPORT_KIND):
        actual = f"{report.api_version}, {report.kind}"
        raise SourceError(file, f"is no audit report, but {actual}; {_HOW}")
    return report


_HOW = "make one with evenspread audit -o json=FILE"


def remove_known_findings(report: AuditReport, known: Counter[str]) -> AuditReport:
    """Remove the known findings from a report; its summary counts them."""
    remaining = known.copy()
    workloads = tuple(
        replace(
            workload,
            findings=tuple(
                item for item in workload.findings if _take_new(item.fingerprint, remaining)
            ),
        )
        for workload in report.workloads
    )
    removed = known.total() - remaining.total()
    summary = summarise(workloads, nodes=report.summary.nodes, known=removed)
    return replace(report, workloads=workloads, summary=summary)


def _take_new(fingerprint: str, remaining: Counter[str]) -> bool:
    """Whether a finding is new; a known one is taken from those remaining."""
    if not remaining[fingerprint]:
        return True
    remaining[fingerprint] -= 1
    return False

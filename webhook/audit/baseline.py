"""
Findings that are known already: those of an earlier report.

A finding is known by rule, object and field, not by its words, which hold numbers that change.
"""

from collections import Counter
from pathlib import Path

import msgspec
from msgspec.structs import replace

from webhook.audit.renderers import jsonreport
from webhook.audit.report import AUDIT_REPORT_API_VERSION, AUDIT_REPORT_KIND, AuditReport
from webhook.audit.scan import summarise
from webhook.errors import SourceError


def load_baseline(file: str) -> Counter[str]:
    """
    Read what an earlier report found.

    Returns:
        Fingerprint -> findings that have it.

    Raises:
        SourceError: The file cannot be read, or is no report.
    """
    try:
        report = jsonreport.read(Path(file).read_bytes())
    except OSError as error:
        raise SourceError(file, f"cannot be read: {error.strerror or error}") from error
    except msgspec.MsgspecError as error:
        raise SourceError(file, f"is no report: {error}; {_HOW}") from error
    if (report.api_version, report.kind) != (AUDIT_REPORT_API_VERSION, AUDIT_REPORT_KIND):
        raise SourceError(file, f"is no report, but {report.api_version}, {report.kind}; {_HOW}")
    return Counter(finding.fingerprint for _, finding in report.findings())


_HOW = "make one with evenspread audit -o json=FILE"


def remove_known_findings(report: AuditReport, known: Counter[str]) -> AuditReport:
    """A report without the findings that are known; they are only counted."""
    left = known.copy()
    workloads = tuple(
        replace(
            workload,
            findings=tuple(each for each in workload.findings if _is_new(each.fingerprint, left)),
        )
        for workload in report.workloads
    )
    before, after = (
        sum(len(each.findings) for each in found) for found in (report.workloads, workloads)
    )
    nodes = report.summary.nodes
    summary = summarise(workloads, nodes=nodes, known=before - after)
    return replace(report, workloads=workloads, summary=summary)


def _is_new(fingerprint: str, left: Counter[str]) -> bool:
    """Whether it is none of those left, each of which counts once."""
    if not left[fingerprint]:
        return True
    left[fingerprint] -= 1
    return False

"""
The audit report as one self-contained HTML page: sortable findings, and spreads as pictures.

The page loads nothing, and its Content-Security-Policy forbids it. It also works without scripts.
"""

from dataclasses import dataclass
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from webhook.audit.report import (
    AuditFinding,
    AuditReport,
    AuditSeverity,
    DomainCount,
    SpreadReport,
    WorkloadReport,
)
from webhook.policy.advice.findings import count_of
from webhook.policy.catalogue import CATALOGUE
from webhook.policy.escape import printable_value

EXEMPTED = "exempted"
SEVERITIES = (*map(str, AuditSeverity), EXEMPTED)  # most severe first

MOST_PICTURES = 300  # 3 KB each; of the largest skew, then of most findings


@dataclass(frozen=True)
class FindingRow:
    """A row of the list of findings; exempted ones have a severity of their own."""

    workload: WorkloadReport
    finding: AuditFinding

    @property
    def severity(self) -> str:
        """The severity, or ``exempted``."""
        return EXEMPTED if self.finding.reason else str(self.finding.severity)


def render(report: AuditReport, _threshold: AuditSeverity | None) -> str:
    """Return the report as one HTML page that loads nothing."""
    rows = [FindingRow(*pair) for pair in report.findings()]
    spread = [workload for workload in report.workloads if workload.spreads]
    pictures = sorted(spread, key=_sort_key)[:MOST_PICTURES]
    return load_template(__package__, "report.html.jinja").render(
        report=report,
        summary=report.summary,
        rows=sorted(rows, key=lambda row: SEVERITIES.index(row.severity)),
        rules=sorted({row.finding.rule for row in rows}),
        rulebook=CATALOGUE,
        severities=SEVERITIES,
        pictures=pictures,
        left_out=len(spread) - len(pictures),
        number=count_of,
        tone=color_class,
        strength=color_strength,
    )


def color_class(row: SpreadReport, cell: DomainCount) -> str:
    """Return the CSS class of a domain: ``over`` maxSkew, at its ``limit``, ``fine``, ``free``."""
    if row.max_skew is None:
        return "free"
    above = cell.pods - row.minimum
    if above > row.max_skew:
        return "over"
    return "limit" if above == row.max_skew and above > 0 else "fine"


def color_strength(row: SpreadReport, cell: DomainCount) -> str:
    """Return the opacity of a domain, from 0 to 1, relative to the fullest one of its row."""
    fullest = max((item.pods for item in row.cells), default=0)
    return f"{cell.pods / fullest if fullest else 0:.2f}"


def _sort_key(workload: WorkloadReport) -> tuple[int, int]:
    """Sort by largest excess, then by number of findings."""
    return -max(0, *(row.excess for row in workload.spreads)), -len(workload.findings)


@cache
def load_template(package: str, file: str) -> Template:
    """Load the template of a page from a package; it escapes values, and must define all."""
    environment = Environment(
        loader=PackageLoader(package, "."),
        autoescape=True,
        finalize=printable_value,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(file)

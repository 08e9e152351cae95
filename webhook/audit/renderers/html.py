"""
One page of HTML that needs nothing else: findings to sort and filter, and the spread as a picture.

It loads nothing, and its own policy forbids that it could. Without scripts it still shows all.
"""

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from webhook.audit.report import (
    SEVERITY_RANKS,
    AuditFinding,
    AuditReport,
    AuditSeverity,
    DomainCount,
    SpreadReport,
    WorkloadReport,
)
from webhook.policy.advice.findings import count_of
from webhook.policy.catalogue import CATALOGUE

MOST_PICTURES = 300  # workloads, 3 KB each; the most uneven ones, then those with most findings

_FULL = 1.0  # how strongly the fullest domain is coloured


class SpreadPicture(NamedTuple):
    """A workload whose spread is drawn."""

    workload: WorkloadReport
    rows: tuple[SpreadReport, ...]


class FindingRow(NamedTuple):
    """A line of the list of findings; an exempted one has no weight of its own."""

    workload: WorkloadReport
    finding: AuditFinding

    @property
    def weight(self) -> str:
        """What it leads to."""
        return "exempted" if self.finding.reason else str(self.finding.weight)

    @property
    def rank(self) -> int:
        """The place of its weight, from 0 for the hardest."""
        return len(SEVERITY_RANKS) if self.finding.reason else SEVERITY_RANKS[self.finding.weight]


def render(report: AuditReport, _threshold: AuditSeverity | None) -> str:
    """Write the page."""
    rows = [FindingRow(*each) for each in report.findings()]
    spread = [each for each in report.workloads if each.spreads]
    pictures = sorted(spread, key=_interest)[:MOST_PICTURES]
    return _template().render(
        report=report,
        summary=report.summary,
        rows=sorted(rows, key=lambda row: row.rank),
        rules=sorted({row.finding.rule for row in rows}),
        rulebook=CATALOGUE,
        weights=[*map(str, AuditSeverity), "exempted"],
        pictures=[SpreadPicture(each, each.spreads) for each in pictures],
        left_out=len(spread) - len(pictures),
        number=count_of,
        tone=color_class,
        strength=color_strength,
    )


def color_class(row: SpreadReport, cell: DomainCount) -> str:
    """What a domain is: ``over`` maxSkew, at its ``limit``, ``fine``; ``free`` without any."""
    if row.max_skew is None:
        return "free"
    above = cell.pods - row.minimum
    if above > row.max_skew:
        return "over"
    return "limit" if above == row.max_skew and above > 0 else "fine"


def color_strength(row: SpreadReport, cell: DomainCount) -> str:
    """How full a domain is, from 0 to 1, compared with the fullest one of its row."""
    fullest = max((each.pods for each in row.cells), default=0)
    return f"{_FULL * cell.pods / fullest if fullest else 0:.2f}"


def _interest(workload: WorkloadReport) -> tuple[int, int]:
    """Sort the most uneven first; otherwise the order stays."""
    return -_worst(row.excess for row in workload.spreads), -len(workload.findings)


def _worst(excesses: Iterable[int]) -> int:
    return max(0, *excesses, 0)


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("webhook.audit.renderers", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("report.html.jinja")

"""
One page of HTML that needs nothing else: findings to sort and filter, and the spread as a picture.

It loads nothing, and its own policy forbids that it could. Without scripts it still shows all.
"""

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from webhook.audit.report import RANKS, Cell, Finding, Report, Spread, Weight, WorkloadReport
from webhook.audit.rulebook import RULEBOOK
from webhook.policy.advice.findings import count_of

MOST_PICTURES = 300  # workloads, 3 KB each; the most uneven ones, then those with most findings

_FULL = 1.0  # how strongly the fullest domain is coloured


class Picture(NamedTuple):
    """A workload whose spread is drawn."""

    workload: WorkloadReport
    rows: tuple[Spread, ...]


class Row(NamedTuple):
    """A line of the list of findings; an exempted one has no weight of its own."""

    workload: WorkloadReport
    finding: Finding

    @property
    def weight(self) -> str:
        """What it leads to."""
        return "exempted" if self.finding.reason else str(self.finding.weight)

    @property
    def rank(self) -> int:
        """The place of its weight, from 0 for the hardest."""
        return len(RANKS) if self.finding.reason else RANKS[self.finding.weight]


def render(report: Report, _threshold: Weight | None) -> str:
    """Write the page."""
    rows = [Row(*each) for each in report.findings()]
    spread = [each for each in report.workloads if each.spreads]
    pictures = sorted(spread, key=_interest)[:MOST_PICTURES]
    return _template().render(
        report=report,
        summary=report.summary,
        rows=sorted(rows, key=lambda row: row.rank),
        rules=sorted({row.finding.rule for row in rows}),
        rulebook=RULEBOOK,
        weights=[*map(str, Weight), "exempted"],
        pictures=[Picture(each, each.spreads) for each in pictures],
        left_out=len(spread) - len(pictures),
        number=count_of,
        tone=tone,
        strength=strength,
    )


def tone(row: Spread, cell: Cell) -> str:
    """What a domain is: ``over`` maxSkew, at its ``limit``, ``fine``; ``free`` without any."""
    if row.max_skew is None:
        return "free"
    above = cell.pods - row.minimum
    if above > row.max_skew:
        return "over"
    return "limit" if above == row.max_skew and above > 0 else "fine"


def strength(row: Spread, cell: Cell) -> str:
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

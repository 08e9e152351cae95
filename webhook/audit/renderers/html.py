"""
The audit report as one self-contained HTML page: sortable findings, and spreads as pictures.

The page loads nothing, and its Content-Security-Policy forbids it. It also works without scripts.
"""

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from webhook.audit.rendering import RenderOptions
from webhook.audit.report import (
    AuditFinding,
    AuditReport,
    AuditSeverity,
    DomainCount,
    SpreadReport,
    WorkloadReport,
    describe_counted,
    list_outside,
)
from webhook.policy.advice.findings import count_of
from webhook.policy.catalogue import CATALOGUE
from webhook.policy.escape import printable_value

if TYPE_CHECKING:
    from jinja2 import Template

EXEMPTED = "exempted"
SEVERITIES = (*map(str, AuditSeverity), EXEMPTED)  # most severe first

MOST_PICTURES = 300  # 3 KB each; of the largest skew, then of most findings
MOST_ROWS = 20_000  # 400 bytes each; the most severe. Chromium opens them within two seconds


@dataclass(frozen=True)
class FindingRow:
    """A row of the list of findings; exempted ones have a severity of their own."""

    workload: WorkloadReport
    finding: AuditFinding

    @property
    def severity(self) -> str:
        """The severity, or ``exempted``."""
        return EXEMPTED if self.finding.reason else str(self.finding.severity)


def render(report: AuditReport, _options: RenderOptions) -> str:
    """Return the report as one HTML page that loads nothing."""
    found = [FindingRow(*pair) for pair in report.findings()]
    found.sort(key=lambda row: SEVERITIES.index(row.severity))
    rows = found[:MOST_ROWS]
    spread = [workload for workload in report.workloads if workload.spreads]
    pictures = sorted(spread, key=_sort_key)[:MOST_PICTURES]
    return load_template(__package__, "report.html.jinja").render(
        report=report,
        summary=report.summary,
        rows=rows,
        findings_left_out=len(found) - len(rows),
        rules=sorted({row.finding.rule for row in rows}),
        rulebook=CATALOGUE,
        severities=SEVERITIES,
        pictures=pictures,
        left_out=len(spread) - len(pictures),
        number=count_of,
        bars=build_bars,
    )


@dataclass(frozen=True)
class HeatCell:
    """
    One domain in a bar.

    Attributes:
        nodes: How many nodes it has, in words.
        tone: CSS class: ``over`` maxSkew, at its ``limit``, ``fine`` within it, ``free`` without
            one, ``part`` if not all pods are counted, ``outside`` for pods in no domain.
        strength: Opacity, from 0 to 1, relative to the fullest domain of the bar.
    """

    value: str
    pods: int
    nodes: str
    tone: str
    strength: str


@dataclass(frozen=True)
class HeatBar:
    """One picture of a spread: where pods are, or what the constraint counts."""

    label: str
    cells: tuple[HeatCell, ...]


def build_bars(row: SpreadReport) -> tuple[HeatBar, ...]:
    """Build the bar of where the pods are, and that of what is counted if it differs."""
    where = f"where its {count_of(row.own, 'pod')} are" if row.own != 1 else "where its pod is"
    minimum = max((cell.own for cell in row.cells), default=0) - row.own_skew
    own = [(cell, cell.own, _describe_all_nodes(cell)) for cell in row.cells]
    outside = tuple(HeatCell(text, 0, "", "outside", "0") for text in list_outside(row.uncounted))
    is_counted = row.max_skew is not None and not row.counts_differ
    counted_all = f"; the constraint counts all of them, {_describe_minimum(row)}"
    first = HeatBar(
        f"{where}{counted_all if is_counted else ''}",
        (*_build_cells(own, row.max_skew, minimum), *outside),
    )
    if not row.counts_differ:
        return (first,)
    counted = [(cell, cell.pods, count_of(cell.nodes, "node")) for cell in row.cells if cell.nodes]
    label = f"what the constraint counts: {describe_counted(row)}; {_describe_minimum(row)}"
    is_part = bool(row.uncounted.total)
    return first, HeatBar(label, _build_cells(counted, row.max_skew, row.minimum, is_part=is_part))


def _describe_all_nodes(cell: DomainCount) -> str:
    """Describe all nodes of a value, and the eligible ones if some are not."""
    every = count_of(cell.all_nodes, "node")
    return every if cell.nodes == cell.all_nodes else f"{every}, {cell.nodes or 'none'} eligible"


def _describe_minimum(row: SpreadReport) -> str:
    return f"skew {row.skew}, {row.shortage or f'minimum {row.minimum}: {row.floor}'}"


def _build_cells(
    cells: list[tuple[DomainCount, int, str]],
    max_skew: int | None,
    minimum: int,
    *,
    is_part: bool = False,
) -> tuple[HeatCell, ...]:
    fullest = max((pods for _, pods, _ in cells), default=0)
    return tuple(
        HeatCell(
            cell.value,
            pods,
            nodes,
            _choose_tone(pods - minimum, max_skew, "part" if is_part else "fine"),
            f"{pods / fullest if fullest else 0:.2f}",
        )
        for cell, pods, nodes in cells
    )


def _choose_tone(above: int, max_skew: int | None, within: str) -> str:
    if max_skew is None:
        return "free"
    if above > max_skew:
        return "over"
    return "limit" if above == max_skew and within == "fine" else within


def _sort_key(workload: WorkloadReport) -> tuple[int, int, int]:
    """Sort by largest excess, then by uncounted pods, then by number of findings."""
    excess = max(0, *(row.excess for row in workload.spreads))
    uncounted = sum(not row.is_even for row in workload.spreads)
    return -excess, -uncounted, -len(workload.findings)


@cache
def load_template(package: str, file: str) -> "Template":
    """Load the template of a page from a package; it escapes values, and must define all."""
    # Imported for a page only: other formats need no templates.
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415

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

"""
The audit report as a table for people: findings and spreads of each workload.

Lines consist of parts with a style, which a terminal renders in color. No line is about one pod.
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import TypeAlias

from webhook.audit.exemptionreport import ExceptionReport
from webhook.audit.rendering import RenderOptions
from webhook.audit.report import (
    AuditFinding,
    AuditReport,
    AuditSeverity,
    AuditSummary,
    DefaultsReport,
    SpreadReport,
    WorkloadReport,
    describe_counted,
    list_outside,
)
from webhook.policy.advice.findings import count_of
from webhook.policy.escape import printable


class TextStyle(StrEnum):
    """The meaning of a part of a line; the terminal decides its color."""

    PLAIN = "plain"
    PLACE = "place"
    BAD = "bad"
    DOUBTFUL = "doubtful"
    GOOD = "good"
    HINT = "hint"


Part: TypeAlias = tuple[str, TextStyle]
Line: TypeAlias = tuple[Part, ...]

SHOWN_CELLS = 12  # domains in one line; a large cluster has as many zones

_MEANINGS: Mapping[AuditSeverity, TextStyle] = MappingProxyType(
    {
        AuditSeverity.DENY: TextStyle.BAD,
        AuditSeverity.WARN: TextStyle.DOUBTFUL,
        AuditSeverity.AUDIT: TextStyle.PLAIN,
    }
)


def render(report: AuditReport, _options: RenderOptions) -> str:
    """Render the table without colors."""
    return join_lines(format_lines(report))


def render_wide(report: AuditReport, _options: RenderOptions) -> str:
    """Render the table of all workloads without colors."""
    return join_lines(format_lines(report, is_wide=True))


def join_lines(lines: Iterable[Line]) -> str:
    """Join lines without styles; no character of them controls a terminal."""
    return "".join(f"{''.join(printable(text) for text, _ in line)}\n" for line in lines)


def format_lines(report: AuditReport, *, is_wide: bool = False) -> Iterator[Line]:
    """
    Yield the lines of the table.

    Pods on nodes that are not eligible, for example during a drain, are no reason to list a
    workload: the summary counts it.

    Args:
        is_wide: Whether to show even workloads without findings too.
    """
    for workload in report.workloads:
        is_notable = any(map(_is_notable, workload.spreads))
        if is_wide or workload.findings or workload.exempted or is_notable:
            yield from _format_workload(workload)
            yield ()
    if report.exceptions:
        yield from map(_format_exception, report.exceptions)
        yield ()
    yield ((format_summary(report.summary), TextStyle.PLACE),)


def _format_exception(one: ExceptionReport) -> Line:
    is_over = one.is_expired or one.is_ignored
    used = f", {count_of(one.exempted, 'finding')}" if one.rules and not is_over else ""
    return (
        (f"SpreadPolicyException {one.namespace}/{one.name}", TextStyle.PLACE),
        (f"  {one.term}", TextStyle.DOUBTFUL if is_over else TextStyle.PLAIN),
        (f"  exempts from {one.scope}{used}: {one.reason}", TextStyle.PLAIN),
    )


def _is_notable(row: SpreadReport) -> bool:
    pods = row.uncounted
    return not row.is_even and (row.excess > 0 or pods.total > pods.ineligible)


def format_summary(counted: AuditSummary) -> str:
    """Format the counts in one line."""
    found = [
        f"{counted.deny} deny",
        f"{counted.warn} warn",
        f"{counted.audit} audit",
        f"{counted.exempted} exempted" if counted.exempted else "",
        f"{counted.known} known from the baseline" if counted.known else "",
    ]
    examined = [
        count_of(counted.workloads, "workload"),
        count_of(counted.pods, "pod"),
        count_of(counted.nodes, "node"),
    ]
    constrained = counted.spread + counted.uneven + counted.uncounted
    spread = f"; {counted.uneven} of {constrained} uneven" if constrained else ""
    if counted.uncounted:
        spread += f", {counted.uncounted} not counted in full"
    return f"{', '.join(examined)}: {', '.join(filter(None, found))}{spread}"


def _format_workload(workload: WorkloadReport) -> Iterator[Line]:
    place = f"  {workload.source}:{workload.line}" if workload.source else ""
    pods = f"  {count_of(workload.pods, 'pod')}" if workload.pods else ""
    yield ((workload.title, TextStyle.PLACE), (place + pods, TextStyle.PLAIN))
    for finding in workload.findings:
        yield from _format_finding(workload, finding)
    for finding in workload.exempted:
        text = f"{finding.rule}  {finding.located_problem} (exempted: {finding.reason})"
        yield (("  exempt ", TextStyle.GOOD), (text, TextStyle.PLAIN))
    for row in workload.spreads:
        yield _format_spread(row)
        if row.counts_differ:
            yield _format_counts(row)
    if workload.defaults:
        yield ((_format_defaults(workload.defaults), TextStyle.PLAIN),)


def _format_finding(workload: WorkloadReport, finding: AuditFinding) -> Iterator[Line]:
    place = f"  {workload.source}:{finding.line}: " if workload.source else "  "
    yield (
        (f"  {finding.severity:<7}", _MEANINGS[finding.severity]),
        (finding.rule, TextStyle.PLACE),
        (f"{place}{finding.located_problem}", TextStyle.PLAIN),
    )
    first, *rest = finding.instead.rstrip().split("\n")
    yield (("         instead: ", TextStyle.PLAIN), (first, TextStyle.HINT))
    for line in rest:
        yield ((f"                  {line}", TextStyle.HINT),)


def _format_spread(row: SpreadReport) -> Line:
    """Format where the pods are."""
    limit = "" if row.max_skew is None else f" of {row.max_skew}"
    shown = _format_cells(row, [(cell.own, cell.value, cell.nodes) for cell in row.cells])
    limit += f", {row.shortage}" if row.shortage else ""
    return (
        ("  spread ", TextStyle.PLAIN),
        (f"skew {row.own_skew}{limit}", _find_style(row)),
        (f"  {row.about}: {' | '.join((*shown, *list_outside(row.uncounted)))}", TextStyle.PLAIN),
    )


def _find_style(row: SpreadReport) -> TextStyle:
    if row.max_skew is None:
        return TextStyle.PLAIN
    if row.excess > 0:
        return TextStyle.BAD
    return TextStyle.GOOD if row.is_even else TextStyle.DOUBTFUL


def _format_counts(row: SpreadReport) -> Line:
    """Format what the constraint counts, if these are not the pods of the workload."""
    cells = [(cell.pods, cell.value, cell.nodes) for cell in row.cells if cell.nodes]
    return (
        ("  counts ", TextStyle.PLAIN),
        (f"skew {row.skew}", _find_style(row)),
        (
            f"  {describe_counted(row)}: {' | '.join(_format_cells(row, cells)) or 'no domain'}",
            TextStyle.PLAIN,
        ),
    )


def _format_cells(row: SpreadReport, cells: list[tuple[int, str, int]]) -> list[str]:
    """Format numbers of pods by value, the largest first; ``cells`` have pods, value, nodes."""
    shown = sorted(cells, key=lambda cell: (-cell[0], cell[1]))[:SHOWN_CELLS]
    texts = [f"{value} {pods}{'' if nodes else ' (no domain)'}" for pods, value, nodes in shown]
    more = row.left_out + len(cells) - len(shown)
    return [*texts, f"and {more} more"] if more else texts


def _format_defaults(defaults: DefaultsReport) -> str:
    constraints = ", ".join(
        f"{item['topologyKey']} (maxSkew {item['maxSkew']}, {item['whenUnsatisfiable']})"
        for item in defaults.constraints
    )
    return f"  its next pods get, by profile {defaults.profile}: {constraints}"

"""
The audit report as a table for people: findings and spreads of each workload.

Lines consist of parts with a style, which a terminal renders in color. No line is about one pod.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import TypeAlias

from webhook.audit.report import (
    AuditFinding,
    AuditReport,
    AuditSeverity,
    AuditSummary,
    DefaultsReport,
    SpreadReport,
    WorkloadReport,
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


def render(report: AuditReport, _threshold: AuditSeverity | None) -> str:
    """Render the table without colors."""
    return "".join(
        f"{''.join(printable(text) for text, _ in line)}\n" for line in format_lines(report)
    )


def format_lines(report: AuditReport) -> Iterator[Line]:
    """Yield the lines of the table; leave out workloads without findings."""
    for workload in report.workloads:
        exceeded = any(row.excess > 0 for row in workload.spreads)
        if workload.findings or workload.exempted or exceeded:
            yield from _format_workload(workload)
            yield ()
    yield ((format_summary(report.summary), TextStyle.PLACE),)


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
    even = f"; {counted.uneven} of {counted.spread + counted.uneven} uneven"
    spread = even if counted.spread + counted.uneven else ""
    return f"{', '.join(examined)}: {', '.join(filter(None, found))}{spread}"


def _format_workload(workload: WorkloadReport) -> Iterator[Line]:
    place = f"  {workload.source}:{workload.line}" if workload.source else ""
    pods = f"  {count_of(workload.pods, 'pod')}" if workload.pods else ""
    yield ((workload.title, TextStyle.PLACE), (place + pods, TextStyle.PLAIN))
    for finding in workload.findings:
        yield from _format_finding(workload, finding)
    for finding in workload.exempted:
        text = f"{finding.rule}  {finding.field}: {finding.problem} (exempted: {finding.reason})"
        yield (("  exempt ", TextStyle.GOOD), (text, TextStyle.PLAIN))
    for row in workload.spreads:
        yield _format_spread(row)
    if workload.defaults:
        yield ((_format_defaults(workload.defaults), TextStyle.PLAIN),)


def _format_finding(workload: WorkloadReport, finding: AuditFinding) -> Iterator[Line]:
    place = f"  {workload.source}:{finding.line}: " if workload.source else "  "
    yield (
        (f"  {finding.severity:<7}", _MEANINGS[finding.severity]),
        (finding.rule, TextStyle.PLACE),
        (f"{place}{finding.field}: {finding.problem}", TextStyle.PLAIN),
    )
    first, *rest = finding.instead.rstrip().split("\n")
    yield (("         instead: ", TextStyle.PLAIN), (first, TextStyle.HINT))
    for line in rest:
        yield ((f"                  {line}", TextStyle.HINT),)


def _format_spread(row: SpreadReport) -> Line:
    limit = "" if row.max_skew is None else f" of {row.max_skew}"
    skew = f"skew {row.skew}{limit}"
    meaning = TextStyle.PLAIN if row.max_skew is None else TextStyle.GOOD
    shown = sorted(row.cells, key=lambda cell: (-cell.pods, cell.value))[:SHOWN_CELLS]
    pods = " | ".join(f"{cell.value} {cell.pods}" for cell in shown)
    more = row.domains - len(shown)
    return (
        ("  spread ", TextStyle.PLAIN),
        (skew, TextStyle.BAD if row.excess > 0 else meaning),
        (f"  {row.topology_key}: {pods}{f' | and {more} more' if more else ''}", TextStyle.PLAIN),
    )


def _format_defaults(defaults: DefaultsReport) -> str:
    constraints = ", ".join(
        f"{item['topologyKey']} (maxSkew {item['maxSkew']}, {item['whenUnsatisfiable']})"
        for item in defaults.constraints
    )
    return f"  its next pods get, by profile {defaults.profile}: {constraints}"

"""
For people: what is wrong, workload by workload, and how its pods are spread.

Lines are parts with a meaning, so that a terminal can colour them; there is never a line a pod.
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
    SpreadReport,
    WorkloadReport,
)


class TextStyle(StrEnum):
    """What a part of a line tells; how it looks is decided elsewhere."""

    PLAIN = "plain"
    PLACE = "place"
    BAD = "bad"
    DOUBTFUL = "doubtful"
    GOOD = "good"
    HINT = "hint"


Part: TypeAlias = tuple[str, TextStyle]
Line: TypeAlias = tuple[Part, ...]

SHOWN_CELLS = 12  # domains in one line; as many zones as a large cluster has

_MEANINGS: Mapping[AuditSeverity, TextStyle] = MappingProxyType(
    {
        AuditSeverity.DENY: TextStyle.BAD,
        AuditSeverity.WARN: TextStyle.DOUBTFUL,
        AuditSeverity.AUDIT: TextStyle.PLAIN,
    }
)


def render(report: AuditReport, _threshold: AuditSeverity | None) -> str:
    """Write the table without colours."""
    return "".join(f"{''.join(text for text, _ in line)}\n" for line in format_lines(report))


def format_lines(report: AuditReport) -> Iterator[Line]:
    """Give the table line by line; workloads of which there is nothing to say are left out."""
    for workload in report.workloads:
        uneven = [row for row in workload.spreads if row.excess > 0]
        if workload.findings or workload.exempted or uneven:
            yield from _workload(workload)
            yield ()
    yield ((format_summary(report.summary), TextStyle.PLACE),)


def format_summary(counted: AuditSummary) -> str:
    """Say in one line what there was."""
    found = [
        f"{counted.deny} deny",
        f"{counted.warn} warn",
        f"{counted.audit} audit",
        f"{counted.exempted} exempted" if counted.exempted else "",
        f"{counted.known} known from the baseline" if counted.known else "",
    ]
    looked_at = [
        _number(counted.workloads, "workload"),
        _number(counted.pods, "pod"),
        _number(counted.nodes, "node"),
    ]
    even = f"; {counted.uneven} of {counted.spread + counted.uneven} uneven"
    spread = even if counted.spread + counted.uneven else ""
    return f"{', '.join(looked_at)}: {', '.join(filter(None, found))}{spread}"


def _number(many: int, thing: str) -> str:
    return f"1 {thing}" if many == 1 else f"{many} {thing}s"


def _workload(workload: WorkloadReport) -> Iterator[Line]:
    place = f"  {workload.source}:{workload.line}" if workload.source else ""
    pods = f"  {_number(workload.pods, 'pod')}" if workload.pods else ""
    yield ((workload.title, TextStyle.PLACE), (place + pods, TextStyle.PLAIN))
    for finding in workload.findings:
        yield from _finding(workload, finding)
    for finding in workload.exempted:
        said = f"{finding.field}: {finding.problem} (exempted: {finding.reason})"
        yield (("  exempt ", TextStyle.GOOD), (f"{finding.rule}  {said}", TextStyle.PLAIN))
    for row in workload.spreads:
        yield _spread(row)
    if workload.defaults:
        yield (("  " + _defaults(workload), TextStyle.PLAIN),)


def _finding(workload: WorkloadReport, finding: AuditFinding) -> Iterator[Line]:
    place = f"  {workload.source}:{finding.line}: " if workload.source else "  "
    yield (
        (f"  {finding.weight:<7}", _MEANINGS[finding.weight]),
        (finding.rule, TextStyle.PLACE),
        (f"{place}{finding.field}: {finding.problem}", TextStyle.PLAIN),
    )
    first, *rest = finding.instead.rstrip().split("\n")
    yield (("         instead: ", TextStyle.PLAIN), (first, TextStyle.HINT))
    for line in rest:
        yield ((f"                  {line}", TextStyle.HINT),)


def _spread(row: SpreadReport) -> Line:
    limit = "" if row.max_skew is None else f" of {row.max_skew}"
    skew = f"skew {row.skew}{limit}"
    meaning = TextStyle.PLAIN if row.max_skew is None else TextStyle.GOOD
    shown = sorted(row.cells, key=lambda cell: (-cell.pods, cell.value))[:SHOWN_CELLS]
    told = " | ".join(f"{cell.value} {cell.pods}" for cell in shown)
    more = row.domains - len(shown)
    return (
        ("  spread ", TextStyle.PLAIN),
        (skew, TextStyle.BAD if row.excess > 0 else meaning),
        (f"  {row.topology_key}: {told}{f' | and {more} more' if more else ''}", TextStyle.PLAIN),
    )


def _defaults(workload: WorkloadReport) -> str:
    assert workload.defaults is not None, "asked before"
    told = ", ".join(
        f"{each['topologyKey']} (maxSkew {each['maxSkew']}, {each['whenUnsatisfiable']})"
        for each in workload.defaults.constraints
    )
    return f"its next pods get, by profile {workload.defaults.profile}: {told}"

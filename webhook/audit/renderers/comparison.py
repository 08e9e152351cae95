"""
A comparison of audits as a table for people, as JSON and as YAML.

``render_comparison`` is the entry point; ``format_lines`` gives the table with styles.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

import msgspec

from webhook.audit.comparison import (
    AuditComparison,
    ChangedFinding,
    ChangeKind,
    SpreadChange,
    SpreadState,
    WorkloadComparison,
    WorkloadPresence,
)
from webhook.audit.renderers.comparisonpage import render_page
from webhook.audit.renderers.jsonreport import format_json
from webhook.audit.renderers.table import Line, TextStyle, join_lines
from webhook.manifests import format_yaml
from webhook.policy.advice.findings import count_of

_STYLES: Mapping[ChangeKind, TextStyle] = MappingProxyType(
    {
        ChangeKind.NEW: TextStyle.BAD,
        ChangeKind.WORSE: TextStyle.BAD,
        ChangeKind.BETTER: TextStyle.GOOD,
        ChangeKind.RESOLVED: TextStyle.GOOD,
    }
)


def render_comparison(comparison: AuditComparison, output: str) -> str:
    """
    Render a comparison; the text ends with a line break.

    Args:
        output: A key of ``COMPARISON_FORMATS``.
    """
    return COMPARISON_FORMATS[output](comparison)


def format_lines(comparison: AuditComparison) -> Iterator[Line]:
    """Yield the lines of the table."""
    for workload in comparison.workloads:
        yield from _format_workload(workload)
        yield ()
    yield ((format_counts(comparison), TextStyle.PLACE),)
    before, after = comparison.before.kubernetes, comparison.after.kubernetes
    if before != after:
        text = f"the rules are those of Kubernetes {after}, and were those of {before}"
        yield ((text, TextStyle.DOUBTFUL),)


def format_counts(comparison: AuditComparison) -> str:
    """Format the counts in one line."""
    found = comparison.summary
    workloads = count_of(found.added, "workload")
    return (
        f"{count_of(found.new, 'new finding')}, {found.worse} worse, {found.better} better, "
        f"{found.resolved} resolved, {found.unchanged} unchanged; "
        f"{count_of(found.spreads_worse, 'spread')} worse, {found.spreads_better} better; "
        f"{workloads} added, {found.removed} removed"
    )


def describe_state(state: SpreadState | None) -> str:
    """Describe a spread, as ``skew 3 of 1, 2 not counted``; ``not reported`` without one."""
    if state is None:
        return "not reported"
    limit = "" if state.max_skew is None else f" of {state.max_skew}"
    uncounted = f", {state.uncounted} not counted" if state.uncounted else ""
    return f"skew {state.skew}{limit}{uncounted}"


def _format_workload(workload: WorkloadComparison) -> Iterator[Line]:
    presence = "" if workload.presence is WorkloadPresence.BOTH else f"  {workload.presence}"
    yield ((workload.title, TextStyle.PLACE), (presence, TextStyle.PLAIN))
    for finding in workload.findings:
        yield _format_finding(finding)
    for spread in workload.spreads:
        yield _format_spread(spread)


def _format_finding(item: ChangedFinding) -> Line:
    severities = " -> ".join(filter(None, [item.before, item.after]))
    return (
        (f"  {item.change:<8}", _STYLES[item.change]),
        (f"  {severities}  {item.finding.rule}  {item.finding.located_problem}", TextStyle.PLAIN),
    )


def _format_spread(item: SpreadChange) -> Line:
    states = f"{describe_state(item.before)} -> {describe_state(item.after)}"
    return (
        (f"  {item.change:<8}", _STYLES[item.change]),
        (f"  {states}  {item.topology_key}", TextStyle.PLAIN),
    )


def _render_table(comparison: AuditComparison) -> str:
    return join_lines(format_lines(comparison))


def _render_yaml(comparison: AuditComparison) -> str:
    return format_yaml(msgspec.json.decode(msgspec.json.encode(comparison)))


def _render_html(comparison: AuditComparison) -> str:
    return render_page(comparison, format_counts(comparison), describe_state)


COMPARISON_FORMATS: Mapping[str, Callable[[AuditComparison], str]] = MappingProxyType(
    {"table": _render_table, "json": format_json, "yaml": _render_yaml, "html": _render_html}
)
"""Value of ``-o`` with ``--since`` -> renderer."""
